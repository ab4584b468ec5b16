"""Phase labels of Penn Action: arrays in folders, or TFRecords that also contain pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import DatasetError, RecordingError
from stepreel.evaluation.datasets.base import Split
from stepreel.evaluation.datasets.reading import files_by_stem, read_npy
from stepreel.evaluation.datasets.tfrecord import SequenceExample, read_examples
from stepreel.evaluation.truth.annotation import Problems, location
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
class VideoPhases:
    """The phases of one video; `source` names where they were read, for messages."""

    name: str
    action: str
    source: str
    phases: Sequence[int]
    split: Split


def refuse_pickles(folder: Path) -> None:
    """Raise DatasetError if there is a pickle; labels are often published as one."""
    for path in sorted(folder.glob("*")):
        if path.suffix.lower() in PICKLES:
            raise DatasetError(f"{location(path)}: {ADVICE}")


def action_in(name: str) -> str | None:
    """Return the action that a name contains.

    >>> action_in("0001_baseball_pitch"), action_in("bowling_val-0-of-4.tfrecord"), action_in("x")
    ('baseball_pitch', 'bowl', None)
    """
    plain = re.sub(r"[^a-z]+", "_", name.lower())
    known = {**ALIASES, **{action: action for action in N_PHASES}}
    for spelling in sorted(known, key=len, reverse=True):
        if f"_{spelling}_" in f"_{plain}_":
            return known[spelling]
    return None


def read_label_folders(folder: Path, problems: Problems) -> Iterator[VideoPhases]:
    """Read SPLIT/ACTION/VIDEO.npy files; they are few bytes each."""
    refuse_pickles(folder)
    for name, split in SPLITS.items():
        for action_folder in _folders_in(folder / name, problems):
            action = ALIASES.get(action_folder.name.lower(), action_folder.name.lower())
            where = f"{name}/{readable(action_folder.name)}"
            if action not in N_PHASES:
                problems.report(f"{where}: unknown action; known: {', '.join(N_PHASES)}")
                continue
            for video, path in _label_files(action_folder, where, problems).items():
                source = f"{where}/{location(path)}"
                phases = problems.attempt(_read_phases, path, source)
                if phases is not None:
                    yield VideoPhases(video, action, source, phases, split)


def _folders_in(folder: Path, problems: Problems) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as problem:  # a closed folder is not an empty one
        problems.report(f"{folder}: cannot be read ({problem.strerror})")
        return []


def _label_files(folder: Path, where: str, problems: Problems) -> dict[str, Path]:
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix.lower() == ".npy" and path.is_dir():
                problems.report(
                    f"{where}/{location(path)}: is a folder; expected a file, one integer per frame"
                )
        return files_by_stem(folder, (".npy",), problems)
    except OSError as problem:
        problems.report(f"{folder}: cannot be read ({problem.strerror})")
        return {}


def _read_phases(path: Path, source: str) -> list[int]:
    try:
        array = read_npy(path)
    except RecordingError as problem:
        raise DatasetError(f"{source.rpartition('/')[0]}: {problem}") from problem
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise DatasetError(
            f"{source}: contains {array.dtype} {array.shape}; expected one integer per frame"
        )
    return [int(phase) for phase in array]


def read_label_records(paths: Sequence[Path], problems: Problems) -> Iterator[VideoPhases]:
    """Read the labels in TFRecords, without decoding the pictures in them."""
    for path in paths:
        names = [name for name in SPLITS if re.search(rf"(?<![a-z]){name}(?![a-z])", path.name)]
        split = SPLITS[names[0]] if names else ""
        examples = read_examples(path, ("name", "len", "frame_labels"))
        while (record := problems.attempt(next, examples, (0, None))) is not None:
            offset, example = record
            if example is None:
                break
            video = problems.attempt(_parse_example, path, offset, example, split)
            if video is not None:
                yield video


def _parse_example(path: Path, offset: int, example: SequenceExample, split: Split) -> VideoPhases:
    where = f"{location(path)}, byte {offset}"
    names = [name for name in example.context.get("name", ()) if isinstance(name, bytes)]
    name = names[0].decode("utf-8", "replace") if names else ""
    action = action_in(name) or action_in(path.name)
    if not name or action is None:
        raise DatasetError(f"{where}: neither {name!r} nor the file name contains a known action")
    phases = [
        value
        for values in example.lists.get("frame_labels", ())
        for value in values
        if isinstance(value, int)
    ]
    (expected,) = example.context.get("len", ())[:1] or (len(phases),)
    if not phases or expected != len(phases):
        raise DatasetError(
            f"{where}: {name} has {len(phases)} `frame_labels`; expected {expected!r}, "
            "one per frame"
        )
    return VideoPhases(name, action, f"{location(path)}, {name}", phases, split)
