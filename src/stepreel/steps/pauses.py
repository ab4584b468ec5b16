"""Find the pauses between steps: moments that look alike wherever one step gives way to another.

Hands lie down, the bench is looked over, a tool is fetched: whatever it is, it is what the borders
between clusters have in common and what the steps on either side of them lack. That difference is
one direction in the space of raw features. Each border is judged by the direction of the others:
where they do not agree, the recording has no such pauses and none are reported.

Not part of the paper, whose clusters share out every moment. No label is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepreel.features.standardise import standardised
from stepreel.types import Clustering, FeatureTrack, Floats, Mask, Seconds, moment_seconds, runs

AVERAGE_SECONDS = 1.0
SHORTEST_STRETCH_SECONDS = 2.0  # of one cluster, to count as a step with borders
BORDER_SECONDS = 0.75  # first guess: so near a border is pause
JUDGED_SECONDS = 2.0  # so near a border or middle its most pause-like second is looked for
REACH_SECONDS = 3.0  # later rounds: what of a pause may speak for its border
SHORTEST_PAUSE_SECONDS = 1.0
ROUNDS = 8
LEVEL = 0.5  # of the typical difference between pause and step
AGREEMENT = 0.65  # share of comparisons that borders must win against middles of steps
DRAWS = 40  # of borders at random; one in twenty at most may agree as well as the true ones
MOST_DRAWS_AS_GOOD = 2
FEWEST_BORDERS = 4
MOST_PAUSE = 0.6  # of all moments; more of it than work is no pause

Vectors = NDArray[np.float64]


def find_pauses(
    recordings: Sequence[Mapping[str, FeatureTrack]], clusterings: Sequence[Clustering]
) -> list[Mask]:
    """Return, per recording of one task, which moments are pauses; none if borders disagree."""
    none = [np.zeros(len(clustering.times), np.bool_) for clustering in clusterings]
    borders = [find_borders(clustering) for clustering in clusterings]
    bordered = [number for number, found in enumerate(borders) if len(found) > 0]
    if sum(len(found) for found in borders) < FEWEST_BORDERS:
        return none
    takes = [
        _BorderedRecording(clusterings[n].times, _side_by_side(recordings[n]), borders[n])
        for n in bordered
    ]
    if not have_pauses(takes):
        return none
    for _ in range(ROUNDS):
        differences = np.concatenate([take.differences() for take in takes])
        direction = differences.sum(axis=0)
        level = LEVEL * float(np.median(differences @ direction))
        for take in takes:
            take.mark_pauses(direction, level)
    found = dict(zip(bordered, (take.pause for take in takes), strict=True))
    pauses = [found.get(number, nowhere) for number, nowhere in enumerate(none)]
    return none if float(np.mean(np.concatenate(pauses))) > MOST_PAUSE else pauses


def find_borders(clustering: Clustering) -> Seconds:
    """Return the times between stretches of one cluster, those that last long enough."""
    times, labels = clustering.times, clustering.labels
    cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    shortest = SHORTEST_STRETCH_SECONDS - moment_seconds(times)
    stretches = [(a, b) for a, b in pairwise(cuts) if times[b - 1] - times[a] >= shortest]
    return np.array([(times[b - 1] + times[c]) / 2 for (_, b), (c, _) in pairwise(stretches)])


def have_pauses(takes: Sequence[_BorderedRecording]) -> bool:
    """Tell whether borders agree: often enough, and more than borders drawn at random would."""
    found = agreement(takes)
    if found < AGREEMENT:
        return False
    rng = np.random.default_rng(0)
    as_good = 0
    for _ in range(DRAWS):
        as_good += agreement([take.with_random_borders(rng) for take in takes]) >= found
        if as_good > MOST_DRAWS_AS_GOOD:
            return False
    return True


def agreement(takes: Sequence[_BorderedRecording]) -> float:
    """Return how often a border looks more like the other borders than the middles of steps do.

    Every border is compared with the middles of any two successive steps of its recording, because
    around it, too, two steps can be seen; without anything in common it wins every other time. The
    direction is that of all borders but this one and its two neighbours, whose differences contain
    the same steps.
    """
    per_take = [take.differences() for take in takes]
    total = np.sum([differences.sum(axis=0) for differences in per_take], axis=0)
    shares = []
    for take, differences in zip(takes, per_take, strict=True):
        padded = np.pad(differences, ((1, 1), (0, 0)))
        others = total - (padded[:-2] + padded[1:-1] + padded[2:])
        at_middles = take.best_seconds(take.middles, others)  # (steps, borders)
        at_middles = np.maximum(at_middles[:-1], at_middles[1:])
        at_borders = take.best_seconds(take.borders, others).diagonal()
        shares.append((at_borders > at_middles).mean(axis=0))
    return float(np.mean(np.concatenate(shares)))


class _BorderedRecording:
    """One recording: its features, the borders between its steps, and what is pause so far.

    To begin with, the surroundings of borders are pause, and the middle half of a step is work.
    """

    def __init__(self, times: Seconds, features: Floats, borders: Seconds) -> None:
        self.times, self.features, self.borders = times, features, borders
        self.spacing = moment_seconds(times)
        ends = times[[0, -1]] + np.array([-0.5, 0.5]) * self.spacing
        edges = np.concatenate([ends[:1], borders, ends[1:]])
        self.middles: Seconds = (edges[:-1] + edges[1:]) / 2
        self.step = np.searchsorted(borders, times)
        before, after = np.maximum(self.step - 1, 0), np.minimum(self.step, len(borders) - 1)
        to_before, to_after = np.abs(times - borders[before]), np.abs(times - borders[after])
        self.nearest_border = np.where(to_before <= to_after, before, after)
        self.to_border = np.minimum(to_before, to_after)
        self.pause: Mask = self.to_border <= BORDER_SECONDS
        from_middle = np.abs(times - self.middles[self.step])
        self.work: Mask = from_middle <= np.diff(edges)[self.step] / 4

    def with_random_borders(self, rng: np.random.Generator) -> _BorderedRecording:
        """Return the same recording with as many borders elsewhere, no step too short."""
        count = len(self.borders)
        apart = SHORTEST_STRETCH_SECONDS * np.arange(1, count + 1)
        free = max(self.times[-1] - self.times[0] - SHORTEST_STRETCH_SECONDS * (count + 1), 0.0)
        places = self.times[0] + apart + np.sort(rng.random(count)) * free
        return _BorderedRecording(self.times, self.features, places)

    def differences(self) -> Vectors:
        """Return, per border, the mean of its pause less that of the two steps beside it.

        Zero where there is no moment to speak for the border or for one of the steps.
        """
        last = len(self.borders)
        here = self.pause & (self.to_border <= REACH_SECONDS)
        pauses, has_pause = self._means(here, self.nearest_border, last)
        self.centres, has_work = self._means(self.work, self.step, last + 1)
        between = (self.centres[:-1] + self.centres[1:]) / 2
        known = has_pause & has_work[:-1] & has_work[1:]
        return np.where(known[:, None], pauses - between, 0.0)

    def mark_pauses(self, direction: Vectors, level: float) -> None:
        """Call pause what lies further along `direction` than both steps beside it."""
        projected = self.features @ direction.astype(np.float32)  # in doubles: a copy of it all
        centres, last = self.centres @ direction, len(self.borders)
        towards = np.where(self.times < self.middles[self.step], self.step - 1, self.step + 1)
        beside = centres[np.clip(towards, 0, last)]
        above = projected - np.maximum(centres[self.step], beside)
        self.pause = self._tidy(above > level)
        # A step that would be all pause keeps the moments it was judged by.
        has_work = np.bincount(self.step[~self.pause], minlength=last + 1) > 0
        self.work = np.where(has_work[self.step], ~self.pause, self.work)

    def best_seconds(self, places: Seconds, directions: Vectors) -> Vectors:
        """Return (places, directions): how far the best second near each place reaches."""
        count = max(1, round(2 * JUDGED_SECONDS / self.spacing))
        first = np.searchsorted(self.times, places - JUDGED_SECONDS)
        rows = np.clip(first[:, None] + np.arange(count), 0, len(self.times) - 1)
        along = self.features[rows.ravel()] @ directions.T.astype(np.float32)
        reached = along.reshape(*rows.shape, len(directions)).cumsum(axis=1, dtype=np.float64)
        second = min(max(1, round(1.0 / self.spacing)), count)
        reached = np.concatenate([np.zeros_like(reached[:, :1]), reached], axis=1)
        best: Vectors = (reached[:, second:] - reached[:, :-second]).max(axis=1) / second
        return best

    def _means(self, mask: Mask, group: NDArray[np.int64], count: int) -> tuple[Vectors, Mask]:
        """Return the mean features of the masked moments of each group, and which have any."""
        means = np.zeros((count, self.features.shape[1]))
        has_any = np.zeros(count, np.bool_)
        rows = np.flatnonzero(mask)
        for members in np.split(rows, np.flatnonzero(np.diff(group[rows])) + 1):
            if len(members) > 0:
                means[group[members[0]]] = self.features[members].mean(axis=0, dtype=np.float64)
                has_any[group[members[0]]] = True
        return means, has_any

    def _tidy(self, mask: Mask) -> Mask:
        """Close short holes, then drop short runs."""
        mask = mask.copy()
        for hole in runs(~mask):
            if self._seconds(hole) < SHORTEST_PAUSE_SECONDS:
                mask[hole] = True
        for run in runs(mask):
            if self._seconds(run) < SHORTEST_PAUSE_SECONDS:
                mask[run] = False
        return mask

    def _seconds(self, run: slice) -> float:
        return float(self.times[run.stop - 1] - self.times[run.start]) + self.spacing


def _side_by_side(tracks: Mapping[str, FeatureTrack]) -> Floats:
    """Return all cues' features, z-scored, every cue with the same weight."""
    parts = []
    for track in tracks.values():
        part = standardised(track, average_seconds=AVERAGE_SECONDS, z_score=True)
        part /= np.sqrt(np.float32(track.width))
        parts.append(part)
    return np.concatenate(parts, axis=1)
