"""CrossTask: instruction videos of 18 primary tasks, with one feature row per second.

Steps may overlap in this dataset; we need one step at a time, so a step takes over from its start,
and what began before it ends there. Seconds are whole, as published: a step lasts from the second
in which it begins to the end of the second in which it ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
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
    VIDEOS,
    as_recording,
    files_by_stem,
    must_be_there,
    pick_tasks,
    raise_dataset_error,
    read_npy,
    report_failure,
    requested_cues,
    shapes_in,
)
from stepreel.evaluation.truth.annotation import (
    Problems,
    Row,
    StepList,
    annotate,
    is_background,
    place,
)
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import readable

COLUMNS = {"appearance": slice(1024, 3072), "motion": slice(0, 1024), "audio": slice(3072, 3200)}
USUAL_CUES = ("appearance", "motion")
WIDTH = 3200
RELEASE = "crosstask_release"


def read_steps(path: Path, fps: float | None) -> list[Row]:
    """Read lines of step, start and end in seconds, as they stand in the file."""
    return _rows(path, read_lines(path), None, raise_dataset_error)


def _rows(
    path: Path, lines: Sequence[str], seconds: float | None, complain: Callable[[str], None]
) -> list[Row]:
    """Read rows in the order of their starts; `seconds` is how long the recording lasts."""
    rows: list[Row] = []
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            step, start, end = _parse(text, seconds)
        except ValueError as problem:
            complain(f"{place(path, line)}: {problem}")
            continue
        rows.append(Row(start, end, step, line))
    return sorted(rows, key=lambda row: row.start)


def _in_whole_seconds(rows: Sequence[Row], seconds: float | None) -> list[Row]:
    """Widen rows to whole seconds, as in published evaluations, but not past the end."""
    last = math.inf if seconds is None else seconds
    return [
        replace(row, start=float(math.floor(row.start)), end=min(float(math.ceil(row.end)), last))
        for row in rows
    ]


def _parse(text: str, seconds: float | None) -> tuple[str, float, float]:
    """Return step, start and end; ValueError says what is wrong with them."""
    parts = [part.strip() for part in text.split(",")]
    try:
        step, start, end = parts[0], float(parts[1]), float(parts[2])
    except (ValueError, IndexError):
        parts = []
    if len(parts) != 3:
        raise ValueError(f"{text.strip()!r}; expected step, start, end")
    if is_background(step):
        raise ValueError(f"unknown step {step!r}; steps count from 1")
    if not (math.isfinite(start) and math.isfinite(end)) or start < 0 or end <= start:
        raise ValueError(f"{start:g} to {end:g} s (step {step}); expected start, then end")
    if seconds is not None and (start >= seconds or end > seconds + 1):
        raise ValueError(
            f"{start:g} to {end:g} s (step {step}) lies past the end of the recording "
            f"({seconds:g} s)"
        )
    return step, start, end


def _take_over(rows: Sequence[Row]) -> list[Row]:
    """End every row where the next one begins, if not before.

    >>> [(row.start, row.end) for row in _take_over([Row(0, 9, "1"), Row(3, 5, "2")])]
    [(0, 3), (3, 5)]
    """
    starts = [*(row.start for row in rows[1:]), math.inf][: len(rows)]
    cut = [replace(row, end=min(row.end, start)) for row, start in zip(rows, starts, strict=True)]
    return [row for row in cut if row.end > row.start]


@dataclass(frozen=True)
class _Task:
    """One block of tasks_primary.txt."""

    number: str
    name: str
    steps: StepList


@dataclass(frozen=True)
class _Files:
    """Where things lie, by name; `splits` are the splits of every task's videos."""

    annotations: Mapping[str, Path]
    features: Mapping[str, Path]
    videos: Mapping[str, Path]
    splits: Mapping[str, Mapping[str, str]]


def read(request: Request) -> list[LabelledTask]:
    """Read the primary tasks, or one of them by name or number."""
    root = must_be_there(request.root, "the dataset's folder")
    release = root / RELEASE if (root / RELEASE).is_dir() else root
    tasks = {task.name: task for task in _tasks(release / "tasks_primary.txt", request.problems)}
    numbers = {task.number: task.name for task in tasks.values()}
    cues = requested_cues(request, tuple(COLUMNS), USUAL_CUES)
    files = _open(release, request)
    found = [
        _labelled(tasks[name], files, cues, request)
        for name in pick_tasks(request, tasks, group="crosstask", aliases=numbers)
    ]
    return [task for task in found if task.recordings]


def _open(release: Path, request: Request) -> _Files:
    around = [release, release.parent] if release.name == RELEASE else [release]
    features, videos = (
        next((top / name for top in around if (top / name).is_dir()), release / name)
        for name in ("crosstask_features", "videos")
    )
    truth = must_be_there(release / "annotations", "the folder of annotations")
    return _Files(
        files_by_stem(truth, (".csv",), request.problems),
        files_by_stem(features, (".npy",), request.problems),
        files_by_stem(videos, VIDEOS, request.problems),
        _splits(release, request.problems),
    )


def _tasks(path: Path, problems: Problems) -> list[_Task]:
    """Read blocks of number, title, address, number of steps, and steps."""
    tasks: dict[str, _Task] = {}
    lines = read_lines(path)
    block: list[str] = []
    for line, text in enumerate([*lines, ""], 1):
        if text.strip():
            block.append(text.strip())
        elif block:
            task = _block(block)
            if task is None:
                problems.report(
                    f"{place(path, line - len(block))}: a task needs five lines: number, title, "
                    "address, number of steps, and as many steps separated by commas"
                )
            elif task.number in tasks:
                problems.report(
                    f"{place(path, line - len(block))}: task {task.number} is listed twice"
                )
            else:
                tasks[task.number] = task
            block = []
    if not tasks:
        raise DatasetError(f"{place(path)}: lists no task")
    return _told_apart(list(tasks.values()))


def _told_apart(tasks: Sequence[_Task]) -> list[_Task]:
    """Add their numbers to the names of tasks that would share one, or that have none."""
    names = [task.name for task in tasks]
    return [
        replace(task, name=f"{task.name}_{task.number}".strip("_"))
        if not task.name or names.count(task.name) > 1
        else task
        for task in tasks
    ]


def _block(block: Sequence[str]) -> _Task | None:
    if len(block) != 5:
        return None
    steps = [step.strip() for step in block[4].split(",")]
    if block[3] != str(len(steps)):
        return None
    names = dict(enumerate(steps, 1))
    name = re.sub(r"[^a-z0-9]+", "_", block[1].lower()).strip("_")
    return _Task(block[0], name, StepList.of({str(step): step for step in names}, names))


def _splits(release: Path, problems: Problems) -> dict[str, dict[str, str]]:
    """Read which videos there are of every task: train, unless in the validation set."""
    splits: dict[str, dict[str, str]] = {}
    for file, split in (("videos.csv", "train"), ("videos_val.csv", "test")):
        path = release / file
        if not path.exists() and split == "test":
            continue
        for line, text in enumerate(read_lines(path), 1):
            parts = text.strip().split(",", 2)
            if text.strip() and (len(parts) < 2 or not parts[0] or not parts[1]):
                problems.report(f"{place(path, line)}: {text!r}; expected task, video, address")
            elif text.strip():
                splits.setdefault(parts[0], {})[parts[1]] = split
    return splits


def _labelled(task: _Task, files: _Files, cues: Sequence[str], request: Request) -> LabelledTask:
    listed = files.splits.get(task.number, {})
    prefix = f"{task.number}_"
    labelled = {name.removeprefix(prefix) for name in files.annotations if name.startswith(prefix)}
    recordings = []
    for video in sorted({*listed, *labelled}):
        if video not in labelled:
            request.problems.report(f"{video}: has no annotations/{task.number}_{video}.csv")
        elif video not in listed:
            request.problems.report(f"{task.number}_{video}.csv: videos.csv has no such video")
        else:
            one = _recording(task, video, files, cues, request)
            recordings += [one] if one is not None else []
    return LabelledTask(task.name, tuple(recordings), task.steps.names, "crosstask")


def _recording(
    task: _Task, video: str, files: _Files, cues: Sequence[str], request: Request
) -> LabelledRecording | None:
    path = files.annotations[f"{task.number}_{video}"]
    features = files.features.get(video, files.features.get(path.stem))
    watch = files.videos.get(video)
    if files.features and features is None and watch is None:
        request.problems.report(f"{place(path)}: has no features ({video}.npy)")
        return None
    lines = report_failure(request.problems, partial(read_lines, path))
    length = 0 if features is None else report_failure(request.problems, partial(_length, features))
    if lines is None or length is None:
        return None
    fps = request.fps or 1.0
    seconds = length / fps if features is not None else None
    read = _rows(path, lines, seconds, request.problems.report)
    rows = _in_whole_seconds(read, seconds)
    unknown = [row for row in rows if task.steps.id_of(row.label) is None]
    known = _take_over([row for row in rows if row not in unknown])
    annotation = annotate(
        path,
        known + unknown,
        task.steps,
        request.problems,
        recording=video,
        duration_seconds=seconds,
    )
    if not annotation.steps:
        request.problems.report(
            f"{place(path)}: a recording without labels; expected lines of step, start, end"
        )
        return None
    read_one = None if features is None else partial(read_columns, features, video, cues, fps)
    return LabelledRecording(video, annotation, watch, read_one, files.splits[task.number][video])


def _length(path: Path) -> int:
    shape = shapes_in(path)[""]
    if len(shape) != 2 or shape[1] != WIDTH or shape[0] == 0:
        raise RecordingError(
            f"{readable(path.name)}: is of shape {shape}; expected (seconds, {WIDTH})"
        )
    return shape[0]


def read_columns(path: Path, name: str, cues: Sequence[str], fps: float) -> FeatureRecording:
    """Read cues, which are columns of one array."""
    _length(path)
    array = read_npy(path)
    return as_recording(path, name, {cue: array[:, COLUMNS[cue]] for cue in cues}, fps)


FORMAT = DatasetFormat(
    read,
    "CrossTask: instruction videos of 18 primary tasks",
    "https://github.com/DmZhukov/CrossTask (crosstask_release.zip and crosstask_features.zip)",
    """\
crosstask_release/tasks_primary.txt            blocks: number, title, address, n, n steps
crosstask_release/videos.csv                   task,video,address
crosstask_release/videos_val.csv               alike: the test split; may be missing
crosstask_release/annotations/TASK_VIDEO.csv   step (from 1),start,end in seconds
crosstask_features/VIDEO.npy                   (seconds, 3200)
videos/VIDEO.mp4                               instead of features, or beside them
The folder may also be crosstask_release itself.
Cues: appearance, motion (used unless others are asked for), audio.""",
    labels_rate=1.0,
)
