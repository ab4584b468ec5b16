"""A track's features, averaged over time and brought to one scale: plain numbers, no torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepreel.types import FeatureTrack, Floats


def standardised(track: FeatureTrack, *, average_seconds: float, z_score: bool) -> Floats:
    """Return the features, averaged and z-scored if asked; invalid moments become zero.

    Worked out column by column: an hour of appearance is 74 MB, and there is room for few copies.
    """
    known = track.valid
    average = MovingAverage(track, average_seconds)
    features: Floats = np.empty(track.features.shape, np.float32)
    for number in range(features.shape[1]):
        column = average(np.where(known, track.features[:, number], np.float32(0)))
        if z_score and known.any():
            deviation = float(column[known].std())
            column = (column - column[known].mean()) / (deviation if deviation > 1e-6 else 1.0)
            column[~known] = 0
        features[:, number] = column
    return features


class MovingAverage:
    """Replaces every moment's value by the mean of the valid moments within `seconds` / 2 of it.

    One pair of frames cannot tell hammering from holding a hammer; a beat of it can. A departure
    from the paper, whose features describe single frames.
    """

    def __init__(self, track: FeatureTrack, seconds: float) -> None:
        self.nothing_to_do = seconds <= 0
        self.start = np.searchsorted(track.times, track.times - seconds / 2 - 1e-6)
        self.stop = np.searchsorted(track.times, track.times + seconds / 2 + 1e-6)
        counts = np.concatenate([[0], np.cumsum(track.valid)])
        self.share = 1.0 / np.maximum(counts[self.stop] - counts[self.start], 1)

    def __call__(self, column: Floats) -> NDArray[np.float64]:
        """Average one feature, whose invalid moments are zero; running sums need doubles."""
        if self.nothing_to_do:
            return column.astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)])
        averaged: NDArray[np.float64] = (sums[self.stop] - sums[self.start]) * self.share
        return averaged
