"""What readers of datasets share: their tasks by name, their files by name, features as tracks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import LabelledRecording, Request
from stepreel.evaluation.truth.annotation import Problems, StepList
from stepreel.features.array_files import (
    LONE_CUE,
    REAL_NUMBERS,
    errors_named,
    headers_in,
    memory_suffices,
    read_arrays,
)
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import FeatureTrack, Floats, Mask, Seconds, readable

VIDEOS = tuple(
    f".{end}" for end in ["mp4", "mov", "mkv", "webm", "avi", "m4v", "mpg", "mpeg", "ts", "wmv"]
)
Shape = tuple[int, ...]
MOST_DIGITS = 18  # of a step's number; more would not fit into what labels are kept in
T = TypeVar("T")


def pick_tasks(
    request: Request, known: Iterable[str], *, group: str, aliases: Mapping[str, str] | None = None
) -> list[str]:
    """Return the tasks that are asked for, in the order of their names; all for the group."""
    names = sorted(known)
    if request.task is None or request.task.casefold() == group.casefold():
        return names
    wanted = (aliases or {}).get(request.task.casefold(), request.task).casefold()
    found = [name for name in names if name.casefold() == wanted]
    if not found:
        raise DatasetError(
            f"{request.root}: no task {request.task!r}; known here: {', '.join(names) or 'none'}"
        )
    return found


def requested_cues(request: Request, known: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """Return the cues that are asked for, the main one first, or the usual ones."""
    if missing := [cue for cue in request.cues if cue not in known]:
        raise DatasetError(f"{request.root}: no cue {missing[0]!r}; known here: {', '.join(known)}")
    return tuple(dict.fromkeys(request.cues)) or tuple(usual)


def must_be_there(path: Path, what: str) -> Path:
    """Return a path, or raise NotThereError."""
    if not path.exists():
        raise DatasetMissingError(f"{path}: {what} is not there")
    return path


def files_by_stem(
    folder: Path, suffixes: Collection[str], problems: Problems, *, deep: bool = False
) -> dict[str, Path]:
    """Return the files of a folder by name, in that order; hidden ones count for nothing.

    Names that are read from files are looked up here and never become paths.

    deep  look one folder further down, too
    """
    found: dict[str, Path] = {}
    for path in sorted(_files_in(folder, problems, levels=2 if deep else 1)):
        if path.suffix.lower() not in suffixes:
            continue
        name = readable(path.stem)
        if name in found:
            problems.report(f"{path}: a second file of this name, beside {found[name]}")
        else:
            found[name] = path
    return dict(sorted(found.items()))


def _files_in(folder: Path, problems: Problems, *, levels: int) -> list[Path]:
    """Return what is in a folder, if there is one, and in those in it; report closed ones."""
    try:
        inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
        folders = {path for path in inside if path.is_dir()}
    except FileNotFoundError:
        return []
    except OSError as problem:
        problems.report(f"{folder}: cannot be looked into ({problem.strerror})")
        return []
    files = [path for path in inside if path not in folders]
    if levels > 1:
        for one in folders:
            files += _files_in(one, problems, levels=levels - 1)
    return files


def whole_number(text: str) -> int | None:
    """Return a number that can be a step's; None if it is none, or has too many digits.

    >>> whole_number("017"), whole_number("-1"), whole_number("²"), whole_number("9" * 19)
    (17, None, None, None)
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return int(text) if is_number else None


def shapes_in(path: Path) -> dict[str, Shape]:
    """Return the shapes of the arrays in a .npy (its array has no name) or .npz file.

    Only headers are read; RecordingError if they cannot be, or if pickled objects are inside.
    """
    with errors_named(path):
        return {name: header.shape for name, header in headers_in(path).items()}


def seconds_in(path: Path, fps: float | None) -> float:
    """Return how long the features in a .npy or .npz file last; 0 if that is not easily told."""
    if fps is None or path.suffix.lower() not in (".npy", ".npz"):
        return 0.0
    lengths = [shape[0] for shape in shapes_in(path).values() if len(shape) == 2]
    return max(lengths, default=0) / fps


def is_plain(name: str) -> bool:
    """Tell whether a name that was read from a file may become one part of a path."""
    return name not in ("", ".", "..") and not any(letter in name for letter in "/\\:\0")


def read_npy(path: Path) -> NDArray[Any]:
    """Read the array of a .npy file; RecordingError if it is something else, or pickled."""
    return read_arrays(path)[LONE_CUE]


def read_table(path: Path) -> NDArray[np.float64]:
    """Read numbers separated by blanks: one row per line, as many in every row, no header."""
    if count_rows(path) == 0:
        raise RecordingError(f"{readable(path.name)}: holds no numbers")
    try:
        return np.loadtxt(path, np.float64, comments=None, ndmin=2, encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise RecordingError(
            f"{readable(path.name)}: is no table of numbers separated by blanks ({problem})"
        ) from problem


def count_rows(path: Path) -> int:
    """Return the number of lines that hold anything."""
    try:
        with path.open("rb") as file:
            return sum(1 for line in file if not line.isspace())
    except OSError as problem:
        raise RecordingError(
            f"{readable(path.name)}: cannot be read ({problem.strerror})"
        ) from problem


def as_recording(
    path: Path, name: str, arrays: Mapping[str, NDArray[Any]], fps: float
) -> FeatureRecording:
    """Make a recording of arrays (T, D) that were read from `path`, by cue, the main one first.

    A row with NaN or infinity is invalid; RecordingError if all are, or if there are no numbers.
    """
    n = len(next(iter(arrays.values())))
    clock: Seconds = np.arange(n) / fps
    for array in arrays.values():
        if array.dtype.kind not in REAL_NUMBERS:
            raise RecordingError(
                f"{readable(path.name)}: holds {str(array.dtype)[:40]}; expected real numbers"
            )
    with memory_suffices(path):
        tracks = {cue: _track(name, cue, array, clock) for cue, array in arrays.items()}
    if not any(track.valid.any() for track in tracks.values()):
        raise RecordingError(
            f"{readable(path.name)}: holds no valid moment: there is no row without NaN or infinity"
        )
    with path.open("rb") as file:
        content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    content.update(clock.tobytes())
    return FeatureRecording(name, content.hexdigest(), tracks, 0.0)


def _track(name: str, cue: str, array: NDArray[Any], clock: Seconds) -> FeatureTrack:
    with np.errstate(over="ignore"):  # too large for single precision: invalid, below
        values: Floats = np.asarray(array, np.float32)
    valid: Mask = np.asarray(np.isfinite(values).all(axis=1))
    return FeatureTrack(name, cue, clock, np.where(valid[:, None], values, np.float32(0)), valid)


def raise_dataset_error(what: str) -> None:
    """Raise DatasetError: for readers that take somewhere to complain."""
    raise DatasetError(what)


def report_failure(problems: Problems, read: Callable[[], T]) -> T | None:
    """Return what `read` returns; if a file is not as it must be, report that: None if lenient.

    `read` itself must not report problems.
    """
    try:
        return read()
    except DatasetMissingError:
        raise
    except (DatasetError, RecordingError) as problem:
        problems.report(str(problem))
        return None


def names_used(recordings: Iterable[LabelledRecording], steps: StepList) -> dict[int, str]:
    """Return the names of the steps that are really done in some recording."""
    used = {step.step for one in recordings for step in one.annotation.steps}
    return {number: name for number, name in sorted(steps.names.items()) if number in used}
