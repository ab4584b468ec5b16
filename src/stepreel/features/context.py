"""Context features: what a moment shows, together with what comes shortly before and after it.

Per cue: z-scored over the recording → mean over σ → stacked at t - σ, t and t + σ → principal
components over all takes, whitened. All cues are then concatenated and z-scored per recording, so
that takes by other people or in other rooms are comparable. Nothing is trained, and labels are not
used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepreel.features.standardise import MovingAverage
from stepreel.types import FeatureTrack, Floats, Mask, Recording, Seconds

CONTEXT = "context"
EXPLAINED = 0.95  # share of the variance that the components of a cue explain
MOST_COMPONENTS = 20  # of a cue
MOST_COLUMNS = 64  # wider cues are first reduced to as many components, which saves memory
MOST_EXACT = 2048  # still wider ones are first projected at random, which keeps distances
COLUMNS_AT_ONCE = 64  # bounds the memory of sums over time
NEGLIGIBLE = 1e-9  # eigenvalues below this share of the largest are rounding

Values = NDArray[np.float64]


@dataclass(frozen=True)
class CueBasis:
    """What the features of one cue are projected on; later takes are projected on the same.

    reduction   (D, R) from averaged features to as many columns as are stacked
    mean        (3R,) of the stacked columns
    components  (3R, k) scaled so that projections have variance 1
    """

    reduction: Floats
    mean: Floats
    components: Floats


@dataclass(frozen=True)
class ContextBasis:
    """One `CueBasis` per cue, and σ."""

    window_seconds: float
    cues: Mapping[str, CueBasis]


def fitted_context(
    recordings: Sequence[Recording], *, window_seconds: float, cues: Sequence[str] | None = None
) -> tuple[ContextBasis, list[FeatureTrack]]:
    """Fit the components of every cue to all takes of a task; return also their context features.

    cues  those to use (default: all)
    """
    fitted, parts = {}, []
    for cue in list(recordings[0].tracks) if cues is None else cues:
        tracks = [recording.tracks[cue] for recording in recordings]
        reduction = _reduction(tracks, window_seconds)
        columns = [averaged(track, window_seconds) @ reduction for track in tracks]
        fitted[cue] = _fit_cue(tracks, columns, reduction, window_seconds)
        parts.append(columns)
    basis = ContextBasis(window_seconds, fitted)
    per_recording = zip(recordings, zip(*parts, strict=True), strict=True)
    return basis, [_project(recording, own, basis) for recording, own in per_recording]


def context_of(recordings: Sequence[Recording], basis: ContextBasis) -> list[FeatureTrack]:
    """Return one track of context features per recording."""
    return [
        _project(
            recording,
            [
                averaged(recording.tracks[cue], basis.window_seconds) @ fitted.reduction
                for cue, fitted in basis.cues.items()
            ],
            basis,
        )
        for recording in recordings
    ]


def context_widths(basis: ContextBasis) -> list[int]:
    """Return the number of columns of every cue in a context track."""
    return [cue.components.shape[1] for cue in basis.cues.values()]


def _project(recording: Recording, columns: Sequence[Floats], basis: ContextBasis) -> FeatureTrack:
    """Stack and project the averaged columns of every cue."""
    parts = []
    for own, fitted in zip(columns, basis.cues.values(), strict=True):
        stacked = stack_neighbours(recording.times, own, basis.window_seconds)
        parts.append((stacked - fitted.mean) @ fitted.components)
    known: Mask = np.any([recording.tracks[cue].valid for cue in basis.cues], axis=0)
    features = z_scored(np.concatenate(parts, axis=1), known)
    return FeatureTrack(recording.name, CONTEXT, recording.times, features, known)


def averaged(track: FeatureTrack, window_seconds: float) -> Floats:
    """Return z-scored features, averaged over the window; gaps hold the nearest known values."""
    average = MovingAverage(track, window_seconds)
    features: Floats = np.empty(track.features.shape, np.float32)
    for first in range(0, track.width, COLUMNS_AT_ONCE):
        columns = slice(first, first + COLUMNS_AT_ONCE)
        features[:, columns] = average(z_scored(track.features[:, columns], track.valid))
    # Without a known moment in reach the mean is 0; the nearest moments with one fill the gap.
    reached = np.flatnonzero(average.reaches_valid)
    if len(reached) in (0, len(features)):
        return features
    return features[reached[nearest(track.times[reached], track.times)]]


def nearest(times: Seconds, wanted: Seconds) -> NDArray[np.int64]:
    """Return the position in `times`, which increase, that is nearest to each wanted time.

    >>> nearest(np.array([0.0, 1.0, 5.0]), np.array([-1.0, 0.6, 2.9, 9.0])).tolist()
    [0, 1, 1, 2]
    """
    after = np.clip(np.searchsorted(times, wanted), 1, max(len(times) - 1, 1))
    after = np.minimum(after, len(times) - 1)
    before = np.maximum(after - 1, 0)
    closer_before = np.abs(wanted - times[before]) <= np.abs(times[after] - wanted)
    return np.where(closer_before, before, after).astype(np.int64)


def stack_neighbours(times: Seconds, columns: Floats, window_seconds: float) -> Floats:
    """Return the columns at t - σ, t and t + σ side by side (T, 3R); ends repeat themselves.

    >>> times, columns = np.array([0.0, 1.0, 2.0]), np.array([[1.0], [2.0], [3.0]])
    >>> stack_neighbours(times, columns, 1.0).tolist()
    [[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 3.0]]
    """
    before, after = (
        columns[nearest(times, times + shift)] for shift in (-window_seconds, window_seconds)
    )
    stacked: Floats = np.concatenate([before, columns, after], axis=1)
    return stacked


def z_scored(features: Floats, known: Mask) -> Floats:
    """Z-score every column over the known moments; constant columns and unknown moments are 0."""
    if not known.any():
        return np.zeros(features.shape, np.float32)
    chosen = features[known].astype(np.float64)
    deviation = chosen.std(axis=0)
    scaled = np.zeros(features.shape, np.float32)
    scaled[known] = (chosen - chosen.mean(axis=0)) / np.where(deviation > 1e-6, deviation, np.inf)
    return scaled


def _fit_cue(
    tracks: Sequence[FeatureTrack],
    columns: Sequence[Floats],
    reduction: Floats,
    window_seconds: float,
) -> CueBasis:
    """Fit the components of the stacked columns, over all takes."""
    width = 3 * reduction.shape[1]
    total, products, count = np.zeros(width), np.zeros((width, width)), 0
    for track, own in zip(tracks, columns, strict=True):
        points = stack_neighbours(track.times, own, window_seconds)[track.valid].astype(np.float64)
        total += points.sum(axis=0)
        products += points.T @ points
        count += len(points)
    if not count:
        return CueBasis(reduction, np.zeros(width, np.float32), np.zeros((width, 1), np.float32))
    mean = total / count
    variances, components = principal_components(products / count - np.outer(mean, mean))
    share = np.cumsum(variances) / max(float(variances.sum()), 1e-12)
    count = min(MOST_COMPONENTS, int(np.searchsorted(share, EXPLAINED)) + 1)
    count = max(1, min(count, int((variances > NEGLIGIBLE * variances[0]).sum())))
    scales = np.sqrt(np.maximum(variances[:count], 1e-12))
    return CueBasis(
        reduction, mean.astype(np.float32), (components[:, :count] / scales).astype(np.float32)
    )


def _reduction(tracks: Sequence[FeatureTrack], window_seconds: float) -> Floats:
    """Return (D, R): nothing is lost of narrow cues; of wide ones the components that vary most."""
    width = tracks[0].width
    if width <= MOST_COLUMNS:
        return np.eye(width, dtype=np.float32)
    first = _random_projection(width) if width > MOST_EXACT else None
    size = width if first is None else MOST_EXACT
    total, count = np.zeros((size, size)), 0
    for track in tracks:
        columns = averaged(track, window_seconds)[track.valid]
        if first is not None:
            columns = columns @ first
        total += columns.T @ columns
        count += len(columns)
    components = principal_components(total / max(count, 1), most=MOST_COLUMNS)[1]
    chosen: Floats = components.astype(np.float32)
    return chosen if first is None else first @ chosen


def _random_projection(width: int) -> Floats:
    rng = np.random.default_rng(0)
    return rng.standard_normal((width, MOST_EXACT), dtype=np.float32) / np.float32(
        np.sqrt(MOST_EXACT)
    )


def principal_components(covariance: Values, *, most: int | None = None) -> tuple[Values, Values]:
    """Return variances (k,), the largest first, and components (D, k), each with a fixed sign."""
    from scipy.linalg import eigh

    width = len(covariance)
    least = 0 if most is None else max(0, width - most)
    variances, components = eigh(covariance, subset_by_index=(least, width - 1))
    variances, components = variances[::-1], components[:, ::-1]
    largest = components[np.abs(components).argmax(axis=0), np.arange(components.shape[1])]
    return np.maximum(variances, 0.0), components * np.where(largest < 0, -1.0, 1.0)
