"""The data types passed between the stages of the pipeline."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stepreel.derived import Derived

Floats = NDArray[np.float32]
Seconds = NDArray[np.float64]
Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

LONGEST_SECONDS = 1e9  # of a recording, decades: longer ones are in other units or damaged

_SURROGATES = re.compile("[\ud800-\udfff]")  # also how Python represents undecodable file names

Progress = Callable[[str, float, float], None]
"""Called as progress(label, done, total); total is 0 while it is unknown.

The first call says that a stage starts. The last one has done == total, also if it stopped early.
"""


WAITING = "waiting"
"""The label of waiting for another process; for whom, and why, is in the log."""


class AtMost(float):
    """A total that may not be reached, because the work can stop early."""


def labelled(progress: Progress, suffix: str) -> Progress:
    """Return `progress` with a suffix added to every label, such as which recording it is."""
    return lambda label, done, total: progress(f"{label}{suffix}", done, total)


def no_progress(label: str, done: float, total: float) -> None:
    """Ignore progress; the default of every `Progress` parameter."""


def readable(name: str) -> str:
    r"""Replace characters that cannot be encoded as UTF-8, so that a name can be written and shown.

    >>> readable("take\udcff.mp4"), readable("\ud800")
    ('take�.mp4', '�')
    """
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", name)


def as_names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names that are given as a list or as comma-separated text.

    >>> as_names("hands, gaze"), as_names(["hands"]), as_names(None)
    (('hands', 'gaze'), ('hands',), ())
    """
    parts = names.split(",") if isinstance(names, str) else names or ()
    return tuple(part.strip() for part in parts if part.strip())


def runs(mask: Mask) -> list[slice]:
    """Return the runs of consecutive true values as slices.

    >>> runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def moment_seconds(times: Seconds) -> float:
    """Return the typical duration of a moment: the median spacing, which ignores gaps.

    >>> moment_seconds(np.array([0.0, 0.5, 1.0, 9.0])), moment_seconds(np.array([3.0]))
    (0.5, 1.0)
    """
    return float(np.median(np.diff(times))) if len(times) > 1 else 1.0


@dataclass(frozen=True)
class VideoFile:
    """A video file and the metadata from its header and first frames.

    n_streams  of moving pictures; the first that can be decoded is used
    is_hdr     whether its pictures are tone-mapped
    status  what the file system said of the file before its content was hashed
    """

    path: Path
    fingerprint: str
    width: int
    height: int
    fps: float
    declared_seconds: float
    first_frame_seconds: float
    player_offset_seconds: float
    shown_in_decoding_order: bool = False
    n_streams: int = 1
    is_hdr: bool = False
    status: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The file name, safe to display."""
        return readable(self.path.name)

    def __repr__(self) -> str:
        size = f"{self.width} x {self.height}"
        return (
            f"VideoFile({self.name!r}, {size}, {self.fps:.5g} fps, {self.declared_seconds:.1f} s)"
        )


@dataclass(frozen=True)
class FeatureTrack:
    """The features of one cue of one recording over time; an embedding is one, too.

    times     (T,) seconds since the first displayed frame, increasing
    features  (T, D)
    valid     (T,) false where the cue has no usable features
    """

    recording: str
    cue: str
    times: Seconds
    features: Floats
    valid: Mask

    def __post_init__(self) -> None:
        if self.features.ndim != 2:
            raise ValueError(f"features must be (T, D), not {self.features.shape}")
        if self.times.shape != self.valid.shape or self.times.shape != self.features.shape[:1]:
            raise ValueError(
                f"times {self.times.shape}, valid {self.valid.shape} and features "
                f"{self.features.shape} must have the same length"
            )
        if np.any(np.diff(self.times) <= 0):
            raise ValueError("times must increase")
        if not np.isfinite(self.features[self.valid]).all():
            raise ValueError("valid features must be finite; mark the others as invalid")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def width(self) -> int:
        """The number of features per moment (D)."""
        return int(self.features.shape[1])

    @cached_property
    def content_hash(self) -> str:
        """Hash of all arrays: what is computed from a track depends on this, not on its source."""
        content = hashlib.blake2b(digest_size=16)
        for array in (self.times, self.features, self.valid):
            content.update(f"{array.dtype} {array.shape}".encode())
            content.update(np.ascontiguousarray(array).data)
        return content.hexdigest()

    def __repr__(self) -> str:
        extent = f"{self.times[0]:.1f}-{self.times[-1]:.1f} s" if len(self) else "empty"
        shape = f"{len(self)} x {self.width}"
        return f"FeatureTrack({self.recording!r}, {self.cue!r}, {shape}, {extent})"


def cues_and_widths(widths: Mapping[str, int]) -> str:
    """Format cues and their widths.

    >>> cues_and_widths({"hands": 26, "gaze": 3})
    'hands (26), gaze (3)'
    """
    return ", ".join(f"{cue} ({width})" for cue, width in widths.items())


class Recording(Protocol):
    """One recording of a task with its feature tracks, extracted from a video or provided.

    track_settings  per cue, how its features were made; a model accepts only the same
    """

    @property
    def name(self) -> str:
        """The name shown to users."""

    @property
    def path(self) -> Path | None:
        """The file it was read from; None for arrays in memory."""

    @property
    def fingerprint(self) -> str:
        """Hash of the content."""

    @property
    def tracks(self) -> dict[str, FeatureTrack]:
        """One per cue, all with the same times; the first cue is the main one."""

    @property
    def times(self) -> Seconds:
        """The moments that all tracks share."""

    @property
    def start_seconds(self) -> float:
        """Time on the recording's own clock at which its tracks start (their time 0)."""

    @property
    def duration_seconds(self) -> float:
        """Length of the recording, including its last moment."""

    @property
    def moment_seconds(self) -> float:
        """Duration of one moment."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Problems met while reading it, for readers of the result."""

    @property
    def track_settings(self) -> dict[str, object]:
        """How the features of every cue were made; see the class."""

    @property
    def derived(self) -> Derived:
        """What was made from its tracks and takes long to make."""


def track_hashes(recording: Recording) -> dict[str, str]:
    """Return the hash of every track's content, the main cue first."""
    return {cue: track.content_hash for cue, track in recording.tracks.items()}


def clustering_id(*arrays: Floats) -> str:
    """Return a name for what defines clusters, such as centres (K, D): others have another name.

    >>> len(clustering_id(np.zeros((7, 128)))), clustering_id(np.eye(2)) == clustering_id(np.eye(3))
    (16, False)
    """
    content = hashlib.blake2b(digest_size=8)
    for array in arrays:
        values = np.ascontiguousarray(array, dtype=np.float32)
        content.update(f"{values.shape}".encode())
        content.update(values.data)
    return content.hexdigest()


@dataclass(frozen=True)
class Clustering:
    """The cluster of every moment of one recording, and its distance to the centres.

    labels           (T,) cluster of every moment, 0..n_clusters-1
    distances        (T,) how untypical a moment is of its step, such as its distance to the centre
                     of its cluster; the least one shows the step best
    certainty        (T,) from 0, between two clusters, to 1
    excluded         (T,) true where the moment belongs to no step: no cue is valid there
    uncertain        (T,) true where it was trimmed as too untypical; none if left out
    clustering_id    see `clustering_id`; empty if nothing finds the same clusters again
    """

    times: Seconds
    labels: Labels
    distances: Floats
    certainty: Floats
    excluded: Mask
    n_clusters: int
    uncertain: Mask | None = None
    clustering_id: str = ""

    def __post_init__(self) -> None:
        per_moment = (self.labels, self.distances, self.certainty, self.kept)
        shapes = {self.times.shape, *(values.shape for values in per_moment)}
        if len(shapes) != 1 or self.times.ndim != 1:
            raise ValueError(f"all arrays must have one value per moment; got shapes {shapes}")

    @property
    def kept(self) -> Mask:
        """(T,) true where a moment was neither excluded nor trimmed."""
        return ~self.excluded if self.uncertain is None else ~(self.excluded | self.uncertain)

    def __repr__(self) -> str:
        return f"Clustering({len(self.times)} moments in {self.n_clusters} clusters)"
