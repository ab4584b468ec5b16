"""CrossTask: instruction videos of 18 primary tasks, with one row of features per second.

Steps may overlap in this dataset, but only one can be scored at a time: a step ends where the next
one begins. As in published evaluations, steps are widened to whole seconds: from the second in
which they begin to the end of the second in which they end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stepreel.errors import DatasetError, RecordingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.reading import (
    VIDEO_SUFFIXES,
    Shape,
    array_shapes,
    build_recording,
    files_by_stem,
    pick_tasks,
    read_npy,
    requested_cues,
    require,
)
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.crosstask_csv import parse_crosstask_lines
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.rows import Row, build_annotation
from stepreel.evaluation.truth.step_list import StepList
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import readable

COLUMNS = {"appearance": slice(1024, 3072), "motion": slice(0, 1024), "audio": slice(3072, 3200)}
DEFAULT_CUES = ("appearance", "motion")
WIDTH = 3200
RELEASE = "crosstask_release"
LINES_OF_A_TASK = 5


@dataclass(frozen=True)
class _Task:
    """One block of tasks_primary.txt."""

    number: str
    name: str
    steps: StepList


@dataclass(frozen=True)
class _Files:
    """The dataset's files by name; `splits` has the split of every video by task number."""

    annotations: Mapping[str, Path]
    features: Mapping[str, Path]
    videos: Mapping[str, Path]
    splits: Mapping[str, Mapping[str, str]]


def read(request: Request) -> list[LabelledTask]:
    """Read the primary tasks, or one of them by name or number."""
    root = require(request.root, "the dataset's folder")
    release = root / RELEASE if (root / RELEASE).is_dir() else root
    listed = _read_tasks(release / "tasks_primary.txt", request.problems)
    tasks = {task.name: task for task in listed}
    numbers = {task.number: task.name for task in listed}
    cues = requested_cues(request, tuple(COLUMNS), DEFAULT_CUES)
    files = _find_files(release, request.problems)
    labelled = [
        _labelled_task(tasks[name], files, cues, request)
        for name in pick_tasks(request, tasks, group="crosstask", aliases=numbers)
    ]
    return [task for task in labelled if task.recordings]


def _find_files(release: Path, problems: Problems) -> _Files:
    parents = [release, release.parent] if release.name == RELEASE else [release]
    features, videos = (
        next((parent / name for parent in parents if (parent / name).is_dir()), release / name)
        for name in ("crosstask_features", "videos")
    )
    annotations = require(release / "annotations", "the folder of annotations")
    return _Files(
        files_by_stem(annotations, (".csv",), problems),
        files_by_stem(features, (".npy",), problems),
        files_by_stem(videos, VIDEO_SUFFIXES, problems),
        _read_splits(release, problems),
    )


def _read_tasks(path: Path, problems: Problems) -> list[_Task]:
    """Read blocks of number, title, address, number of steps, and steps."""
    tasks: dict[str, _Task] = {}
    block: list[str] = []
    for number, line in enumerate([*read_lines(path), ""], 1):
        if line.strip():
            block.append(line.strip())
        elif block:
            where = location(path, number - len(block))
            task = _parse_task(block)
            if task is None:
                problems.report(
                    f"{where}: a task needs five lines: number, title, address, number of steps, "
                    "and that many comma-separated steps"
                )
            elif task.number in tasks:
                problems.report(f"{where}: task {task.number} is listed twice")
            else:
                tasks[task.number] = task
            block = []
    if not tasks:
        raise DatasetError(f"{location(path)}: lists no task")
    return _with_unique_names(list(tasks.values()))


def _parse_task(block: Sequence[str]) -> _Task | None:
    if len(block) != LINES_OF_A_TASK:
        return None
    number, title, _, n_steps, listed = block
    steps = dict(enumerate((step.strip() for step in listed.split(",")), 1))
    if n_steps != str(len(steps)):
        return None
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    return _Task(number, name, StepList.of({str(step): step for step in steps}, steps))


def _with_unique_names(tasks: Sequence[_Task]) -> list[_Task]:
    """Add the number to names that are empty or used by several tasks."""
    names = [task.name for task in tasks]
    return [
        replace(task, name=f"{task.name}_{task.number}".strip("_"))
        if not task.name or names.count(task.name) > 1
        else task
        for task in tasks
    ]


def _read_splits(release: Path, problems: Problems) -> dict[str, dict[str, str]]:
    """Read the videos of every task: those of the validation set are the test split."""
    splits: dict[str, dict[str, str]] = {}
    for file, split in (("videos.csv", "train"), ("videos_val.csv", "test")):
        path = release / file
        if not path.exists() and split == "test":
            continue
        for number, line in enumerate(read_lines(path), 1):
            parts = line.strip().split(",", 2)
            if line.strip() and (len(parts) < 2 or not parts[0] or not parts[1]):
                problems.report(
                    f"{location(path, number)}: {line!r}; expected task, video, address"
                )
            elif line.strip():
                splits.setdefault(parts[0], {})[parts[1]] = split
    return splits


def _labelled_task(
    task: _Task, files: _Files, cues: Sequence[str], request: Request
) -> LabelledTask:
    listed = files.splits.get(task.number, {})
    prefix = f"{task.number}_"
    labelled = {name.removeprefix(prefix) for name in files.annotations if name.startswith(prefix)}
    recordings = []
    for video in sorted({*listed, *labelled}):
        if video not in labelled:
            request.problems.report(f"{video}: has no annotations/{prefix}{video}.csv")
        elif video not in listed:
            request.problems.report(f"{prefix}{video}.csv: videos.csv has no such video")
        else:
            recording = _recording(task, video, files, cues, request)
            recordings += [recording] if recording is not None else []
    return LabelledTask(task.name, tuple(recordings), task.steps.names, "crosstask")


def _recording(
    task: _Task, video: str, files: _Files, cues: Sequence[str], request: Request
) -> LabelledRecording | None:
    problems = request.problems
    path = files.annotations[f"{task.number}_{video}"]
    features = files.features.get(video, files.features.get(path.stem))
    video_path = files.videos.get(video)
    if files.features and features is None and video_path is None:
        problems.report(f"{location(path)}: has no features ({video}.npy)")
        return None
    lines = problems.attempt(read_lines, path)
    n_rows = 0 if features is None else problems.attempt(_count_rows, features)
    if lines is None or n_rows is None:
        return None
    fps = request.fps or 1.0
    duration = n_rows / fps if features is not None else None
    rows = parse_crosstask_lines(path, lines, problems.report, duration_seconds=duration)
    rows = _in_whole_seconds(rows, duration)
    unknown = [row for row in rows if task.steps.id_of(row.label) is None]
    known = _end_at_next([row for row in rows if row not in unknown])
    annotation = build_annotation(
        path,
        known + unknown,
        task.steps,
        problems,
        recording=video,
        duration_seconds=duration,
    )
    if not annotation.steps:
        problems.report(
            f"{location(path)}: a recording without labels; expected lines of step, start, end"
        )
        return None
    read_cues = None if features is None else partial(_read_features, features, video, cues, fps)
    split = files.splits[task.number][video]
    return LabelledRecording(video, annotation, video_path, read_cues, split)


def _in_whole_seconds(rows: Sequence[Row], duration: float | None) -> list[Row]:
    """Widen rows to whole seconds, as in published evaluations, but not past the end."""
    last = math.inf if duration is None else duration
    return [
        replace(row, start=float(math.floor(row.start)), end=min(float(math.ceil(row.end)), last))
        for row in rows
    ]


def _end_at_next(rows: Sequence[Row]) -> list[Row]:
    """End every row where the next one begins, if not before.

    >>> [(row.start, row.end) for row in _end_at_next([Row(0, 9, "1"), Row(3, 5, "2")])]
    [(0, 3), (3, 5)]
    """
    starts = [*(row.start for row in rows[1:]), math.inf][: len(rows)]
    cut = [replace(row, end=min(row.end, start)) for row, start in zip(rows, starts, strict=True)]
    return [row for row in cut if row.end > row.start]


def _count_rows(path: Path) -> int:
    return _check_shape(path, array_shapes(path)[""])


def _check_shape(path: Path, shape: Shape) -> int:
    """Return the number of rows of features."""
    if len(shape) != 2 or shape[1] != WIDTH or shape[0] == 0:
        raise RecordingError(
            f"{readable(path.name)}: has the shape {shape}; expected (seconds, {WIDTH})"
        )
    return shape[0]


def _read_features(path: Path, name: str, cues: Sequence[str], fps: float) -> FeatureRecording:
    """Read cues, which are columns of one array."""
    array = read_npy(path)
    _check_shape(path, array.shape)
    return build_recording(path, name, {cue: array[:, COLUMNS[cue]] for cue in cues}, fps)


FORMAT = DatasetFormat(
    read,
    "CrossTask: instruction videos of 18 primary tasks",
    "https://github.com/DmZhukov/CrossTask (crosstask_release.zip and crosstask_features.zip)",
    """\
crosstask_release/tasks_primary.txt            blocks: number, title, address, n, n steps
crosstask_release/videos.csv                   task,video,address
crosstask_release/videos_val.csv               the same for the test split; optional
crosstask_release/annotations/TASK_VIDEO.csv   step (from 1),start,end in seconds
crosstask_features/VIDEO.npy                   (seconds, 3200)
videos/VIDEO.mp4                               instead of features, or in addition
The folder may also be crosstask_release itself.
Cues: appearance, motion (the default), audio.""",
    labels_rate=1.0,
)
