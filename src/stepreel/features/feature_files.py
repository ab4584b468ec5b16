"""Feature files provided by users (`.npy`, `.npz`, `.h5`, `.safetensors`) → feature tracks.

A file is one recording. Every two-dimensional array in it is a cue (T, D). The array `times` has
the time of every row in seconds, and `<cue>_valid` is false where a cue has no usable features. A
`.npy` file is one cue, called `features`. Pickles are never read, because they can run code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.derived import Derived
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
    LONGEST_SECONDS,
    FeatureTrack,
    Mask,
    Recording,
    Seconds,
    cues_and_widths,
    moment_seconds,
    readable,
)

TIMES = "times"
# Recorded as the origin of such features; increase `reading` if files are read differently.
FROM_FILE = {"from": "file", "reading": 2}


@dataclass(frozen=True)
class FeatureRecording:
    """One recording that is given as features, without a video.

    start_seconds  time of the first moment on the file's own clock; tracks start at 0
    marked         cues with a `<cue>_valid` array in the file
    absent         per cue, columns without any finite value: channels this recording lacks
    path           the file it was read from; None for arrays in memory
    derived        what was made from its tracks
    """

    name: str
    fingerprint: str
    tracks: dict[str, FeatureTrack]
    start_seconds: float
    marked: frozenset[str] = frozenset()
    absent: dict[str, list[int]] = field(default_factory=dict)
    path: Path | None = None
    derived: Derived = field(default_factory=Derived)

    @property
    def times(self) -> Seconds:
        """The times that all tracks share."""
        return next(iter(self.tracks.values())).times

    @property
    def moment_seconds(self) -> float:
        """Typical duration of one moment."""
        return moment_seconds(self.times)

    @property
    def duration_seconds(self) -> float:
        """Length of the tracks, including the last moment."""
        return float(self.times[-1]) + self.moment_seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """Always empty: files contain no information about recording problems."""
        return ()

    @property
    def track_settings(self) -> dict[str, object]:
        """Return, for every cue, that its features come from a file."""
        return dict.fromkeys(self.tracks, FROM_FILE)


def read_features(
    path: Path, *, cues: Sequence[str] = (), fps: float | None = None, times: Path | None = None
) -> FeatureRecording:
    """Read a recording; `cues` selects and orders its cues, of which the first is the main one.

    Times come from `times`, else from `fps`, else from the file's own `times`.
    """
    label = readable(path.name)
    chosen: list[str] = []

    def choose(headers: Mapping[str, ArrayHeader]) -> list[str]:
        chosen.extend(_choose(label, headers, cues))
        names = [*chosen, *(f"{cue}_valid" for cue in chosen)]
        return names if times is not None or fps is not None else names + _names_of_times(headers)

    with explain_memory_errors(path):
        arrays = read_arrays(path, choose)
        return _recording(
            readable(path.stem),
            arrays,
            chosen,
            lambda n: _seconds(label, _find_times(path, arrays, n, fps, times)),
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
    """Make a recording from arrays in memory; `times` has one time in seconds per row.

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
    """Check arrays and build their tracks; messages name the source by `label`."""
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
    """Hash the arrays that are used; labels and other arrays in the file do not affect it."""
    content = hashlib.blake2b(digest_size=16)
    content.update(next(iter(tracks.values())).times.tobytes())
    for cue, track in tracks.items():
        content.update(f"{cue} {track.features.shape}".encode())
        content.update(np.ascontiguousarray(track.features).data)
        content.update(np.ascontiguousarray(track.valid).data)
    return content.hexdigest()


def check_same_cues(recording: Recording, first: Recording) -> None:
    """Raise RecordingError unless two recordings of a task have the same cues and widths."""
    expected, actual = (
        cues_and_widths({cue: track.width for cue, track in item.tracks.items()})
        for item in (first, recording)
    )
    if expected != actual:
        raise RecordingError(
            f"{recording.name}: has the cues {actual}, but {first.name} has {expected}; "
            "all recordings of a task need the same cues (select them with --cues)"
        )


def _choose(
    label: str, arrays: Mapping[str, NDArray[Any] | ArrayHeader], cues: Sequence[str]
) -> list[str]:
    """Return the names of the cues to use, from arrays or from their headers."""
    if TIMES in arrays and arrays[TIMES].ndim > 1:
        raise RecordingError(
            f"{label}: {TIMES!r} cannot be the name of a cue: it is the name of the times, which "
            "have one dimension; rename the array"
        )
    usable = [
        name
        for name, x in arrays.items()
        if x.ndim == 2
        and x.shape[1] > 0
        and x.dtype.kind in REAL_NUMBERS
        and not name.endswith("_valid")
        and name.rpartition("/")[2] != TIMES
    ]
    if missing := [cue for cue in cues if cue not in usable]:
        raise RecordingError(
            f"{label}: no cue {missing[0]!r}; (T, D) arrays in it: {', '.join(usable) or 'none'}"
        )
    if not usable:
        contents = [f"{name} {ArrayHeader(x.shape, x.dtype)}" for name, x in arrays.items()]
        raise RecordingError(
            f"{label}: contains no two-dimensional array (T, D) of real numbers; "
            f"it contains {', '.join(contents[:5]) or 'nothing'}"
        )
    chosen = list(dict.fromkeys(cues)) or usable
    for cue in chosen:
        if cue in ("main", "all") or "," in cue:
            raise RecordingError(
                f"{label}: {cue!r} cannot be the name of a cue, because it has another meaning in "
                "settings; rename the array"
            )
    return chosen


def _find_times(
    path: Path, arrays: Arrays, n: int, fps: float | None, times: Path | None
) -> NDArray[Any]:
    """Return one time per row from another file, a rate, or the file itself."""
    if times is not None:
        return _times_of(path, times)
    if fps is not None:
        return np.arange(n) / fps
    own = _own_times(arrays)
    if own is None:
        raise RecordingError(
            f"{readable(path.name)}: has no `times`; pass --times FILE (times=…) or --fps NUMBER "
            "(fps=…), whichever the command accepts"
        )
    return own


def _seconds(label: str, times: NDArray[Any]) -> Seconds:
    """Return times as seconds; they must be finite and increasing."""
    if times.dtype.kind not in REAL_NUMBERS:
        raise RecordingError(f"{label}: times must be numbers (seconds), not {times.dtype}")
    seconds = times.astype(np.float64).ravel()
    if len(seconds) == 0:
        raise RecordingError(f"{label}: contains no moment")
    if not np.isfinite(seconds).all() or (np.diff(seconds) <= 0).any():
        raise RecordingError(f"{label}: times must be finite and increasing seconds")
    if seconds[-1] - seconds[0] + moment_seconds(seconds) > LONGEST_SECONDS:
        raise RecordingError(
            f"{label}: times span {seconds[-1] - seconds[0]:.3g} s, which is decades; expected "
            "seconds (divide milliseconds by 1e3, nanoseconds by 1e9)"
        )
    return seconds


def _own_times(arrays: Arrays) -> NDArray[Any] | None:
    """Return the times in the file itself; in HDF5 they may be in the group of the cues."""
    named = _names_of_times(arrays)
    return arrays[named[0]] if len(named) == 1 else None


def _names_of_times(arrays: Mapping[str, object]) -> list[str]:
    return [name for name in arrays if name.rpartition("/")[2] == TIMES]


def _times_of(path: Path, times: Path) -> NDArray[Any]:
    """Read times from a file, or from the file in a folder with the name of the recording."""
    if times.is_dir():
        candidates = [times / f"{path.stem}{suffix}" for suffix in READERS]
        existing = [file for file in candidates if file.exists()]
        if not existing:
            raise RecordingError(
                f"{readable(path.name)}: no times for it in {times}; expected {path.stem}.npy, …"
            )
        times = existing[0]

    def choose(headers: Mapping[str, ArrayHeader]) -> list[str]:
        return [TIMES] if TIMES in headers else list(headers)[:1]

    arrays = read_arrays(times, choose)
    if not arrays:
        raise RecordingError(f"{readable(times.name)}: contains no array; expected `{TIMES}`")
    return next(iter(arrays.values()))


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
    with np.errstate(over="ignore"):  # values too large for float32 become invalid below
        values = np.asarray(features, np.float32)
    if absent := _absent(features):
        values = values.copy()
        values[:, absent] = 0  # a constant channel has no influence
    usable: Mask = np.asarray(np.isfinite(values).all(axis=1))
    if valid is not None:
        if valid.size != len(values):
            raise RecordingError(
                f"{label}: {cue}_valid has {valid.size} values for {len(values)} rows"
            )
        if valid.dtype.kind not in REAL_NUMBERS:
            raise RecordingError(f"{label}: {cue}_valid must be true or false, not {valid.dtype}")
        usable &= np.asarray(valid, bool).ravel()
    return FeatureTrack(name, cue, times, np.where(usable[:, None], values, 0), usable)


def _absent(features: NDArray[Any]) -> list[int]:
    """Return the columns without any finite value; none if that is true of all columns."""
    if features.dtype.kind != "f":
        return []
    empty = np.flatnonzero(~np.isfinite(features).any(axis=0))
    return [] if len(empty) == features.shape[1] else [int(column) for column in empty]
