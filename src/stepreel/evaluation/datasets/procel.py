"""ProceL: instruction videos of twelve tasks; key steps in one MATLAB file per task.

Key steps may overlap in this dataset; we need one at a time, so two that overlap meet in the middle
of their overlap. One that lies within another has the second half of its own time, after which the
other goes on; one that nothing is left of after meeting two others counts for nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.egoprocel import key_steps_in
from stepreel.evaluation.datasets.reading import (
    VIDEOS,
    files_by_stem,
    must_be_there,
    pick_tasks,
    report_failure,
    seconds_in,
)
from stepreel.evaluation.truth.annotation import (
    Row,
    StepList,
    annotate,
    cut_at_end,
    number_by_name,
    place,
)
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.array_files import READERS
from stepreel.features.feature_files import read_features
from stepreel.types import readable

STEP_NAMES, STEP_TIMES = "grammar", "key_steps_time"
PARTS = "superframe_time"  # start and end of the parts that a whole video was cut into
# Names that readme.txt of the release lists although data.mat passes them over, and why.
UNLABELLED = {"cpr_0041": "the release has no key steps and no video of it"}


@dataclass(frozen=True)
class _Video:
    """The rows of a video, what to call their file, and how long it lasts, where that is told."""

    path: Path
    rows: Sequence[Row]
    seconds: float | None = None


@dataclass(frozen=True)
class _Cells:
    """What data.mat holds: the names of steps, and for every video their times and its length."""

    names: list[str]
    times: list[NDArray[Any]]
    seconds: list[float | None]


@dataclass(frozen=True)
class _Truth:
    """The steps of a task, and its videos by name."""

    steps: StepList
    videos: Mapping[str, _Video]


def read(request: Request) -> list[LabelledTask]:
    """Read the tasks: from data.mat, or from one .csv file per video."""
    root = must_be_there(request.root, "the dataset's folder")
    converted = root / "annotations"
    tables = {readable(file.parent.name): file.parent for file in converted.glob("*/*.csv")}
    matrices = {readable(file.parent.name): file for file in root.glob("*/data.mat")}
    if not tables and not matrices:
        raise DatasetMissingError(
            f"{root}: holds neither TASK/data.mat nor annotations/TASK/VIDEO.csv"
        )
    tasks = []
    for name in pick_tasks(request, {*tables, *matrices}, group="procel"):
        truth = (
            _from_matrix(name, matrices[name], request)
            if name in matrices
            else _from_tables(tables[name], request)
        )
        if truth is not None:
            tasks.append(_task(name, truth, request))
    return [task for task in tasks if task.recordings]


def _from_tables(folder: Path, request: Request) -> _Truth:
    videos: dict[str, _Video] = {}
    for name, path in files_by_stem(folder, (".csv",), request.problems).items():
        found = key_steps_in(path, request.problems)
        if found is not None:
            videos[name] = _Video(path, found)
    labels = (row.label for video in videos.values() for row in video.rows)
    return _Truth(number_by_name(labels), videos)


def _from_matrix(task: str, path: Path, request: Request) -> _Truth | None:
    """Read the videos of a task: their names from readme.txt, in the order of data.mat."""
    cells = report_failure(request.problems, partial(_load, task, path))
    listed = _names(task, path.with_name("readme.txt"), request)
    if cells is None or listed is None:
        return None
    names = _one_per_cell(task, listed, len(cells.times), request)
    if names is None:
        return None
    videos: dict[str, _Video] = {}
    for name, times, seconds in zip(names, cells.times, cells.seconds, strict=True):
        if not name:
            continue
        called = Path(f"data.mat of {task}, {name}")  # for messages; there is no such file
        if name in videos:
            request.problems.report(f"readme.txt of {task}: {name} is listed twice")
            continue
        found = report_failure(request.problems, partial(_rows, called, times, len(cells.names)))
        if found is not None:
            videos[name] = _Video(called, found, seconds)
    steps = dict(enumerate(cells.names, 1))
    return _Truth(StepList.of({str(step): step for step in steps}, steps), videos)


def _one_per_cell(
    task: str, listed: Sequence[str], n_cells: int, request: Request
) -> list[str] | None:
    """Return the names of the `n_cells` videos of data.mat; None if nobody knows which is which.

    Names are matched by position alone: after one too many, all others would be of wrong videos.
    """
    names = list(listed)
    if len(names) != n_cells:
        names = [name for name in listed if name not in UNLABELLED]
    if len(names) != n_cells:
        request.problems.report(
            f"readme.txt of {task}: lists {len(listed)} videos, but data.mat has key steps of "
            f"{n_cells}; the two are matched by position, so none of this task can be used; "
            "expected as many lines as there are videos in data.mat"
        )
        return None
    for name in (name for name in listed if name not in names):
        request.problems.notes.append(f"{task}: {name} is left out: {UNLABELLED[name]}")
    return names


def _load(task: str, path: Path) -> _Cells:
    from scipy.io import loadmat

    what = f"data.mat of {task}"
    try:
        found = loadmat(path, variable_names=[STEP_NAMES, STEP_TIMES, PARTS])
    except NotImplementedError as problem:
        raise DatasetError(
            f"{what}: is a MATLAB 7.3 file (HDF5), which is not read; "
            "save it in MATLAB with save(…, '-v7')"
        ) from problem
    except Exception as problem:  # in damaged files scipy trips over anything
        raise DatasetError(f"{what}: is no MATLAB file ({problem})") from problem
    for name in (STEP_NAMES, STEP_TIMES):
        if name not in found or found[name].dtype != object:
            raise DatasetError(f"{what}: holds no cell array `{name}`")
    names = ["".join(map(str, np.ravel(name))).strip() for name in found[STEP_NAMES].ravel()]
    times = list(found[STEP_TIMES].ravel())
    parts = list(np.ravel(found.get(PARTS, ())))
    seconds = [_end(one) for one in parts]
    return _Cells(names, times, seconds if len(seconds) == len(times) else [None] * len(times))


def _end(parts: object) -> float | None:
    """Return when the last part of a video ends; None if that is not told."""
    table = np.asarray(parts)
    if (
        table.ndim != 2
        or table.shape[1:] != (2,)
        or not len(table)
        or table.dtype.kind not in "fiu"
    ):
        return None
    end = float(table[-1, 1])
    return end if 0 < end < np.inf else None


def _names(task: str, path: Path, request: Request) -> list[str] | None:
    """Return the names of videos; an empty one keeps the place of a line that tells none."""
    must_be_there(path, "the list of videos")
    lines = report_failure(request.problems, partial(read_lines, path))
    if lines is None:
        return None
    videos = []
    for line, text in enumerate(lines, 1):
        parts = [part.strip() for part in text.split("\t")]
        if not text.strip():
            continue
        if len(parts) < 2 or not parts[1]:
            request.problems.report(
                f"readme.txt of {task}, line {line}: {text!r}; expected a name after the first tab"
            )
            videos.append("")
        else:
            videos.append(parts[1])
    return videos


def _rows(called: Path, cell: NDArray[Any], n_steps: int) -> list[Row]:
    """Read the times of one video: per step, as many starts and ends as it is done."""
    per_step = list(np.ravel(cell)) if cell.dtype == object else []
    if len(per_step) != n_steps:
        raise DatasetError(
            f"{place(called)}: has times of {len(per_step)} steps; expected {n_steps} cells"
        )
    rows = []
    for step, times in enumerate(per_step, 1):
        if np.size(times) == 0:
            continue
        if (
            np.ndim(times) != 2
            or np.shape(times)[1] != 2
            or np.asarray(times).dtype.kind not in "fiu"
        ):
            raise DatasetError(
                f"{place(called)}: times of step {step} have the shape {np.shape(times)}; "
                "expected (n, 2): start and end in seconds"
            )
        rows += [Row(float(start), float(end), str(step)) for start, end in times]
    return rows


def split_overlaps(rows: Sequence[Row]) -> list[Row]:
    """Let rows meet in the middle of their overlap.

    Rows that are wrong in themselves are handed on as they are.

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


def _task(name: str, truth: _Truth, request: Request) -> LabelledTask:
    folder = request.root / name
    features = files_by_stem(folder / "features", READERS, request.problems)
    files = files_by_stem(folder / "videos", VIDEOS, request.problems)
    for one in features:
        if one not in truth.videos and one not in UNLABELLED:
            request.problems.report(f"{place(features[one])}: has no key steps in {name}")
    recordings = []
    for one, video in sorted(truth.videos.items()):
        if features and one not in features:
            request.problems.report(f"{place(video.path)}: has no features")
            continue
        recording = _recording(one, video, features.get(one), truth.steps, request)
        if recording is not None:
            recordings.append(replace(recording, video=files.get(one)))
    return LabelledTask(name, tuple(recordings), truth.steps.names, "procel")


def _recording(
    name: str, video: _Video, features: Path | None, steps: StepList, request: Request
) -> LabelledRecording | None:
    seconds, rows = video.seconds, cut_at_end(video.rows, video.seconds)
    read_one = None
    if features is not None:
        length = report_failure(request.problems, partial(seconds_in, features, request.fps))
        if length is None:
            return None
        if length:
            seconds, rows = length, list(video.rows)
        read_one = partial(read_features, features, cues=tuple(request.cues), fps=request.fps)
    annotation = annotate(
        video.path,
        split_overlaps(rows),
        steps,
        request.problems,
        recording=name,
        duration_seconds=seconds,
    )
    return LabelledRecording(name, annotation, features=read_one)


FORMAT = DatasetFormat(
    read,
    "ProceL: instruction videos of twelve tasks",
    "https://www.khoury.northeastern.edu/home/eelhami/procel.htm",
    """\
TASK/data.mat                cells `grammar` (names of steps), `key_steps_time` (seconds) and
                             `superframe_time`, which tells how long a video lasts
TASK/readme.txt              one video per line, in the same order: address, tab, name
  or annotations/TASK/VIDEO.csv instead of both: start,end,number and name of the step
TASK/features/VIDEO.npy      or .npz, .h5, .safetensors: with `times`, or give --fps
TASK/videos/VIDEO.mp4        instead of features, or beside them""",
)
