"""Average a track's features over time and z-score them, without importing torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepreel.types import FeatureTrack, Floats, Mask


def standardised(track: FeatureTrack, *, average_seconds: float, z_score: bool) -> Floats:
    """Return the features, optionally averaged and z-scored; invalid moments become zero.

    Computed column by column to save memory: one hour of appearance features is 74 MB.
    """
    valid = track.valid
    average = MovingAverage(track, average_seconds)
    features: Floats = np.empty(track.features.shape, np.float32)
    for number in range(features.shape[1]):
        column = average(np.where(valid, track.features[:, number], np.float32(0)))
        if z_score and valid.any():
            deviation = float(column[valid].std())
            column = (column - column[valid].mean()) / (deviation if deviation > 1e-6 else 1.0)
            column[~valid] = 0
        features[:, number] = column
    return features


class MovingAverage:
    """Replaces every moment's value by the mean of the valid moments within `seconds` / 2 of it.

    A single frame cannot distinguish hammering from holding a hammer, but a second or two can. The
    paper's features describe single frames; ours differ here.
    """

    def __init__(self, track: FeatureTrack, seconds: float) -> None:
        self.is_identity = seconds <= 0
        self.start = np.searchsorted(track.times, track.times - seconds / 2 - 1e-6)
        self.stop = np.searchsorted(track.times, track.times + seconds / 2 + 1e-6)
        counts = np.concatenate([[0], np.cumsum(track.valid)])
        n_valid = counts[self.stop] - counts[self.start]
        self.reaches_valid: Mask = n_valid > 0
        self.share = 1.0 / np.maximum(n_valid, 1)

    def __call__(self, columns: NDArray[np.floating]) -> NDArray[np.float64]:
        """Average one or more features, (T,) or (T, n), whose invalid moments are zero."""
        if self.is_identity:
            return columns.astype(np.float64)
        sums = np.zeros((len(columns) + 1, *columns.shape[1:]))
        np.cumsum(columns, axis=0, dtype=np.float64, out=sums[1:])
        share = self.share.reshape(-1, *[1] * (columns.ndim - 1))
        averaged: NDArray[np.float64] = (sums[self.stop] - sums[self.start]) * share
        return averaged
