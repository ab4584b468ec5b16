"""Breakfast, 50Salads and GTEA: one label per video frame, one line per label.

Features may be as MS-TCN published them (a .npy per video, one column per frame) or as text (one
row per frame). Where features and labels differ by a few frames, both end with the shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
    Split,
)
from stepreel.evaluation.datasets.reading import (
    MOST_DIGITS,
    VIDEOS,
    as_recording,
    count_rows,
    files_by_stem,
    must_be_there,
    names_used,
    pick_tasks,
    read_npy,
    read_table,
    report_failure,
    requested_cues,
    shapes_in,
    whole_number,
)
from stepreel.evaluation.truth.annotation import (
    BACKGROUND,
    Row,
    StepList,
    annotate,
    is_background,
    number_by_name,
    place,
    rows_of_labels,
)
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.array_files import LONE_CUE
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import Seconds, readable

DIFFERENT_FRAMES = 50  # by which features and labels may differ in length


def read_frame_labels(path: Path, fps: float | None) -> list[Row]:
    """Read one label per frame and line, as rows."""
    rate = _stated(path, fps)
    return _rows(_labels(path), rate)


def read_frames(path: Path, fps: float | None) -> tuple[list[str], Seconds]:
    """Read one label per frame and line, and when the frames are."""
    rate = _stated(path, fps)
    labels = _labels(path)
    return labels, np.arange(len(labels)) / rate


def _stated(path: Path, fps: float | None) -> float:
    if fps is None:
        raise DatasetError(
            f"{place(path)}: one label per frame says nothing of seconds; give --fps"
        )
    return fps


def _labels(path: Path) -> list[str]:
    labels = [line.strip() for line in read_lines(path)]
    if not labels:
        raise DatasetError(f"{place(path)}: holds no label; expected one per frame and line")
    if "" in labels:
        raise DatasetError(
            f"{place(path, labels.index('') + 1)}: is empty; expected one label per frame and line"
        )
    return labels


def _rows(labels: list[str], fps: float) -> list[Row]:
    return rows_of_labels(labels, np.arange(len(labels)) / fps, end_seconds=len(labels) / fps)


@dataclass(frozen=True)
class _Kind:
    """What tells these datasets apart.

    background  labels that stand for no step
    task_of     the task that a video's name tells; empty if the name is none of this dataset
    names       what videos are called, to say when one is not
    """

    group: str
    fps: float
    background: frozenset[str]
    task_of: Callable[[str], str]
    names: str


@dataclass(frozen=True)
class _Folder:
    """The files of a dataset, by the names of videos; `steps` is None without a mapping."""

    kind: _Kind
    request: Request
    truths: Mapping[str, Path]
    features: Mapping[str, Path]
    videos: Mapping[str, Path]
    splits: Mapping[str, Split]
    steps: StepList | None


@dataclass(frozen=True)
class _Truth:
    """One label per frame; `frames` is how many of them have features, too."""

    labels: list[str]
    frames: int


def _breakfast_task(name: str) -> str:
    return name.rpartition("_")[2].lower() if "_" in name else ""


def _salads_task(name: str) -> str:
    return "salad"


def _gtea_task(name: str) -> str:
    parts = name.split("_")
    return parts[1].lower() if len(parts) == 3 else ""


def _read(kind: _Kind, request: Request) -> list[LabelledTask]:
    folder = _open(kind, request)
    names: dict[str, list[str]] = {}
    for name in sorted({*folder.truths, *folder.features}):
        names.setdefault(kind.task_of(name), []).append(name)
    for name in names.pop("", ()):
        request.problems.report(f"{name}: is no name of this dataset; expected {kind.names}")
    tasks = [
        _task(folder, task, names[task]) for task in pick_tasks(request, names, group=kind.group)
    ]
    return [task for task in tasks if task.recordings]


def _open(kind: _Kind, request: Request) -> _Folder:
    root = must_be_there(request.root, "the dataset's folder")
    truth = must_be_there(root / "groundTruth", "the folder of labels")
    folder = _Folder(
        kind,
        request,
        files_by_stem(truth, ("", ".txt"), request.problems),
        files_by_stem(root / "features", (".npy", ".txt"), request.problems, deep=True),
        files_by_stem(root / "videos", VIDEOS, request.problems),
        _splits(request),
        _mapping(kind, request),
    )
    if not folder.truths:
        raise DatasetMissingError(f"{truth}: holds no file of labels")
    return folder


def _truths(folder: _Folder, names: Iterable[str]) -> dict[str, _Truth]:
    """Read the labels of videos; report what has no match."""
    found: dict[str, _Truth] = {}
    problems = folder.request.problems
    for name in names:
        path, features = folder.truths.get(name), folder.features.get(name)
        if path is None:
            problems.report(f"{place(folder.features[name])}: has no labels in groundTruth")
        elif folder.features and features is None:
            problems.report(f"{place(path)}: has no features (.npy or .txt)")
        elif (truth := report_failure(problems, partial(_truth, path, features))) is not None:
            found[name] = truth
    return found


def _truth(path: Path, features: Path | None) -> _Truth:
    labels = _labels(path)
    if features is None:
        return _Truth(labels, len(labels))
    frames = _frames(features)
    if abs(frames - len(labels)) > DIFFERENT_FRAMES:
        raise DatasetError(
            f"{place(path)}: has {len(labels)} labels, but {features.name} is of {frames} frames; "
            f"they may differ by {DIFFERENT_FRAMES} (a .npy file has one column per frame)"
        )
    return _Truth(labels, min(frames, len(labels)))


def _frames(features: Path) -> int:
    text = features.suffix.lower() == ".txt"
    shape = (1, count_rows(features)) if text else shapes_in(features)[""]
    if len(shape) != 2 or 0 in shape:
        expected = "one row of numbers per frame" if text else f"(features, frames), not {shape}"
        raise RecordingError(f"{readable(features.name)}: holds no features; expected {expected}")
    return shape[1]


def _read_features(path: Path, cue: str, frames: int, fps: float) -> FeatureRecording:
    array = read_table(path) if path.suffix.lower() == ".txt" else read_npy(path).T
    return as_recording(path, readable(path.stem), {cue: array[:frames]}, fps)


def _task(folder: _Folder, task: str, names: Iterable[str]) -> LabelledTask:
    kind, request = folder.kind, folder.request
    fps = request.fps or kind.fps
    (cue,) = requested_cues(request, (LONE_CUE,), (LONE_CUE,))
    truths = _truths(folder, names)
    steps = folder.steps or _number(kind, truths.values())
    recordings = []
    for name, truth in truths.items():
        annotation = annotate(
            folder.truths[name],
            _rows(truth.labels[: truth.frames], fps),
            steps,
            request.problems,
            duration_seconds=truth.frames / fps,
        )
        features = folder.features.get(name)
        read = (
            None if features is None else partial(_read_features, features, cue, truth.frames, fps)
        )
        video, split = folder.videos.get(name), folder.splits.get(name, "")
        recordings.append(LabelledRecording(name, annotation, video, read, split))
    return LabelledTask(task, tuple(recordings), names_used(recordings, steps), kind.group)


def _number(kind: _Kind, truths: Iterable[_Truth]) -> StepList:
    """Give steps numbers in the order of their names, for want of a mapping."""
    labels = {label for truth in truths for label in truth.labels}
    steps = number_by_name(labels - kind.background)
    steps.ids.update(dict.fromkeys(kind.background, BACKGROUND))
    return steps


def _mapping(kind: _Kind, request: Request) -> StepList | None:
    """Read the ids of labels. They count from 0, which is our background: all move up by one."""
    paths = (request.root / "mapping.txt", request.root / "mapping" / "mapping.txt")
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        return None
    ids: dict[str, int] = {}
    for line, text in enumerate(read_lines(path), 1):
        if not text.strip():
            continue
        first, label = (*text.strip().split(maxsplit=1), "")[:2]
        number = whole_number(first)
        if number is None or not label:
            request.problems.report(
                f"{place(path, line)}: {text[:60]!r}; expected an id, which is a whole number of "
                f"at most {MOST_DIGITS} digits, and a label"
            )
        elif label in ids or number + 1 in ids.values():
            request.problems.report(f"{place(path, line)}: {text[:60]!r} is there already")
        else:
            empty = label in kind.background or is_background(label)
            ids[label] = BACKGROUND if empty else number + 1
    return StepList.of(ids, {number: label for label, number in ids.items() if number})


def _splits(request: Request) -> dict[str, Split]:
    """Read the first official split; names are those of label files."""
    splits: dict[str, Split] = {}
    for split in ("train", "test"):
        path = request.root / "splits" / f"{split}.split1.bundle"
        for line, text in enumerate(read_lines(path) if path.exists() else (), 1):
            name = text.strip().rpartition("/")[2].removesuffix(".txt")
            if name and splits.setdefault(name, split) != split:
                request.problems.report(
                    f"{place(path, line)}: {name} is in train.split1.bundle, too"
                )
    return splits


_LAYOUT = """\
features/{name}.npy        (2048, frames), or .txt: one row per frame, separated by blanks
groundTruth/{name}.txt     one label per frame and line; the ending may be missing
mapping.txt{blank}          "0 {label}" …; may be missing, then labels are numbered by name
splits/train.split1.bundle, splits/test.split1.bundle      may be missing
videos/{name}.mp4          may be missing
Without features/, there are labels alone. {fps} frames per second, unless --fps says otherwise."""
_SOURCE = "https://zenodo.org/record/3625992 (features and labels as MS-TCN used them)"


def _format(kind: _Kind, title: str, name: str, label: str) -> DatasetFormat:
    blank = " " * len(name)
    layout = _LAYOUT.format(name=name, label=label, blank=blank, fps=f"{kind.fps:g}")
    return DatasetFormat(partial(_read, kind), title, _SOURCE, layout, labels_rate=kind.fps)


BREAKFAST = _format(
    _Kind("breakfast", 15.0, frozenset({"SIL"}), _breakfast_task, "P03_cam01_P03_coffee"),
    "Breakfast: ten breakfasts, one task each",
    "P03_cam01_P03_coffee",
    "SIL",
)
SALADS = _format(
    _Kind("50salads", 30.0, frozenset({"action_start", "action_end"}), _salads_task, "rgb-01-1"),
    "50Salads: mixed salads, one task",
    "rgb-01-1",
    "cut_tomato",
)
GTEA = _format(
    _Kind("gtea", 15.0, frozenset({"background"}), _gtea_task, "S1_Cheese_C1"),
    "GTEA: seven dishes and drinks, one task each",
    "S1_Cheese_C1",
    "take",
)
