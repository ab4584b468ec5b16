"""Find the pauses between steps: moments that look alike wherever one step gives way to another.

Hands lie down, the bench is looked over, a tool is fetched: whatever it is, it is what the borders
between clusters have in common and what the steps on either side of them lack. That difference is
one direction in the space of raw features. Each border in turn is judged by the direction of all
the others: where they do not agree, the recording has no such pauses and none are reported.

Not part of the paper, whose clusters share out every moment. No label is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepreel.standardise import standardised
from stepreel.types import Clustering, FeatureTrack, Floats, Mask, Seconds

AVERAGE_SECONDS = 1.0
SHORTEST_STRETCH_SECONDS = 2.0  # of one cluster, to count as a step with borders
BORDER_SECONDS = 0.75  # first guess: so near a border is pause
REACH_SECONDS = 3.0  # later rounds: what of a pause may speak for its border
SHORTEST_PAUSE_SECONDS = 1.0
ROUNDS = 8
LEVEL = 0.5  # of the typical difference between pause and step
AGREEMENT = 0.8  # share of comparisons that borders must win against middles of steps
FEWEST_BORDERS = 4
MOST_PAUSE = 0.6  # of all moments; more of it than work is no pause

Vectors = NDArray[np.float64]


def find_pauses(
    recordings: Sequence[Mapping[str, FeatureTrack]], clusterings: Sequence[Clustering]
) -> list[Mask]:
    """Return, per recording of one task, which moments are pauses; none if borders disagree."""
    pairs = zip(recordings, clusterings, strict=True)
    takes = [_Take(tracks, clustering) for tracks, clustering in pairs]
    bordered = [take for take in takes if len(take.borders) > 0]
    if sum(len(take.borders) for take in bordered) < FEWEST_BORDERS:
        return [take.nowhere for take in takes]
    for take in bordered:
        take.guess_from_borders()
    if agreement(bordered) < AGREEMENT:
        return [take.nowhere for take in takes]
    for _ in range(ROUNDS):
        differences = np.concatenate([take.differences() for take in bordered])
        direction = differences.sum(axis=0)
        level = LEVEL * float(np.median(differences @ direction))
        for take in bordered:
            take.mark_pauses(direction, level)
    pauses = [take.pause if len(take.borders) > 0 else take.nowhere for take in takes]
    if float(np.mean(np.concatenate(pauses))) > MOST_PAUSE:
        return [take.nowhere for take in takes]
    return pauses


def agreement(takes: Sequence[_Take]) -> float:
    """Return how often a border looks more like the other borders than a step's middle does.

    One comparison for each of the two steps beside a border, with the direction of all others.
    """
    differences = np.concatenate([take.differences() for take in takes])
    total = differences.sum(axis=0)
    wins: list[bool] = []
    offset = 0
    for take in takes:
        own = differences[offset : offset + len(take.borders)]
        along_total, along_own = take.along(total), take.along(own.T)
        for border, direction in enumerate(total - own):
            projected = along_total - along_own[:, border]
            wins += take.border_beats_middles(border, projected, direction)
        offset += len(take.borders)
    return float(np.mean(wins))


class _Take:
    """One recording: its stretches of one cluster, the borders between, and what is pause."""

    def __init__(self, tracks: Mapping[str, FeatureTrack], clustering: Clustering) -> None:
        self.times = clustering.times
        self.features = _side_by_side(tracks)
        self.nowhere = np.zeros(len(self.times), np.bool_)
        stretches = _stretches(clustering)
        middles = [(self.times[s.start] + self.times[s.stop - 1]) / 2 for s in stretches]
        self.middles: Seconds = np.array(middles, np.float64)
        self.borders: Seconds = np.array(
            [(self.times[a.stop - 1] + self.times[b.start]) / 2 for a, b in pairwise(stretches)]
        )
        if len(self.borders) > 0:
            self.step = np.searchsorted(self.borders, self.times)
            before = np.maximum(self.step - 1, 0)
            after = np.minimum(self.step, len(self.borders) - 1)
            to_before = np.abs(self.times - self.borders[before])
            to_after = np.abs(self.times - self.borders[after])
            self.nearest_border = np.where(to_before <= to_after, before, after)
            self.to_border = np.minimum(to_before, to_after)

    def along(self, direction: Vectors) -> Vectors:
        """Project every moment; in single precision, or numpy would copy all features."""
        projected: Vectors = (self.features @ direction.astype(np.float32)).astype(np.float64)
        return projected

    def guess_from_borders(self) -> None:
        """Take the surroundings of borders for pauses, and the middle half of a step for it."""
        self.pause: Mask = self.to_border <= BORDER_SECONDS
        edges = np.concatenate([self.times[:1], self.borders, self.times[-1:]])
        lengths = np.diff(edges)[self.step]
        self.work: Mask = np.abs(self.times - self.middles[self.step]) <= lengths / 4

    def differences(self) -> Vectors:
        """Return, per border, the mean of its pause less that of the two steps beside it."""
        self.centres: Vectors = np.array(
            [self._mean(self.work & (self.step == n)) for n in range(len(self.middles))]
        )
        between = (self.centres[:-1] + self.centres[1:]) / 2
        found = np.zeros_like(between)
        for border in range(len(self.borders)):
            here = self.pause & (self.nearest_border == border) & (self.to_border <= REACH_SECONDS)
            if here.any():
                found[border] = self._mean(here) - between[border]
        return found

    def mark_pauses(self, direction: Vectors, level: float) -> None:
        """Call pause what lies further along `direction` than both steps beside it."""
        projected, centres = self.along(direction), self.centres @ direction
        last = len(self.borders)
        towards = np.where(self.times < self.middles[self.step], self.step - 1, self.step + 1)
        beside = centres[np.clip(towards, 0, last)]
        above = projected - np.maximum(centres[self.step], beside)
        self.pause = self._tidy(above > level)
        # A step that would be all pause keeps the moments it was judged by.
        has_work = np.bincount(self.step[~self.pause], minlength=last + 1) > 0
        self.work = np.where(has_work[self.step], ~self.pause, self.work)

    def border_beats_middles(
        self, border: int, projected: Vectors, direction: Vectors
    ) -> list[bool]:
        """Compare the best second at a border with the best at the middle of either step."""
        beside = self.centres[border : border + 2] @ direction
        above = _running_mean(projected - beside.max(), self.times)
        at_border = self._best(above, self.borders[border])
        return [bool(at_border > self._best(above, self.middles[n])) for n in (border, border + 1)]

    def _best(self, values: Vectors, time: float) -> float:
        return float(values[np.abs(self.times - time) <= 2 * BORDER_SECONDS].max(initial=-np.inf))

    def _mean(self, mask: Mask) -> Vectors:
        mean: Vectors = self.features[mask].mean(axis=0, dtype=np.float64)
        return mean

    def _tidy(self, mask: Mask) -> Mask:
        """Close short holes, then drop short runs."""
        mask = mask.copy()
        for hole in _runs(~mask):
            if self._seconds(hole) < SHORTEST_PAUSE_SECONDS:
                mask[hole] = True
        for run in _runs(mask):
            if self._seconds(run) < SHORTEST_PAUSE_SECONDS:
                mask[run] = False
        return mask

    def _seconds(self, run: slice) -> float:
        spacing = float(np.median(np.diff(self.times)))
        return float(self.times[run.stop - 1] - self.times[run.start]) + spacing


def _side_by_side(tracks: Mapping[str, FeatureTrack]) -> Floats:
    """Return all cues' features, z-scored, every cue with the same weight."""
    parts = []
    for track in tracks.values():
        part = standardised(track, average_seconds=AVERAGE_SECONDS, z_score=True)
        part /= np.sqrt(np.float32(track.width))
        parts.append(part)
    return np.concatenate(parts, axis=1)


def _stretches(clustering: Clustering) -> list[slice]:
    """Return the runs of one cluster that last long enough."""
    times, labels = clustering.times, clustering.labels
    cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    spacing = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    return [
        slice(a, b)
        for a, b in pairwise(cuts)
        if labels[a] >= 0 and times[b - 1] - times[a] + spacing >= SHORTEST_STRETCH_SECONDS
    ]


def _runs(mask: Mask) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _running_mean(values: Vectors, times: Seconds) -> Vectors:
    """Average over about a second."""
    count = max(1, round(1.0 / float(np.median(np.diff(times)))))
    mean: Vectors = np.convolve(values, np.ones(count) / count, "same")
    return mean
