"""How many kinds of steps the takes of a task have, found without labels.

The more kinds there are, the better they tell what takes that were left out show (`judge`), but
each one more adds less. The number found is the least that explains most of what any number does.
Where kinds explain nothing, it is what is usual for takes of this length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepreel.config import USUAL_CLUSTERS
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.judge import explained_elsewhere
from stepreel.steps.decoders.timed_points import TimedPoints

NUMBERS: tuple[int, ...] = (*range(2, 15), 16, 18, 20)  # that are tried
LEVEL = 0.7  # of what the best number explains
OTHER_LEVELS = (0.5, 0.85)  # of coarser and finer kinds
REPETITIONS = 2
KINDS_PER_ROOT = 1.8  # times the cube root of the seconds of a take: kinds in a short take


class Number(NamedTuple):
    """How many kinds were found, and what other numbers are natural."""

    found: int
    natural: tuple[int, ...]


def number_of_kinds(takes: Takes, points: TimedPoints, time_weight: float) -> Number:
    """Find the number of kinds, within what was asked for.

    time_weight  how much time counts in finding kinds; infinite: nothing else does
    """
    usual = takes.allowed(usual_number(takes))
    if not np.isfinite(time_weight):
        return Number(usual, ())
    shares = [
        float(
            explained_elsewhere(
                points, number, seed=takes.seed, weights=(time_weight,), repetitions=REPETITIONS
            ).mean()
        )
        for number in NUMBERS
    ]
    if max(shares) <= 0:
        return Number(usual, ())
    reached = [least_number(shares, level) for level in (LEVEL, *OTHER_LEVELS)]
    found = takes.allowed(reached[0])
    others = {number for number in reached if takes.allowed(number) == number}
    return Number(found, tuple(sorted(others - {found})))


def least_number(shares: list[float], level: float) -> int:
    """Return the least number that explains a part of what the best one does.

    >>> least_number([0.1, 0.3, 0.38, 0.4] + [0.4] * 12, 0.7)
    3
    """
    return next(
        number
        for number, share in zip(NUMBERS, shares, strict=True)
        if share >= level * max(shares) - 1e-12
    )


def usual_number(takes: Takes) -> int:
    """Return how many kinds of steps are usual in takes of this length: 7, in short ones fewer."""
    seconds = float(np.median([take.duration_seconds for take in takes.recordings]))
    usual = round(KINDS_PER_ROOT * float(np.cbrt(seconds)))
    return int(np.clip(usual, 2, USUAL_CLUSTERS))
