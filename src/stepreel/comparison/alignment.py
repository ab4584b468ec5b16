"""Align a take to the usual order: which of its visits are in their place, and which are not.

What is in its place is the heaviest common subsequence of the take and the usual order: as many
visits as possible, and of equally many those that last longest. A usual step that is left over
while the take has a visit of its kind left over was moved; others are skipped, repeated or added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepreel.comparison.usual_order import UsualOrder, numbered_visits

Pair = tuple[int, int]  # a place in the take, a place in the usual order


@dataclass(frozen=True)
class Move:
    """A usual step in another place.

    pair    where it is in the take, and in the usual order
    passed  the pairs of the usual steps it went past, where most takes keep their order
    """

    pair: Pair
    passed: list[Pair]


@dataclass(frozen=True)
class Alignment:
    """One take and the usual order, both by place, from 0.

    in_place  pairs of a visit and its usual step, in order
    moves     usual steps that most takes do elsewhere
    missing   usual steps without a visit
    surplus   visits without a usual step
    """

    in_place: list[Pair]
    moves: list[Move]
    missing: list[int]
    surplus: list[int]


def align(take: Sequence[int], seconds: Sequence[float], usual: UsualOrder) -> Alignment:
    """Align a take, given as the kinds of its visits and how long each lasts."""
    in_place = heaviest_common(take, usual.kinds, seconds)
    visits = [i for i in range(len(take)) if i not in {i for i, _ in in_place}]
    missing = []
    elsewhere: list[Pair] = []
    for place in [u for u in range(len(usual.kinds)) if u not in {u for _, u in in_place}]:
        found = next((i for i in visits if take[i] == usual.kinds[place]), None)
        if found is None:
            missing.append(place)
        else:
            visits.remove(found)
            elsewhere.append((found, place))
    moves, settled = _moves(in_place, elsewhere, usual, take)
    return Alignment(sorted([*in_place, *settled]), moves, missing, visits)


def _moves(
    in_place: Sequence[Pair], elsewhere: Sequence[Pair], usual: UsualOrder, take: Sequence[int]
) -> tuple[list[Move], list[Pair]]:
    """Return moves, and pairs that are elsewhere only where takes have no common order."""
    moves, settled = [], []
    visits = {step: visit for visit, step in enumerate(numbered_visits(take))}

    def departs(place: int, other: int) -> bool:
        """Tell whether the take counts among the few that do two steps the other way round."""
        first, second = (visits.get(usual.steps[u]) for u in sorted((place, other)))
        is_reversed = first is not None and second is not None and first > second
        return is_reversed and usual.is_settled(place, other)

    done = [*in_place, *elsewhere]
    for pair in elsewhere:
        passed = [
            other
            for other in done
            if (pair[0] < other[0]) != (pair[1] < other[1])
            and usual.kinds[pair[1]] != usual.kinds[other[1]]
            and departs(pair[1], other[1])
        ]
        if passed:
            moves.append(Move(pair, sorted(passed)))
        else:
            settled.append(pair)
    return moves, settled


def heaviest_common(
    take: Sequence[int], usual: Sequence[int], seconds: Sequence[float]
) -> list[Pair]:
    """Return the pairs of the longest common subsequence; of equally long ones, the one that lasts.

    >>> heaviest_common([0, 1, 0, 2], [0, 1, 2], [1, 1, 1, 1])
    [(0, 0), (1, 1), (3, 2)]
    >>> heaviest_common([0, 0], [0], [1, 5])
    [(1, 0)]
    """
    total = sum(seconds) or 1.0
    best = np.zeros((len(take) + 1, len(usual) + 1))
    steps = np.array(usual, np.int64)
    for i, kind in enumerate(take):
        # One more pair counts more than all seconds together.
        paired = best[i, :-1] + np.where(steps == kind, 1 + 1e-3 * seconds[i] / total, -np.inf)
        best[i + 1, 1:] = np.maximum.accumulate(np.maximum(best[i, 1:], paired))
    return _trace(best, take, usual)


def _trace(
    best: np.ndarray[Any, np.dtype[np.float64]], take: Sequence[int], usual: Sequence[int]
) -> list[Pair]:
    pairs = []
    i, j = len(take), len(usual)
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]
