"""What a storyboard is worth: every step shown, once, and beginning where it really begins.

coverage  a true segment is covered if the moment of a shown step is inside it. Recall = covered /
          true segments, precision = covered / shown steps.
borders   where shown steps begin and end, matched one to one with the changes of the true label
          that are at most τ away; τ is 1 s, 2 s, and 5 % of the recording.

All per recording, in percent, and next to what is reached with the same number of moments or
borders without looking at the recording. `timed_steps` has what is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepreel.evaluation.metrics.timed_steps import ShownSteps, TimedSegments, TrueSteps
from stepreel.evaluation.truth.annotation import ROUNDING
from stepreel.types import Seconds

COVERAGE = "coverage"
TOLERANCES = ("1s", "2s", "5%")
MEASURES = (COVERAGE, *TOLERANCES)
MATCHED_SPLIT, MATCHED_RANDOM = "matched-split", "matched-random"
N_DRAWS = 100
_DRAWN_AT_ONCE = 2_000_000  # points: 16 MB

Points = NDArray[np.float64]
"""(D, N): N points in ascending order, D times"""


class Rates(NamedTuple):
    """In percent."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, n_right: float, n_shown: int, n_true: int) -> Rates:
        """Work out the rates; with nothing to show and nothing shown, all is right.

        For fixed numbers all three are linear in `n_right`, so that its mean gives mean rates.

        >>> Rates.of(2, 4, 2)
        Rates(precision=50.0, recall=100.0, f1=66.66666666666667)
        """
        if n_shown == 0 and n_true == 0:
            return cls(100.0, 100.0, 100.0)
        return cls(
            precision=100 * n_right / n_shown if n_shown else 0.0,
            recall=100 * n_right / n_true if n_true else 0.0,
            f1=200 * n_right / (n_shown + n_true),
        )


NOTHING_SHOWN = Rates(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Measured:
    """One measure of one recording.

    n_shown  shown steps, or predicted borders
    n_true   true segments, or true borders
    nulls    of as many moments or borders: `matched-split` puts them at equal distances,
             `matched-random` anywhere (mean of 100 draws)
    """

    rates: Rates
    n_shown: int
    n_true: int
    nulls: dict[str, Rates]


def tolerance_seconds(tolerance: str, recording_seconds: float) -> float:
    """Return τ.

    >>> tolerance_seconds("2s", 60.0), tolerance_seconds("5%", 60.0)
    (2.0, 3.0)
    """
    if tolerance.endswith("%"):
        return float(tolerance[:-1]) / 100 * recording_seconds
    return float(tolerance[:-1])


def predicted_borders(shown: ShownSteps, start: float, end: float, tau: float) -> Seconds:
    """Return where shown steps begin and end, in ascending order.

    Where a step ends and the next one begins less than `tau` apart, that is one border, in the
    middle: to leave a small gap between steps would otherwise be two guesses for one change. What
    is within `tau` of the recording's start or end is no border. The first rule comes first, so
    that a gap never moves a border across the limit of the second.

    >>> steps = ShownSteps.of_steps([(0.0, 9.8, 5.0), (10.2, 20.0, 15.0), (25.0, 30.0, 27.0)])
    >>> predicted_borders(steps, 0.0, 30.0, tau=1.0)
    array([10., 20., 25.])
    """
    ends, starts = shown.ends[:-1], shown.starts[1:]
    is_one = np.abs(starts - ends) < tau - ROUNDING
    points = [shown.starts[:1], shown.ends[-1:]]
    points += [(ends[is_one] + starts[is_one]) / 2, ends[~is_one], starts[~is_one]]
    borders = np.sort(np.concatenate(points))
    near_an_end = (borders <= start + tau + ROUNDING) | (borders >= end - tau - ROUNDING)
    return borders[~near_an_end]


def count_matches(points: Points, borders: Seconds, tau: float) -> NDArray[np.int64]:
    """Return, for each row of points, how many can be matched one to one within `tau`.

    From the first border to the last, each takes the first point that is free and not too early.
    This is the largest matching: a point that is too early for a border is too early for all later
    ones, and of those it could take, the first is the one that later borders can do without.

    >>> count_matches(np.array([[1.0, 2.0, 9.0]]), np.array([2.0, 3.0]), tau=1.0)
    array([2])
    """
    n_rows = len(points)
    first_in_reach = np.array(
        [np.searchsorted(row, borders - tau - ROUNDING) for row in points]
    ).reshape(n_rows, len(borders))
    padded = np.hstack([points, np.full((n_rows, 1), np.inf)])
    rows, free = np.arange(n_rows), np.zeros(n_rows, np.int64)
    matched = np.zeros(n_rows, np.int64)
    for number, border in enumerate(borders):
        candidate = np.maximum(free, first_in_reach[:, number])
        is_match = padded[rows, candidate] <= border + tau + ROUNDING
        matched += is_match
        free = candidate + is_match
    return matched


def count_covered(moments: Points, segments: TimedSegments) -> NDArray[np.int64]:
    """Return, for each row of moments, how many segments contain at least one of them."""
    return np.array(
        [
            np.count_nonzero(
                np.searchsorted(row, segments.ends - ROUNDING)
                > np.searchsorted(row, segments.starts - ROUNDING)
            )
            for row in moments
        ],
        np.int64,
    )


@dataclass
class RecordingJudge:
    """Measures storyboards of one recording; what chance reaches is worked out once per number.

    seed  of the random moments and borders
    """

    truth: TrueSteps
    seed: int = 0
    _nulls: dict[tuple[str, int], dict[str, Rates]] = field(default_factory=dict)

    def measure(self, shown: ShownSteps) -> dict[str, Measured]:
        """Return all MEASURES of a storyboard; without a shown step, all rates are 0."""
        return {measure: self._measured(measure, shown) for measure in MEASURES}

    def _measured(self, measure: str, shown: ShownSteps) -> Measured:
        if len(shown) == 0:
            nulls = dict.fromkeys((MATCHED_SPLIT, MATCHED_RANDOM), NOTHING_SHOWN)
            return Measured(NOTHING_SHOWN, 0, self._n_true(measure), nulls)
        points = self._points(measure, shown)
        n, rates = len(points), self._rates(measure, [points[None]])
        return Measured(rates, n, self._n_true(measure), self._matched_nulls(measure, n))

    def _n_true(self, measure: str) -> int:
        return len(self.truth.segments if measure == COVERAGE else self.truth.borders)

    def _points(self, measure: str, shown: ShownSteps) -> Seconds:
        if measure == COVERAGE:
            return np.sort(shown.moments)
        return predicted_borders(shown, self.truth.start, self.truth.end, self._tau(measure))

    def _tau(self, measure: str) -> float:
        return tolerance_seconds(measure, self.truth.seconds)

    def _rates(self, measure: str, draws: Iterable[Points]) -> Rates:
        """Return the mean rates over draws of equally many points."""
        counts = []
        for points in draws:
            counts.append(
                count_covered(points, self.truth.segments)
                if measure == COVERAGE
                else count_matches(points, self.truth.borders, self._tau(measure))
            )
            n = points.shape[1]
        return Rates.of(float(np.mean(np.concatenate(counts))), n, self._n_true(measure))

    def _matched_nulls(self, measure: str, n: int) -> dict[str, Rates]:
        if (measure, n) not in self._nulls:
            self._nulls[measure, n] = {
                MATCHED_SPLIT: self._rates(measure, [self._equal_parts(measure, n)[None]]),
                MATCHED_RANDOM: self._rates(measure, self._draws(measure, n)),
            }
        return self._nulls[measure, n]

    def _equal_parts(self, measure: str, n: int) -> Seconds:
        """Return the middles of n equal parts, or the n borders between n + 1 of them.

        All of these borders count, also near the ends of the recording: the number must be equal.
        """
        truth = self.truth
        if measure == COVERAGE:
            return truth.start + truth.seconds * (np.arange(n) + 0.5) / n
        return self._at_moments(truth.start + truth.seconds * np.arange(1, n + 1) / (n + 1))

    def _at_moments(self, borders: Points) -> Points:
        """Move borders to the next moment, where those of a labelling and the true ones are.

        Between moments they would be right less often: of one moment per second, three are within
        a second of a true border, but a border anywhere is within two of its seconds.
        """
        times = self.truth.times
        after = np.searchsorted(times, borders - ROUNDING)
        return times[np.minimum(after, len(times) - 1)]

    def _draws(self, measure: str, n: int) -> Iterator[Points]:
        """Draw n points, N_DRAWS times: moments anywhere, borders where they may be predicted.

        Sums of exponential waiting times are uniform and in order; this is faster than sorting.
        """
        margin = 0.0 if measure == COVERAGE else self._tau(measure)
        start, seconds = self.truth.start + margin, self.truth.seconds - 2 * margin
        rng = np.random.default_rng([self.seed, n])
        at_once = max(1, _DRAWN_AT_ONCE // (n + 1))
        for first in range(0, N_DRAWS, at_once):
            waited = rng.exponential(size=(min(at_once, N_DRAWS - first), n + 1)).cumsum(axis=1)
            points = start + seconds * waited[:, :-1] / waited[:, -1:]
            yield points if measure == COVERAGE else self._at_moments(points)
