"""Breakfast, 50Salads and GTEA: text files with one label per video frame and line.

Features may be as MS-TCN published them (a .npy per video, one column per frame) or text (one row
per frame). If features and labels differ by a few frames, both are cut to the shorter length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
    Split,
)
from stepreel.evaluation.datasets.reading import (
    VIDEO_SUFFIXES,
    array_shapes,
    build_recording,
    count_rows,
    files_by_stem,
    pick_tasks,
    read_npy,
    read_table,
    requested_cues,
    require,
    used_step_names,
)
from stepreel.evaluation.truth.annotation import BACKGROUND, Problems, location
from stepreel.evaluation.truth.frame_text import label_frames, parse_frame_labels
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.rows import build_annotation
from stepreel.evaluation.truth.step_list import (
    MAX_DIGITS,
    StepList,
    is_background,
    number_by_name,
    parse_step_number,
)
from stepreel.features.array_files import NPY_CUE
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import readable

FRAME_TOLERANCE = 50  # by which features and labels may differ in length


@dataclass(frozen=True)
class _Dataset:
    """What the three datasets differ in.

    background  labels that mean no step
    task_of     the task that a video's name states; empty if it is not a name of this dataset
    example     the name of a video, for messages
    """

    group: str
    fps: float
    background: frozenset[str]
    task_of: Callable[[str], str]
    example: str


@dataclass(frozen=True)
class _Files:
    """The files of a dataset by the names of videos; `steps` is None without a mapping."""

    labels: Mapping[str, Path]
    features: Mapping[str, Path]
    videos: Mapping[str, Path]
    splits: Mapping[str, Split]
    steps: StepList | None


@dataclass(frozen=True)
class _FrameLabels:
    """One label per frame; only the first `n_frames` have features, too."""

    labels: list[str]
    n_frames: int


def _breakfast_task(name: str) -> str:
    return name.rpartition("_")[2].lower() if "_" in name else ""


def _salads_task(name: str) -> str:
    return "salad"


def _gtea_task(name: str) -> str:
    parts = name.split("_")
    return parts[1].lower() if len(parts) == 3 else ""


def _read(dataset: _Dataset, request: Request) -> list[LabelledTask]:
    files = _find_files(dataset, request)
    names: dict[str, list[str]] = {}
    for name in sorted({*files.labels, *files.features}):
        names.setdefault(dataset.task_of(name), []).append(name)
    for name in names.pop("", ()):
        request.problems.report(
            f"{name}: is not a name of this dataset; expected names like {dataset.example}"
        )
    tasks = [
        _task(dataset, task, names[task], files, request)
        for task in pick_tasks(request, names, group=dataset.group)
    ]
    return [task for task in tasks if task.recordings]


def _find_files(dataset: _Dataset, request: Request) -> _Files:
    root, problems = require(request.root, "the dataset's folder"), request.problems
    folder = require(root / "groundTruth", "the folder of labels")
    labels = files_by_stem(folder, ("", ".txt"), problems)
    features = files_by_stem(root / "features", (".npy", ".txt"), problems, levels=2)
    videos = files_by_stem(root / "videos", VIDEO_SUFFIXES, problems)
    splits, steps = _read_splits(root, problems), _read_mapping(root, dataset.background, problems)
    if not labels:
        raise DatasetMissingError(f"{folder}: contains no label file")
    return _Files(labels, features, videos, splits, steps)


def _task(
    dataset: _Dataset, task: str, names: Iterable[str], files: _Files, request: Request
) -> LabelledTask:
    fps = request.fps or dataset.fps
    (cue,) = requested_cues(request, (NPY_CUE,), (NPY_CUE,))
    labelled = _read_labels(files, names, request.problems)
    steps = files.steps or _number_steps(dataset.background, labelled.values())
    recordings = []
    for name, frames in labelled.items():
        annotation = build_annotation(
            files.labels[name],
            label_frames(frames.labels[: frames.n_frames], fps).rows,
            steps,
            request.problems,
            duration_seconds=frames.n_frames / fps,
        )
        path = files.features.get(name)
        features = None if path is None else partial(_features, path, cue, frames.n_frames, fps)
        video, split = files.videos.get(name), files.splits.get(name, "")
        recordings.append(LabelledRecording(name, annotation, video, features, split))
    return LabelledTask(task, tuple(recordings), used_step_names(recordings, steps), dataset.group)


def _read_labels(
    files: _Files, names: Iterable[str], problems: Problems
) -> dict[str, _FrameLabels]:
    """Read the labels of videos; report labels without features and features without labels."""
    labelled: dict[str, _FrameLabels] = {}
    for name in names:
        path, features = files.labels.get(name), files.features.get(name)
        if path is None:
            problems.report(f"{location(files.features[name])}: has no labels in groundTruth")
        elif files.features and features is None:
            problems.report(f"{location(path)}: has no features (.npy or .txt)")
        elif (frames := problems.attempt(_read_label_file, path, features)) is not None:
            labelled[name] = frames
    return labelled


def _read_label_file(path: Path, features: Path | None) -> _FrameLabels:
    labels = parse_frame_labels(path, read_lines(path))
    if features is None:
        return _FrameLabels(labels, len(labels))
    n_frames = _count_frames(features)
    if abs(n_frames - len(labels)) > FRAME_TOLERANCE:
        raise DatasetError(
            f"{location(path)}: has {len(labels)} labels, but {features.name} has {n_frames} "
            f"frames; they may differ by {FRAME_TOLERANCE} (a .npy file has one column per frame)"
        )
    return _FrameLabels(labels, min(n_frames, len(labels)))


def _count_frames(features: Path) -> int:
    is_text = features.suffix.lower() == ".txt"
    shape = (1, count_rows(features)) if is_text else array_shapes(features)[""]
    if len(shape) != 2 or 0 in shape:
        expected = "one row of numbers per frame" if is_text else f"(features, frames), not {shape}"
        raise RecordingError(
            f"{readable(features.name)}: contains no features; expected {expected}"
        )
    return shape[1]


def _features(path: Path, cue: str, n_frames: int, fps: float) -> FeatureRecording:
    array = read_table(path) if path.suffix.lower() == ".txt" else read_npy(path).T
    return build_recording(path, readable(path.stem), {cue: array[:n_frames]}, fps)


def _number_steps(background: frozenset[str], labelled: Iterable[_FrameLabels]) -> StepList:
    """Give steps numbers in the order of their names, for datasets without a mapping."""
    labels = {label for frames in labelled for label in frames.labels}
    steps = number_by_name(labels - background)
    steps.ids.update(dict.fromkeys(background, BACKGROUND))
    return steps


def _read_mapping(root: Path, background: frozenset[str], problems: Problems) -> StepList | None:
    """Read the ids of labels. They count from 0, which is our background, so 1 is added."""
    paths = (root / "mapping.txt", root / "mapping" / "mapping.txt")
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        return None
    ids: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        first, label = (*line.strip().split(maxsplit=1), "")[:2]
        step = parse_step_number(first)
        if step is None or not label:
            problems.report(
                f"{location(path, number)}: {line[:60]!r}; expected an id (a whole number of at "
                f"most {MAX_DIGITS} digits) and a label"
            )
        elif label in ids or step + 1 in ids.values():
            problems.report(f"{location(path, number)}: {line[:60]!r}: id or label is used before")
        else:
            no_step = label in background or is_background(label)
            ids[label] = BACKGROUND if no_step else step + 1
    return StepList.of(ids, {step: label for label, step in ids.items() if step})


def _read_splits(root: Path, problems: Problems) -> dict[str, Split]:
    """Read the first official split, which lists the names of label files."""
    splits: dict[str, Split] = {}
    for split in ("train", "test"):
        path = root / "splits" / f"{split}.split1.bundle"
        for number, line in enumerate(read_lines(path) if path.exists() else (), 1):
            name = line.strip().rpartition("/")[2].removesuffix(".txt")
            if name and splits.setdefault(name, split) != split:
                problems.report(f"{location(path, number)}: {name} is also in train.split1.bundle")
    return splits


_LAYOUT = """\
features/{name}.npy        (2048, frames), or .txt: one row per frame, separated by blanks
groundTruth/{name}.txt     one label per frame and line; the suffix is optional
mapping.txt{blank}          lines like "0 {label}"; optional, labels are then numbered by name
splits/train.split1.bundle, splits/test.split1.bundle      optional
videos/{name}.mp4          optional
Without features/, there are only labels. {fps} frames per second, unless --fps (fps=…) is given."""
_SOURCE = "https://zenodo.org/record/3625992 (features and labels as MS-TCN used them)"


def _format(dataset: _Dataset, title: str, label: str) -> DatasetFormat:
    name = dataset.example
    layout = _LAYOUT.format(name=name, label=label, blank=" " * len(name), fps=f"{dataset.fps:g}")
    return DatasetFormat(partial(_read, dataset), title, _SOURCE, layout, labels_rate=dataset.fps)


BREAKFAST = _format(
    _Dataset("breakfast", 15.0, frozenset({"SIL"}), _breakfast_task, "P03_cam01_P03_coffee"),
    "Breakfast: ten breakfasts, one task each",
    "SIL",
)
SALADS = _format(
    _Dataset("50salads", 30.0, frozenset({"action_start", "action_end"}), _salads_task, "rgb-01-1"),
    "50Salads: mixed salads, one task",
    "cut_tomato",
)
GTEA = _format(
    _Dataset("gtea", 15.0, frozenset({"background"}), _gtea_task, "S1_Cheese_C1"),
    "GTEA: seven dishes and drinks, one task each",
    "take",
)
