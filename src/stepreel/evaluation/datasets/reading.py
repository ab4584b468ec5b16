"""What dataset readers share: choosing tasks and cues, finding files, features as tracks."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import LabelledRecording, Request
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.truth.step_list import StepList
from stepreel.features.array_files import (
    NPY_CUE,
    REAL_NUMBERS,
    explain_memory_errors,
    explain_read_errors,
    read_arrays,
    read_headers,
)
from stepreel.features.feature_files import FeatureRecording
from stepreel.features.recording_files import VIDEO_SUFFIXES as VIDEO_SUFFIXES
from stepreel.system.files import open_regular
from stepreel.types import FeatureTrack, Floats, Mask, Seconds, readable

LONGEST_NAME_BYTES = 255  # of a file or folder
Shape = tuple[int, ...]


def pick_tasks(
    request: Request, known: Iterable[str], *, group: str, aliases: Mapping[str, str] | None = None
) -> list[str]:
    """Return the requested tasks in alphabetical order; all if the group is requested."""
    names = sorted(known)
    if request.task is None or request.task.casefold() == group.casefold():
        return names
    requested = (aliases or {}).get(request.task.casefold(), request.task).casefold()
    picked = [name for name in names if name.casefold() == requested]
    if not picked:
        raise DatasetError(
            f"{request.root}: no task {request.task!r}; known here: {', '.join(names) or 'none'}"
        )
    return picked


def requested_cues(
    request: Request, known: Sequence[str], default: Sequence[str]
) -> tuple[str, ...]:
    """Return the requested cues, the main one first, or the default ones."""
    if missing := [cue for cue in request.cues if cue not in known]:
        raise DatasetError(f"{request.root}: no cue {missing[0]!r}; known here: {', '.join(known)}")
    return tuple(dict.fromkeys(request.cues)) or tuple(default)


def require(path: Path, what: str) -> Path:
    """Return a path, or raise DatasetMissingError if it does not exist."""
    if not path.exists():
        raise DatasetMissingError(f"{path}: {what} does not exist")
    return path


def files_by_stem(
    folder: Path, suffixes: Collection[str], problems: Problems, *, levels: int = 1
) -> dict[str, Path]:
    """Return the files of a folder by name without suffix, sorted; hidden ones are ignored.

    Names that a dataset's files mention are looked up here and never become paths.

    levels  2 to look into the folders in it, too
    """
    files: dict[str, Path] = {}
    for path in sorted(_files_in(folder, problems, levels)):
        if path.suffix.lower() not in suffixes:
            continue
        name = readable(path.stem)
        if name in files:
            problems.report(
                f"{path} and {files[name]} have the same name; expected one file per recording"
            )
        else:
            files[name] = path
    return dict(sorted(files.items()))


def _files_in(folder: Path, problems: Problems, levels: int) -> list[Path]:
    """Return the files in a folder, if it exists, and in folders in it; report closed ones."""
    try:
        inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
        folders = {path for path in inside if path.is_dir()}
    except FileNotFoundError:
        return []
    except OSError as problem:
        problems.report(f"{folder}: cannot be opened ({problem.strerror})")
        return []
    files = [path for path in inside if path not in folders]
    if levels > 1:
        for subfolder in folders:
            files += _files_in(subfolder, problems, levels - 1)
    return files


def array_shapes(path: Path) -> dict[str, Shape]:
    """Return the shapes of the arrays in a .npy (its array has no name) or .npz file.

    Only headers are read; RecordingError if they cannot be, or if there are pickled objects.
    """
    with explain_read_errors(path):
        return {name: header.shape for name, header in read_headers(path).items()}


def feature_seconds(path: Path, fps: float | None) -> float:
    """Return how long the features in a .npy or .npz file last; 0 if headers do not tell."""
    if fps is None or path.suffix.lower() not in (".npy", ".npz"):
        return 0.0
    lengths = [shape[0] for shape in array_shapes(path).values() if len(shape) == 2]
    return max(lengths, default=0) / fps


def is_safe_name(name: str) -> bool:
    """Return whether a name read from a file may become one part of a path."""
    return (
        name not in ("", ".", "..")
        and not any(letter in name for letter in "/\\:\0")
        and len(name.encode("utf-8", "surrogatepass")) <= LONGEST_NAME_BYTES
    )


def read_npy(path: Path) -> NDArray[Any]:
    """Read the array of a .npy file; RecordingError if it is something else, or pickled."""
    return read_arrays(path)[NPY_CUE]


def read_table(path: Path) -> NDArray[np.float64]:
    """Read numbers separated by blanks: one row per line, equally long, without header."""
    try:
        with warnings.catch_warnings(), open_regular(path) as file:
            warnings.filterwarnings("ignore", "loadtxt: input contained no data")
            table = np.loadtxt(file, np.float64, comments=None, ndmin=2, encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise RecordingError(
            f"{readable(path.name)}: is not a table of numbers separated by blanks ({problem})"
        ) from problem
    if table.size == 0:
        raise RecordingError(f"{readable(path.name)}: contains no numbers")
    return table


def count_rows(path: Path) -> int:
    """Return the number of lines that are not empty."""
    try:
        with open_regular(path) as file:
            return sum(1 for line in file if not line.isspace())
    except OSError as problem:
        raise RecordingError(
            f"{readable(path.name)}: cannot be read ({problem.strerror})"
        ) from problem


def build_recording(
    path: Path, name: str, arrays: Mapping[str, NDArray[Any]], fps: float
) -> FeatureRecording:
    """Make a recording of arrays (T, D) that were read from `path`, by cue, the main one first.

    A row with NaN or infinity is invalid; RecordingError if all are, or if there are no numbers.
    Its fingerprint is that of the file and the frame rate.
    """
    n = len(next(iter(arrays.values())))
    times: Seconds = np.arange(n) / fps
    for array in arrays.values():
        if array.dtype.kind not in REAL_NUMBERS:
            raise RecordingError(
                f"{readable(path.name)}: contains {str(array.dtype)[:40]}; expected real numbers"
            )
    with explain_memory_errors(path):
        tracks = {cue: _track(name, cue, array, times) for cue, array in arrays.items()}
    check_any_valid(readable(path.name), tracks)
    with path.open("rb") as file:
        content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    content.update(times.tobytes())
    return FeatureRecording(name, content.hexdigest(), tracks, 0.0)


def check_any_valid(name: str, tracks: Mapping[str, FeatureTrack]) -> None:
    """Raise RecordingError if no cue has a valid moment."""
    if not any(track.valid.any() for track in tracks.values()):
        raise RecordingError(
            f"{name}: contains no valid moment: every row has a NaN or infinite value"
        )


def _track(name: str, cue: str, array: NDArray[Any], times: Seconds) -> FeatureTrack:
    with np.errstate(over="ignore"):  # too large for single precision: invalid, below
        values: Floats = np.asarray(array, np.float32)
    valid: Mask = np.asarray(np.isfinite(values).all(axis=1))
    return FeatureTrack(name, cue, times, np.where(valid[:, None], values, np.float32(0)), valid)


def used_step_names(recordings: Iterable[LabelledRecording], steps: StepList) -> dict[int, str]:
    """Return the names of the steps that are done in some recording."""
    used = {step.step for recording in recordings for step in recording.annotation.steps}
    return {number: name for number, name in sorted(steps.names.items()) if number in used}
