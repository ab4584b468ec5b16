"""The data types that the stages of the pipeline pass on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Seconds = NDArray[np.float64]
Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

_NO_TEXT = re.compile("[\ud800-\udfff]")  # halves of characters, and bytes of odd file names

Progress = Callable[[str, float, float], None]
"""Called as progress(what is being done, how much is done, how much there is)."""


def no_progress(what: str, done: float, total: float) -> None:
    """Report to nobody: the default of everything that takes a `Progress`."""


def readable(name: str) -> str:
    r"""Replace what is no text in a name, so that it can be written to JSON and shown.

    >>> readable("take\udcff.mp4"), readable("\ud800")
    ('take�.mp4', '�')
    """
    return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", name)


def runs(mask: Mask) -> list[slice]:
    """Return every run of true moments.

    >>> runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def moment_seconds(times: Seconds) -> float:
    """Return how long a moment typically lasts: the median spacing, so that gaps do not count.

    >>> moment_seconds(np.array([0.0, 0.5, 1.0, 9.0])), moment_seconds(np.array([3.0]))
    (0.5, 1.0)
    """
    return float(np.median(np.diff(times))) if len(times) > 1 else 1.0


@dataclass(frozen=True)
class VideoFile:
    """A video file and the facts in its header; only its first frames have been decoded."""

    path: Path
    fingerprint: str
    width: int
    height: int
    fps: float
    declared_seconds: float
    first_frame_seconds: float
    player_offset_seconds: float
    shown_in_decoding_order: bool = False

    @property
    def name(self) -> str:
        """The file's name, as the user knows it."""
        return readable(self.path.name)

    def __repr__(self) -> str:
        size = f"{self.width} x {self.height}"
        return (
            f"VideoFile({self.name!r}, {size}, {self.fps:.5g} fps, {self.declared_seconds:.1f} s)"
        )


@dataclass(frozen=True)
class FeatureTrack:
    """One cue of one recording over time; an embedding is just another one.

    times     (T,) seconds since the first displayed frame, increasing
    features  (T, D)
    valid     (T,) true where the cue has something to say
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
                f"{self.features.shape} must agree in their first axis"
            )
        if np.any(np.diff(self.times) <= 0):
            raise ValueError("times must increase")
        if not np.isfinite(self.features[self.valid]).all():
            raise ValueError("valid features must be finite; mark what is not as invalid")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def width(self) -> int:
        """The number of features per moment (D)."""
        return int(self.features.shape[1])

    def __repr__(self) -> str:
        extent = f"{self.times[0]:.1f}-{self.times[-1]:.1f} s" if len(self) else "empty"
        shape = f"{len(self)} x {self.width}"
        return f"FeatureTrack({self.recording!r}, {self.cue!r}, {shape}, {extent})"


def cues_and_widths(widths: Mapping[str, int]) -> str:
    """Name cues and widths.

    >>> cues_and_widths({"hands": 26, "gaze": 3})
    'hands (26), gaze (3)'
    """
    return ", ".join(f"{cue} ({width})" for cue, width in widths.items())


class Recording(Protocol):
    """One recording of a task with its feature tracks, extracted from a video or provided.

    track_settings  per cue, how its features were made; a model accepts only such features
    """

    @property
    def name(self) -> str:
        """What the user calls it."""

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
        """When, on the recording's own clock, its tracks' time 0 is."""

    @property
    def duration_seconds(self) -> float:
        """How long the recording lasts, its last moment included."""

    @property
    def moment_seconds(self) -> float:
        """How long a moment lasts."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about how well it could be read."""

    @property
    def track_settings(self) -> dict[str, object]:
        """See the class."""


@dataclass(frozen=True)
class Clustering:
    """Which cluster every moment of one recording belongs to, and how well it fits there.

    labels           (T,) cluster of every moment, 0..n_clusters-1
    distances        (T,) to the centre of the own cluster
    other_distances  (T,) to the nearest other centre; infinite if there is only one cluster
    excluded         (T,) true where the moment is no part of any step and shaped no cluster:
                     a pause, or a moment of which no cue knows anything
    """

    times: Seconds
    labels: Labels
    distances: Floats
    other_distances: Floats
    excluded: Mask
    n_clusters: int

    def __post_init__(self) -> None:
        per_moment = (self.labels, self.distances, self.other_distances, self.excluded)
        shapes = {self.times.shape, *(values.shape for values in per_moment)}
        if len(shapes) != 1 or self.times.ndim != 1:
            raise ValueError(f"one value per moment is needed everywhere, got shapes {shapes}")

    def __repr__(self) -> str:
        return f"Clustering({len(self.times)} moments in {self.n_clusters} clusters)"
