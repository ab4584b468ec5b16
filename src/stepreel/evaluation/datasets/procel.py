"""ProceL: instruction videos of twelve tasks; key steps in one MATLAB file per task.

Key steps may overlap in this dataset, but only one can be scored at a time: see `split_overlaps`.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from stepreel.errors import DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.procel_matlab import (
    UNLABELLED,
    TaskLabels,
    VideoLabels,
    read_matlab_labels,
)
from stepreel.evaluation.datasets.reading import (
    VIDEO_SUFFIXES,
    feature_seconds,
    files_by_stem,
    pick_tasks,
    require,
)
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.egoprocel_csv import read_egoprocel_rows
from stepreel.evaluation.truth.rows import Row, build_annotation, cut_at_end
from stepreel.evaluation.truth.step_list import StepList, number_by_name
from stepreel.features.array_files import READERS
from stepreel.features.feature_files import read_features
from stepreel.types import readable


def read(request: Request) -> list[LabelledTask]:
    """Read the tasks: from data.mat, or from one .csv file per video."""
    root, problems = require(request.root, "the dataset's folder"), request.problems
    converted = root / "annotations"
    tables = {readable(file.parent.name): file.parent for file in converted.glob("*/*.csv")}
    matrices = {readable(file.parent.name): file for file in root.glob("*/data.mat")}
    if not tables and not matrices:
        raise DatasetMissingError(
            f"{root}: contains neither TASK/data.mat nor annotations/TASK/VIDEO.csv"
        )
    tasks = []
    for name in pick_tasks(request, {*tables, *matrices}, group="procel"):
        labels = (
            read_matlab_labels(name, matrices[name], problems)
            if name in matrices
            else _read_tables(tables[name], problems)
        )
        if labels is not None:
            tasks.append(_task(name, labels, request))
    return [task for task in tasks if task.recordings]


def _read_tables(folder: Path, problems: Problems) -> TaskLabels:
    videos: dict[str, VideoLabels] = {}
    for name, path in files_by_stem(folder, (".csv",), problems).items():
        rows = read_egoprocel_rows(path, problems)
        if rows is not None:
            videos[name] = VideoLabels(path, rows)
    labels = (row.label for video in videos.values() for row in video.rows)
    return TaskLabels(number_by_name(labels), videos)


def split_overlaps(rows: Sequence[Row]) -> list[Row]:
    """Let rows that overlap meet in the middle of their overlap.

    A row within another one keeps the second half of its own time, and the other row continues
    after it. A row of which nothing is left after meeting two others is dropped. Rows that do not
    end after their start are returned as they are.

    >>> [(row.start, row.end) for row in split_overlaps([Row(0, 6, "1"), Row(4, 9, "2")])]
    [(0, 5.0), (5.0, 9)]
    """
    wrong = [row for row in rows if not row.start < row.end]
    waiting = [
        (row.start, row.end, order, row) for order, row in enumerate(rows) if row.start < row.end
    ]
    heapq.heapify(waiting)
    apart: list[Row] = []
    while waiting:
        _, _, order, row = heapq.heappop(waiting)
        if apart and row.start < apart[-1].end:
            before = apart[-1]
            start, end = max(row.start, before.start), min(row.end, before.end)
            if end <= start:
                continue
            middle = (start + end) / 2
            if before.end > row.end:
                rest = replace(before, start=row.end)
                heapq.heappush(waiting, (rest.start, rest.end, order, rest))
            apart[-1] = replace(before, end=middle)
            row = replace(row, start=middle)
        apart.append(row)
    return apart + wrong


def _task(task: str, labels: TaskLabels, request: Request) -> LabelledTask:
    folder, problems = request.root / task, request.problems
    features = files_by_stem(folder / "features", READERS, problems)
    videos = files_by_stem(folder / "videos", VIDEO_SUFFIXES, problems)
    for name in features:
        if name not in labels.videos and name not in UNLABELLED:
            problems.report(f"{location(features[name])}: has no key steps in {task}")
    recordings = []
    for name, video in sorted(labels.videos.items()):
        if features and name not in features:
            problems.report(f"{location(video.path)}: has no features")
            continue
        recording = _recording(name, video, features.get(name), labels.steps, request)
        if recording is not None:
            recordings.append(replace(recording, video=videos.get(name)))
    return LabelledTask(task, tuple(recordings), labels.steps.names, "procel")


def _recording(
    name: str, video: VideoLabels, features: Path | None, steps: StepList, request: Request
) -> LabelledRecording | None:
    duration, rows = video.duration_seconds, cut_at_end(video.rows, video.duration_seconds)
    read_cues = None
    if features is not None:
        length = request.problems.attempt(feature_seconds, features, request.fps)
        if length is None:
            return None
        if length:
            duration, rows = length, list(video.rows)
        read_cues = partial(read_features, features, cues=tuple(request.cues), fps=request.fps)
    annotation = build_annotation(
        video.path,
        split_overlaps(rows),
        steps,
        request.problems,
        recording=name,
        duration_seconds=duration,
    )
    return LabelledRecording(name, annotation, features=read_cues)


FORMAT = DatasetFormat(
    read,
    "ProceL: instruction videos of twelve tasks",
    "https://www.khoury.northeastern.edu/home/eelhami/procel.htm",
    """\
TASK/data.mat                cells `grammar` (names of steps), `key_steps_time` (seconds) and
                             `superframe_time`, which gives the length of every video
TASK/readme.txt              one video per line, in the same order: address, tab, name
  or annotations/TASK/VIDEO.csv instead of both: start,end,number and name of the step
TASK/features/VIDEO.npy      or .npz, .h5, .safetensors: with `times`, or give --fps (fps=…)
TASK/videos/VIDEO.mp4        instead of features, or in addition""",
)
