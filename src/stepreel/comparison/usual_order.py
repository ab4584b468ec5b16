"""Which steps are usual, and the order of them with which the takes agree most.

A step here is a kind and the number of its visit: the second visit of a kind is another step than
the first, so that a task may contain a kind twice. A step is usual if at least half of the takes
have it. The order is Kemeny's: of all orders, the one with the fewest disagreements, counted over
takes and pairs of steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

Counts = np.ndarray[Any, np.dtype[np.int64]]
Step = tuple[int, int]  # a kind, and the number of its visit

MOST_EXACT = 12  # steps whose best order is found among all orders
MOST_PASSES = 30  # over more of them, when the order is improved step by step


@dataclass(frozen=True)
class UsualOrder:
    """The usual steps in order.

    kinds   the kind of each
    before  (n, n) in how many takes one step comes before another, in this order
    n_with  in how many takes each step occurs, usual or not
    """

    kinds: list[int]
    before: Counts
    n_with: Counter[Step]

    @property
    def steps(self) -> list[Step]:
        """The usual steps: kinds with the numbers of their visits."""
        return numbered_visits(self.kinds)

    def is_settled(self, first: int, second: int) -> bool:
        """Tell whether most takes that have two steps, by place, do them in the usual order."""
        low, high = sorted((first, second))
        return bool(self.before[low, high] > self.before[high, low])


def find_usual_order(takes: Sequence[Sequence[int]]) -> UsualOrder:
    """Find the usual order of takes, given as sequences of kinds.

    >>> find_usual_order([[0, 1, 2], [0, 2, 1], [0, 1, 2, 0]]).kinds
    [0, 1, 2]
    """
    numbered = [numbered_visits(take) for take in takes]
    n_with = Counter(step for steps in numbered for step in steps)
    # In the order of their first appearance: what kinds are called must not decide.
    usual = [step for step in n_with if 2 * n_with[step] >= len(takes)]
    before, first_take = _count_precedence(usual, numbered)
    order = _least_disagreement(before, first_take, usual)
    return UsualOrder([usual[i][0] for i in order], before[np.ix_(order, order)], n_with)


def numbered_visits(kinds: Sequence[int]) -> list[Step]:
    """Return a sequence of kinds with the number of each one's visit.

    >>> numbered_visits([4, 7, 4])
    [(4, 1), (7, 1), (4, 2)]
    """
    seen: Counter[int] = Counter()
    steps = []
    for kind in kinds:
        seen[kind] += 1
        steps.append((kind, seen[kind]))
    return steps


def _count_precedence(
    usual: Sequence[Step], takes: Sequence[Sequence[Step]]
) -> tuple[Counts, Counts]:
    """Count the takes in which one step comes before another; the second only the first take's.

    The first take of two steps is the first one that has both: it decides where counts are equal.
    """
    places = {step: place for place, step in enumerate(usual)}
    before = np.zeros((len(usual), len(usual)), np.int64)
    first = np.zeros_like(before)
    for take in takes:
        order = [places[step] for step in take if step in places]
        of_take = np.zeros_like(before)
        for number, place in enumerate(order):
            of_take[place, order[number + 1 :]] = 1
        first = np.where((first == 0) & (first.T == 0), of_take, first)
        before += of_take
    return before, first


def _least_disagreement(before: Counts, first_take: Counts, usual: Sequence[Step]) -> list[int]:
    """Return the order in which the fewest takes disagree with the fewest pairs of steps."""
    n = len(usual)
    kinds = np.array([kind for kind, _ in usual], np.int64)
    numbers = np.array([number for _, number in usual], np.int64)
    is_earlier_visit = (kinds[:, None] == kinds) & (numbers[:, None] < numbers)
    # One disagreement counts more than all ties together; visits of a kind are never exchanged.
    wish = (n * n + 1) * before + first_take + (n * n + 1) ** 2 * is_earlier_visit
    order: list[int] = []
    for group in _groups(wish):
        inside = wish[np.ix_(group, group)]
        found = _best(inside) if len(group) <= MOST_EXACT else _improved(inside)
        order += [group[i] for i in found]
    return order


def _groups(wish: Counts) -> list[list[int]]:
    """Return groups of steps such that every step of a group goes before those of later groups.

    In these groups a majority is a circle: a before b, b before c, c before a. Between them, the
    best order follows the majority (Condorcet's criterion, extended to groups).
    """
    if not len(wish):
        return []
    is_majority = wish >= wish.T
    count, names = connected_components(is_majority, directed=True, connection="strong")
    n_beaten = (wish > wish.T).sum(axis=1)
    groups = [np.flatnonzero(names == name).tolist() for name in range(count)]
    return sorted(groups, key=lambda group: -max(n_beaten[group]))


def _best(wish: Counts) -> list[int]:
    """Return the best of all orders, built from the best orders of all sets of steps."""
    n = len(wish)
    cost = np.zeros(1 << n, np.int64)
    last = np.zeros(1 << n, np.int64)
    # against[j, S]: how much speaks for j before some step of the set S
    against = np.zeros((n, 1 << n), np.int64)
    for i in range(n):
        against[:, 1 << i : 2 << i] = against[:, : 1 << i] + wish[:, i : i + 1]
    for members in range(1, 1 << n):
        options = [
            (cost[members ^ (1 << j)] + against[j, members ^ (1 << j)], -j)
            for j in range(n)
            if members >> j & 1
        ]
        best, minus_last = min(options)
        cost[members], last[members] = best, -minus_last
    order, members = [], (1 << n) - 1
    while members:
        order.append(int(last[members]))
        members ^= 1 << order[-1]
    return order[::-1]


def _improved(wish: Counts) -> list[int]:
    """Return a good order of many steps: each is moved to its best place, until none moves."""
    order = np.argsort(-(wish - wish.T).sum(axis=1), kind="stable").tolist()
    for _ in range(MOST_PASSES):
        has_moved = False
        for step in list(order):
            place = order.index(step)
            rest = order[:place] + order[place + 1 :]
            gain = wish[step, rest] - wish[rest, step]  # of being before each of them
            costs = np.concatenate(([0], np.cumsum(gain)))  # of going past the first ones
            if costs.min() < costs[place]:
                rest.insert(int(costs.argmin()), step)
                order, has_moved = rest, True
        if not has_moved:
            break
    return [int(step) for step in order]
