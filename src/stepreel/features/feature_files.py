"""Features that people bring: `.npy`, `.npz`, `.h5` and `.safetensors` files become tracks.

A file is one recording. Every two-dimensional array in it is a cue (T, D); an array called `times`
holds seconds, and `<cue>_valid` says where a cue knows anything. A `.npy` file holds one cue,
called `features`. Nothing that could run code is read: pickles are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import RecordingError
from stepreel.features.array_files import (
    READERS,
    REAL_NUMBERS,
    ArrayHeader,
    Arrays,
    memory_suffices,
    read_arrays,
)
from stepreel.types import (
    FeatureTrack,
    Mask,
    Seconds,
    TrackedRecording,
    cues_and_widths,
    readable,
)

TIMES = "times"
# All that is known of how such features were made; raise the number if a file is read differently.
FROM_FILE = {"from": "file", "reading": 2}


@dataclass(frozen=True)
class FeatureRecording:
    """One recording known by its features alone.

    start_seconds  of its first moment on the file's own clock; tracks begin at 0
    marked         cues of which the file itself says where they know nothing
    absent         per cue, columns that hold no number anywhere: the recording lacks that channel
    """

    name: str
    fingerprint: str
    tracks: dict[str, FeatureTrack]
    start_seconds: float
    marked: frozenset[str] = frozenset()
    absent: dict[str, list[int]] = field(default_factory=dict)

    @property
    def track_settings(self) -> dict[str, object]:
        """Say of every cue that nobody here knows how it was made."""
        return dict.fromkeys(self.tracks, FROM_FILE)


def read_features(
    path: Path, *, cues: Sequence[str] = (), fps: float | None = None, times: Path | None = None
) -> FeatureRecording:
    """Read a recording's tracks; `cues` picks and orders them, the first being the main one.

    Times come from `times`, else from `fps`, else from the file's own `times`.
    """
    with memory_suffices(path):
        return _recording(path, cues, fps, times)


def _recording(
    path: Path, cues: Sequence[str], fps: float | None, times: Path | None
) -> FeatureRecording:
    arrays = read_arrays(path)
    chosen = _choose(path, arrays, cues)
    seconds = _clock(path, arrays, len(arrays[chosen[0]]), fps, times)
    clock = seconds - seconds[0]
    tracks = {
        cue: _track(path, cue, arrays[cue], clock, arrays.get(f"{cue}_valid")) for cue in chosen
    }
    if not any(track.valid.any() for track in tracks.values()):
        raise RecordingError(
            f"{readable(path.name)}: holds no valid moment: every row of {', '.join(chosen)} has "
            "NaN or infinity, or is marked as invalid"
        )
    marked = [cue for cue in chosen if f"{cue}_valid" in arrays]
    return FeatureRecording(
        readable(path.stem),
        _fingerprint(tracks),
        tracks,
        float(seconds[0]),
        frozenset(marked),
        {cue: columns for cue in chosen if (columns := _absent(arrays[cue]))},
    )


def _fingerprint(tracks: Mapping[str, FeatureTrack]) -> str:
    """Hash what is used of a file; labels and whatever else lies beside it change nothing."""
    content = hashlib.blake2b(digest_size=16)
    content.update(next(iter(tracks.values())).times.tobytes())
    for cue, track in tracks.items():
        content.update(f"{cue} {track.features.shape}".encode())
        content.update(np.ascontiguousarray(track.features).data)
        content.update(np.ascontiguousarray(track.valid).data)
    return content.hexdigest()


def check_alike(recording: TrackedRecording, first: TrackedRecording) -> None:
    """Raise RecordingError unless two recordings of a task have the same cues and widths."""
    expected, there = (
        cues_and_widths({cue: track.width for cue, track in one.tracks.items()})
        for one in (first, recording)
    )
    if expected != there:
        raise RecordingError(
            f"{recording.name}: has the cues {there}, but {first.name} has {expected}; "
            "all recordings of a task need the same (--cues picks some)"
        )


def _choose(path: Path, arrays: Arrays, cues: Sequence[str]) -> list[str]:
    known = [
        name
        for name, x in arrays.items()
        if x.ndim == 2
        and x.shape[1] > 0
        and x.dtype.kind in REAL_NUMBERS
        and not name.endswith("_valid")
        and name.rpartition("/")[2] != TIMES
    ]
    if missing := [cue for cue in cues if cue not in known]:
        raise RecordingError(
            f"{readable(path.name)}: no cue {missing[0]!r}; "
            f"(T, D) arrays in it: {', '.join(known) or 'none'}"
        )
    if not known:
        there = [f"{name} {ArrayHeader(x.shape, x.dtype)}" for name, x in arrays.items()]
        raise RecordingError(
            f"{readable(path.name)}: holds no two-dimensional array (T, D) of real numbers; "
            f"it holds {', '.join(there[:5]) or 'nothing'}"
        )
    chosen = list(dict.fromkeys(cues)) or known
    for cue in chosen:
        if cue in ("main", "all") or "," in cue:
            raise RecordingError(
                f"{readable(path.name)}: a cue cannot be called {cue!r}, which settings would take "
                "for something else; rename the array"
            )
    return chosen


def _clock(path: Path, arrays: Arrays, n: int, fps: float | None, times: Path | None) -> Seconds:
    """Return one time in seconds per row."""
    clock = _own_times(arrays)
    if times is not None:
        clock = _times_of(path, times)
    elif fps is not None:
        clock = np.arange(n) / fps
    if clock is None:
        raise RecordingError(
            f"{readable(path.name)}: has no `times`; give --times FILE or --fps NUMBER, "
            "whichever the command takes"
        )
    if clock.dtype.kind not in REAL_NUMBERS:
        raise RecordingError(
            f"{readable(path.name)}: times must be numbers (seconds), not {clock.dtype}"
        )
    seconds = clock.astype(np.float64).ravel()
    if len(seconds) == 0:
        raise RecordingError(f"{readable(path.name)}: holds no moment")
    if not np.isfinite(seconds).all() or (np.diff(seconds) <= 0).any():
        raise RecordingError(f"{readable(path.name)}: times must be finite seconds that increase")
    return seconds


def _own_times(arrays: Arrays) -> NDArray[Any] | None:
    """Return a file's own times; in HDF5 they may lie in a group beside the cues."""
    named = [array for name, array in arrays.items() if name.rpartition("/")[2] == TIMES]
    return named[0] if len(named) == 1 else None


def _times_of(path: Path, times: Path) -> NDArray[Any]:
    """Read times from a file, or from the file in a folder that is named like the recording."""
    if times.is_dir():
        named = [times / f"{path.stem}{suffix}" for suffix in READERS]
        there = [file for file in named if file.exists()]
        if not there:
            raise RecordingError(
                f"{readable(path.name)}: no times for it in {times} ({path.stem}.npy, …)"
            )
        times = there[0]
    arrays = read_arrays(times)
    if not arrays:
        raise RecordingError(f"{readable(times.name)}: holds no array; expected `{TIMES}`")
    return arrays[TIMES] if TIMES in arrays else next(iter(arrays.values()))


def _track(
    path: Path, cue: str, features: NDArray[Any], times: Seconds, valid: NDArray[Any] | None
) -> FeatureTrack:
    if len(features) != len(times):
        raise RecordingError(
            f"{readable(path.name)}: {cue} has {len(features)} rows, "
            f"but there are {len(times)} times"
        )
    with np.errstate(over="ignore"):  # too large for single precision: invalid, below
        values = np.asarray(features, np.float32)
    if absent := _absent(features):
        values = values.copy()
        values[:, absent] = 0  # a channel that never changes tells nothing
    known: Mask = np.asarray(np.isfinite(values).all(axis=1))
    if valid is not None:
        if valid.size != len(values):
            raise RecordingError(
                f"{readable(path.name)}: {cue}_valid has {valid.size} values for {len(values)} rows"
            )
        if valid.dtype.kind not in REAL_NUMBERS:
            raise RecordingError(
                f"{readable(path.name)}: {cue}_valid must say true or false, not {valid.dtype}"
            )
        known &= np.asarray(valid, bool).ravel()
    return FeatureTrack(readable(path.stem), cue, times, np.where(known[:, None], values, 0), known)


def _absent(features: NDArray[Any]) -> list[int]:
    """Return the columns without a single number, unless there is no number in any."""
    empty = np.flatnonzero(~np.isfinite(np.asarray(features, np.float64)).any(axis=0))
    return [] if len(empty) == features.shape[1] else [int(column) for column in empty]
