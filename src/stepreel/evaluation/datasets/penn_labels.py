"""Phase labels of Penn Action: arrays in folders, or records with pictures beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stepreel.errors import DatasetError, RecordingError
from stepreel.evaluation.datasets.base import Request, Split
from stepreel.evaluation.datasets.reading import files_by_stem, read_npy, report_failure
from stepreel.evaluation.datasets.tfrecord import SequenceExample, read_examples
from stepreel.evaluation.truth.annotation import place
from stepreel.features.array_files import PICKLES
from stepreel.types import readable

N_PHASES = {
    "baseball_pitch": 4,
    "baseball_swing": 3,
    "bench_press": 2,
    "bowl": 3,
    "clean_and_jerk": 6,
    "golf_swing": 3,
    "jumping_jacks": 4,
    "pullup": 2,
    "pushup": 2,
    "situp": 2,
    "squat": 4,
    "tennis_forehand": 3,
    "tennis_serve": 4,
}
ALIASES = {
    "benchpress": "bench_press",
    "bowling": "bowl",
    "pullups": "pullup",
    "pushups": "pushup",
    "situps": "situp",
    "squats": "squat",
}
SPLITS: Mapping[str, Split] = {"train": "train", "val": "test"}
ADVICE = "pickles can run code and are never read; save labels with numpy.save, one file per video"


@dataclass(frozen=True)
class LabelledVideo:
    """The phases of one video; `written` is where they stand, for messages."""

    name: str
    action: str
    written: str
    phases: Sequence[int]
    split: Split


def refuse_pickles(folder: Path) -> None:
    """Raise DatasetError if there is a pickle, which labels are often published as."""
    for path in sorted(folder.glob("*")):
        if path.suffix.lower() in PICKLES:
            raise DatasetError(f"{place(path)}: {ADVICE}")


def action_in(name: str) -> str | None:
    """Return the action that a name tells.

    >>> action_in("0001_baseball_pitch"), action_in("bowling_val-0-of-4.tfrecord"), action_in("x")
    ('baseball_pitch', 'bowl', None)
    """
    plain = re.sub(r"[^a-z]+", "_", name.lower())
    known = {**ALIASES, **{action: action for action in N_PHASES}}
    for spelling in sorted(known, key=len, reverse=True):
        if f"_{spelling}_" in f"_{plain}_":
            return known[spelling]
    return None


def from_folders(folder: Path, request: Request) -> Iterator[LabelledVideo]:
    """Read SPLIT/ACTION/VIDEO.npy files; they are few bytes each."""
    refuse_pickles(folder)
    for name, split in SPLITS.items():
        for inside in _folders(folder / name, request):
            action = ALIASES.get(inside.name.lower(), inside.name.lower())
            where = f"{name}/{readable(inside.name)}"
            if action not in N_PHASES:
                request.problems.report(f"{where}: unknown action; known: {', '.join(N_PHASES)}")
                continue
            for video, path in _label_files(inside, where, request).items():
                written = f"{where}/{place(path)}"
                phases = report_failure(request.problems, partial(_phases, path, written))
                if phases is not None:
                    yield LabelledVideo(video, action, written, phases, split)


def _folders(folder: Path, request: Request) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as problem:  # which is not the same as an empty one
        request.problems.report(f"{folder}: cannot be read ({problem.strerror})")
        return []


def _label_files(folder: Path, where: str, request: Request) -> dict[str, Path]:
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix.lower() == ".npy" and path.is_dir():
                request.problems.report(
                    f"{where}/{place(path)}: is a folder; expected a file, one integer per frame"
                )
        return files_by_stem(folder, (".npy",), request.problems)
    except OSError as problem:
        request.problems.report(f"{folder}: cannot be read ({problem.strerror})")
        return {}


def _phases(path: Path, written: str) -> list[int]:
    try:
        array = read_npy(path)
    except RecordingError as problem:
        raise DatasetError(f"{written.rpartition('/')[0]}: {problem}") from problem
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise DatasetError(
            f"{written}: holds {array.dtype} {array.shape}; expected one integer per frame"
        )
    return [int(phase) for phase in array]


def from_records(paths: Sequence[Path], request: Request) -> Iterator[LabelledVideo]:
    """Read the labels in TFRecords, and leave the pictures in them alone."""
    for path in paths:
        names = [name for name in SPLITS if re.search(rf"(?<![a-z]){name}(?![a-z])", path.name)]
        split = SPLITS[names[0]] if names else ""
        examples = read_examples(path, ("name", "len", "frame_labels"))
        while (
            found := report_failure(request.problems, partial(next, examples, (0, None)))
        ) is not None:
            offset, example = found
            if example is None:
                break
            told = report_failure(request.problems, partial(_told, path, offset, example))
            if told is not None:
                name, action, phases = told
                yield LabelledVideo(name, action, f"{place(path)}, {name}", phases, split)


def _told(path: Path, offset: int, example: SequenceExample) -> tuple[str, str, list[int]]:
    """Return name, action and phases that a record tells."""
    where = f"{place(path)}, byte {offset}"
    names = [name for name in example.context.get("name", ()) if isinstance(name, bytes)]
    name = names[0].decode("utf-8", "replace") if names else ""
    action = action_in(name) or action_in(path.name)
    if not name or action is None:
        raise DatasetError(f"{where}: {name!r} tells no known action, nor does the file's name")
    phases = [
        value
        for one in example.lists.get("frame_labels", ())
        for value in one
        if isinstance(value, int)
    ]
    (expected,) = example.context.get("len", ())[:1] or (len(phases),)
    if not phases or expected != len(phases):
        raise DatasetError(
            f"{where}: {name} has {len(phases)} `frame_labels`; expected {expected!r}, one each"
        )
    return name, action, phases
