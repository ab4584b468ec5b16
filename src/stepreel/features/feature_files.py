"""Features that people bring: `.npy`, `.npz`, `.h5` and `.safetensors` files become tracks.

A file is one recording. Every two-dimensional array in it is a cue (T, D); an array called `times`
holds seconds, and `<cue>_valid` says where a cue knows anything. A `.npy` file holds one cue,
called `features`. Nothing that could run code is read: pickles are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
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
    explain_memory_errors,
    read_arrays,
)
from stepreel.types import (
    FeatureTrack,
    Mask,
    Recording,
    Seconds,
    cues_and_widths,
    moment_seconds,
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
    path           the file it was read from; None for arrays in memory
    """

    name: str
    fingerprint: str
    tracks: dict[str, FeatureTrack]
    start_seconds: float
    marked: frozenset[str] = frozenset()
    absent: dict[str, list[int]] = field(default_factory=dict)
    path: Path | None = None

    @property
    def times(self) -> Seconds:
        """The moments that all tracks share."""
        return next(iter(self.tracks.values())).times

    @property
    def moment_seconds(self) -> float:
        """How long a moment typically lasts."""
        return moment_seconds(self.times)

    @property
    def duration_seconds(self) -> float:
        """How long the tracks last, the last moment included."""
        return float(self.times[-1]) + self.moment_seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing is known about how the features were recorded."""
        return ()

    @property
    def track_settings(self) -> dict[str, object]:
        """Say of every cue that its features come from a file."""
        return dict.fromkeys(self.tracks, FROM_FILE)


def read_features(
    path: Path, *, cues: Sequence[str] = (), fps: float | None = None, times: Path | None = None
) -> FeatureRecording:
    """Read a recording's tracks; `cues` picks and orders them, the first being the main one.

    Times come from `times`, else from `fps`, else from the file's own `times`.
    """
    with explain_memory_errors(path):
        arrays = read_arrays(path)
        label = readable(path.name)
        return _recording(
            readable(path.stem),
            arrays,
            cues,
            lambda n: _seconds(label, _given_times(path, arrays, n, fps, times)),
            label=label,
            path=path,
        )


def recording_from_arrays(
    name: str,
    times: NDArray[Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    cues: Sequence[str] = (),
    path: Path | None = None,
) -> FeatureRecording:
    """Make a recording of arrays in memory; `times` are seconds, one per row.

    path  the file they were read from, if any
    """
    label = name if path is None else readable(path.name)
    return _recording(
        readable(name), arrays, cues, lambda n: _seconds(label, times), label=label, path=path
    )


def _recording(
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    cues: Sequence[str],
    seconds_of: Callable[[int], Seconds],
    *,
    label: str,
    path: Path | None,
) -> FeatureRecording:
    """Check arrays and turn them into tracks; `label` names their source in messages."""
    chosen = _choose(label, arrays, cues)
    seconds = seconds_of(len(arrays[chosen[0]]))
    clock = seconds - seconds[0]
    tracks = {
        cue: _track(name, label, cue, arrays[cue], clock, arrays.get(f"{cue}_valid"))
        for cue in chosen
    }
    if not any(track.valid.any() for track in tracks.values()):
        raise RecordingError(
            f"{label}: contains no valid moment: every row of {', '.join(chosen)} has "
            "NaN or infinity, or is marked as invalid"
        )
    return FeatureRecording(
        name,
        _fingerprint(tracks),
        tracks,
        float(seconds[0]),
        marked=frozenset(cue for cue in chosen if f"{cue}_valid" in arrays),
        absent={cue: columns for cue in chosen if (columns := _absent(arrays[cue]))},
        path=path,
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


def check_same_cues(recording: Recording, first: Recording) -> None:
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


def _choose(label: str, arrays: Mapping[str, NDArray[Any]], cues: Sequence[str]) -> list[str]:
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
            f"{label}: no cue {missing[0]!r}; (T, D) arrays in it: {', '.join(known) or 'none'}"
        )
    if not known:
        there = [f"{name} {ArrayHeader(x.shape, x.dtype)}" for name, x in arrays.items()]
        raise RecordingError(
            f"{label}: holds no two-dimensional array (T, D) of real numbers; "
            f"it holds {', '.join(there[:5]) or 'nothing'}"
        )
    chosen = list(dict.fromkeys(cues)) or known
    for cue in chosen:
        if cue in ("main", "all") or "," in cue:
            raise RecordingError(
                f"{label}: a cue cannot be called {cue!r}, which settings would take "
                "for something else; rename the array"
            )
    return chosen


def _given_times(
    path: Path, arrays: Arrays, n: int, fps: float | None, times: Path | None
) -> NDArray[Any]:
    """Return one time per row, from another file, a rate, or the file itself."""
    if times is not None:
        return _times_of(path, times)
    if fps is not None:
        return np.arange(n) / fps
    own = _own_times(arrays)
    if own is None:
        raise RecordingError(
            f"{readable(path.name)}: has no `times`; give --times FILE or --fps NUMBER, "
            "whichever the command takes"
        )
    return own


def _seconds(label: str, times: NDArray[Any]) -> Seconds:
    """Check times: finite seconds that increase."""
    if times.dtype.kind not in REAL_NUMBERS:
        raise RecordingError(f"{label}: times must be numbers (seconds), not {times.dtype}")
    seconds = times.astype(np.float64).ravel()
    if len(seconds) == 0:
        raise RecordingError(f"{label}: contains no moment")
    if not np.isfinite(seconds).all() or (np.diff(seconds) <= 0).any():
        raise RecordingError(f"{label}: times must be finite seconds that increase")
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
    name: str,
    label: str,
    cue: str,
    features: NDArray[Any],
    times: Seconds,
    valid: NDArray[Any] | None,
) -> FeatureTrack:
    if len(features) != len(times):
        raise RecordingError(
            f"{label}: {cue} has {len(features)} rows, but there are {len(times)} times"
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
                f"{label}: {cue}_valid has {valid.size} values for {len(values)} rows"
            )
        if valid.dtype.kind not in REAL_NUMBERS:
            raise RecordingError(f"{label}: {cue}_valid must say true or false, not {valid.dtype}")
        known &= np.asarray(valid, bool).ravel()
    return FeatureTrack(name, cue, times, np.where(known[:, None], values, 0), known)


def _absent(features: NDArray[Any]) -> list[int]:
    """Return the columns without a single number, unless there is no number in any."""
    empty = np.flatnonzero(~np.isfinite(np.asarray(features, np.float64)).any(axis=0))
    return [] if len(empty) == features.shape[1] else [int(column) for column in empty]
