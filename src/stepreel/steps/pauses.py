"""Find pauses between steps: moments that look similar at all borders between steps.

In a pause, hands rest, the bench is looked over or a tool is fetched. Whatever it is, the borders
between clusters have it in common, and the steps on either side do not. This difference is a
direction in the space of raw features. Each border is tested with the direction computed from the
others: if borders do not agree, the recordings have no such pauses and none are reported.

Not part of the paper, which assigns every moment to a cluster. Labels are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepreel.features.standardise import standardised
from stepreel.types import Clustering, FeatureTrack, Floats, Mask, Seconds, moment_seconds, runs

AVERAGE_SECONDS = 1.0
SHORTEST_STRETCH_SECONDS = 2.0  # shorter runs of one cluster are not steps with borders
BORDER_SECONDS = 0.75  # initial pauses: moments this close to a border
JUDGED_SECONDS = 2.0  # search radius for the most pause-like second at a border or middle
REACH_SECONDS = 3.0  # only pause moments this close to a border are averaged for it
SHORTEST_PAUSE_SECONDS = 1.0
ROUNDS = 8
LEVEL = 0.5  # threshold, as a fraction of the typical difference between pause and step
AGREEMENT = 0.65  # fraction of comparisons that borders must win against middles of steps
DRAWS = 40  # sets of random borders for the test of significance
MOST_DRAWS_AS_GOOD = 2  # of them may agree as well as the actual borders (5 %)
FEWEST_BORDERS = 4
MOST_PAUSE = 0.6  # of all moments; if there are more, they are not pauses

Vectors = NDArray[np.float64]


def find_pauses(
    recordings: Sequence[Mapping[str, FeatureTrack]], clusterings: Sequence[Clustering]
) -> list[Mask]:
    """Return the mask of pauses of every recording of a task; all false if borders disagree."""
    no_pauses = [np.zeros(len(clustering.times), np.bool_) for clustering in clusterings]
    borders = [find_borders(clustering) for clustering in clusterings]
    bordered = [number for number, times in enumerate(borders) if len(times) > 0]
    if sum(len(times) for times in borders) < FEWEST_BORDERS:
        return no_pauses
    takes = [
        _BorderedRecording(clusterings[n].times, _concatenate_cues(recordings[n]), borders[n])
        for n in bordered
    ]
    if not have_pauses(takes):
        return no_pauses
    for _ in range(ROUNDS):
        differences = np.concatenate([take.differences() for take in takes])
        direction = differences.sum(axis=0)
        level = LEVEL * float(np.median(differences @ direction))
        for take in takes:
            take.mark_pauses(direction, level)
    pauses = list(no_pauses)
    for number, take in zip(bordered, takes, strict=True):
        pauses[number] = take.pause
    return no_pauses if float(np.mean(np.concatenate(pauses))) > MOST_PAUSE else pauses


def find_borders(clustering: Clustering) -> Seconds:
    """Return the times of the borders between sufficiently long runs of one cluster."""
    times, labels = clustering.times, clustering.labels
    cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    shortest = SHORTEST_STRETCH_SECONDS - moment_seconds(times)
    stretches = [(a, b) for a, b in pairwise(cuts) if times[b - 1] - times[a] >= shortest]
    return np.array([(times[b - 1] + times[c]) / 2 for (_, b), (c, _) in pairwise(stretches)])


def have_pauses(takes: Sequence[_BorderedRecording]) -> bool:
    """Return whether borders agree often enough, and more often than random borders do."""
    actual = agreement(takes)
    if actual < AGREEMENT:
        return False
    rng = np.random.default_rng(0)
    as_good = 0
    for _ in range(DRAWS):
        as_good += agreement([take.with_random_borders(rng) for take in takes]) >= actual
        if as_good > MOST_DRAWS_AS_GOOD:
            return False
    return True


def agreement(takes: Sequence[_BorderedRecording]) -> float:
    """Return how often a border looks more like the other borders than the middles of steps do.

    Every border is compared with the better of the middles of any two successive steps of its
    recording, because there are two steps around it, too; by chance it wins half of the time. The
    direction is computed from all borders except this one and its two neighbours, whose differences
    contain the same steps.
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
    """One recording: its features, the borders between its steps, and the current pauses.

    Initially, moments around borders are pause, and the middle half of every step is work.
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
        """Return the recording with the same number of random borders, with no step too short."""
        count = len(self.borders)
        apart = SHORTEST_STRETCH_SECONDS * np.arange(1, count + 1)
        free = max(self.times[-1] - self.times[0] - SHORTEST_STRETCH_SECONDS * (count + 1), 0.0)
        places = self.times[0] + apart + np.sort(rng.random(count)) * free
        return _BorderedRecording(self.times, self.features, places)

    def differences(self) -> Vectors:
        """Return, per border, the mean features of its pause minus those of the steps around it.

        Zero where the border has no pause moments or one of the steps has no work moments.
        """
        last = len(self.borders)
        near_border = self.pause & (self.to_border <= REACH_SECONDS)
        pauses, has_pause = self._means(near_border, self.nearest_border, last)
        self.centres, has_work = self._means(self.work, self.step, last + 1)
        between = (self.centres[:-1] + self.centres[1:]) / 2
        has_all = has_pause & has_work[:-1] & has_work[1:]
        return np.where(has_all[:, None], pauses - between, 0.0)

    def mark_pauses(self, direction: Vectors, level: float) -> None:
        """Mark as pause the moments farther along `direction` than both steps around them."""
        projected = self.features @ direction.astype(
            np.float32
        )  # float32, to avoid a float64 copy of the features
        centres, last = self.centres @ direction, len(self.borders)
        towards = np.where(self.times < self.middles[self.step], self.step - 1, self.step + 1)
        beside = centres[np.clip(towards, 0, last)]
        above = projected - np.maximum(centres[self.step], beside)
        self.pause = self._tidy(above > level)
        # A step without any work left keeps its previous work moments.
        has_work = np.bincount(self.step[~self.pause], minlength=last + 1) > 0
        self.work = np.where(has_work[self.step], ~self.pause, self.work)

    def best_seconds(self, places: Seconds, directions: Vectors) -> Vectors:
        """Return (places, directions): the highest mean over one second near each place."""
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
        """Fill short gaps, then remove short runs."""
        mask = mask.copy()
        for gap in runs(~mask):
            if self._seconds(gap) < SHORTEST_PAUSE_SECONDS:
                mask[gap] = True
        for run in runs(mask):
            if self._seconds(run) < SHORTEST_PAUSE_SECONDS:
                mask[run] = False
        return mask

    def _seconds(self, run: slice) -> float:
        return float(self.times[run.stop - 1] - self.times[run.start]) + self.spacing


def _concatenate_cues(tracks: Mapping[str, FeatureTrack]) -> Floats:
    """Return the z-scored features of all cues concatenated, every cue with the same weight."""
    parts = []
    for track in tracks.values():
        part = standardised(track, average_seconds=AVERAGE_SECONDS, z_score=True)
        part /= np.sqrt(np.float32(track.width))
        parts.append(part)
    return np.concatenate(parts, axis=1)
