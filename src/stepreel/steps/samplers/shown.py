"""Steps that are shown, and for every step the nearest and second nearest of them.

With these, what adding or swapping would change follows from the pairs of steps that are nearer to
each other than the second nearest one shown. The more steps are shown, the fewer such pairs there
are; sorting every step's neighbours once makes them quick to list.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.samplers.base import Values

LEAST_GAIN = 1e-9  # of a mean distance to all steps; less may be rounding
Positions = NDArray[np.int64]


class Neighbours:
    """The distances (n, n) between n steps, and every step's neighbours in order."""

    def __init__(self, distances: Values) -> None:
        self.distances = distances
        self.order = np.argsort(distances, axis=1, kind="stable").astype(np.int32)
        self.sorted = np.take_along_axis(distances, self.order, axis=1)
        self.farthest: Values = self.sorted[:, -1]

    def within(self, n_nearest: Positions) -> tuple[Positions, Positions, Values]:
        """Return so many nearest neighbours of every step: step, neighbour and distance."""
        steps = np.repeat(np.arange(len(n_nearest)), n_nearest)
        places = np.arange(len(steps)) - np.repeat(n_nearest.cumsum() - n_nearest, n_nearest)
        flat = steps * len(n_nearest) + places
        return steps, self.order.ravel()[flat], self.sorted.ravel()[flat]


class Shown:
    """A choice among n steps.

    members   the steps shown; a member's place in this list is its slot
    nearest   (n,) distance to the nearest member, whose slot is `owner`
    second    (n,) distance to the second nearest member, whose slot is `second_owner`; with a
              single member, the largest distance there is
    n_nearer, n_seconds  (n,) how many steps are nearer than these
    """

    def __init__(self, neighbours: Neighbours, members: list[int]) -> None:
        n = len(neighbours.distances)
        self.neighbours = neighbours
        self.members = list(members)
        self.tolerance = LEAST_GAIN * float(neighbours.distances.mean()) * n
        self.nearest, self.second = np.zeros(n), np.zeros(n)
        self.owner, self.second_owner = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.n_nearer, self.n_seconds = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._look_up(np.arange(n))

    def copy(self) -> Shown:
        """Return the same choice, to try something else from it."""
        other = object.__new__(Shown)
        other.neighbours, other.tolerance = self.neighbours, self.tolerance
        other.members = list(self.members)
        for name in ("nearest", "second", "owner", "second_owner", "n_nearer", "n_seconds"):
            setattr(other, name, getattr(self, name).copy())
        return other

    @property
    def total(self) -> float:
        """The sum over all steps of the distance to the nearest one shown."""
        return float(self.nearest.sum())

    def changes_by_adding(self) -> Values:
        """Return (n,) by how much the total would change if a step were shown, too."""
        steps, others, distances = self.neighbours.within(self.n_nearer)
        return _totals(others, distances - self.nearest[steps], len(self.nearest))

    def best_to_add(self, allowed: NDArray[np.bool_]) -> int | None:
        """Return the step whose addition lowers the total most; None if none does."""
        changes = np.where(allowed, self.changes_by_adding(), np.inf)
        step = int(changes.argmin())
        return step if changes[step] < -self.tolerance else None

    def best_to_swap(self, costs: Values, left: float) -> tuple[int, int] | None:
        """Return the slot and the step to put there that lower the total most; None if none do.

        costs, left  of every step, and how much more all members together may cost
        """
        slots, steps, changes = self.changes_by_swapping(costs, left)
        changes[costs[steps] - costs[self.members][slots] > left] = np.inf
        changes[np.isin(steps, self.members)] = np.inf
        best = int(changes.argmin())
        if not changes[best] < -self.tolerance:
            return None
        return int(slots[best]), int(steps[best])

    def changes_by_swapping(
        self, costs: Values, left: float
    ) -> tuple[Positions, Positions, Values]:
        """Return slots, steps to put there, and by how much the total would change.

        Without its nearest member, a step is as far away as the second nearest one, unless the new
        one is nearer. Pairs to which that applies are listed; of all others, which differ by what
        the slot's member is worth, the least one for every step.
        """
        n, n_slots = len(self.nearest), len(self.members)
        worth = _totals(self.owner, self.second - self.nearest, n_slots)
        near, others, distances = self.neighbours.within(self.n_seconds)
        relief = self.second[near] - np.maximum(distances, self.nearest[near])
        slots, steps, reliefs = _sums(self.owner[near], others, relief, n_slots, n)
        cheapest = _least_worth(worth, costs[self.members], costs - left)
        slots = np.concatenate([slots, cheapest])
        steps = np.concatenate([steps, np.arange(n)])
        changes = self.changes_by_adding()[steps] + worth[slots]
        changes[: len(reliefs)] -= reliefs
        return slots, steps, changes

    def add(self, step: int) -> None:
        """Show one more step."""
        self.members.append(step)
        closer = np.flatnonzero(self.neighbours.distances[:, step] < self.second)
        if len(self.members) == 2:  # until now, no step had a second nearest one
            closer = np.arange(len(self.nearest))
        self._come_closer(closer, len(self.members) - 1)

    def swap(self, slot: int, step: int) -> None:
        """Show a step in the place of the one in a slot."""
        lost = (self.owner == slot) | (self.second_owner == slot)
        closer = ~lost & (self.neighbours.distances[:, step] < self.second)
        self.members[slot] = step
        self._look_up(np.flatnonzero(lost))
        self._come_closer(np.flatnonzero(closer), slot)

    def _look_up(self, rows: Positions) -> None:
        """Find the nearest and second nearest members of some steps."""
        to_members = self.neighbours.distances[np.ix_(rows, np.array(self.members, np.int64))]
        every, owner = np.arange(len(rows)), to_members.argmin(axis=1)
        self.owner[rows], self.nearest[rows] = owner, to_members[every, owner]
        if len(self.members) == 1:
            self.second_owner[rows], self.second[rows] = -1, self.neighbours.farthest[rows]
        else:
            to_members[every, owner] = np.inf
            self.second_owner[rows] = to_members.argmin(axis=1)
            self.second[rows] = to_members.min(axis=1)
        self._count(rows)

    def _come_closer(self, rows: Positions, slot: int) -> None:
        """Note that a member in a slot is nearer to some steps than their second nearest one."""
        distance = self.neighbours.distances[rows, self.members[slot]]
        is_nearest = distance < self.nearest[rows]
        first, other = rows[is_nearest], rows[~is_nearest]
        self.second[first], self.second_owner[first] = self.nearest[first], self.owner[first]
        self.nearest[first], self.owner[first] = distance[is_nearest], slot
        self.second[other], self.second_owner[other] = distance[~is_nearest], slot
        self._count(rows)

    def _count(self, rows: Positions) -> None:
        """Count the neighbours that are nearer than the members."""
        distances = self.neighbours.sorted[rows]
        self.n_nearer[rows] = (distances < self.nearest[rows, None]).sum(axis=1)
        self.n_seconds[rows] = (distances < self.second[rows, None]).sum(axis=1)


def _sums(
    slots: Positions, steps: Positions, values: Values, n_slots: int, n: int
) -> tuple[Positions, Positions, Values]:
    """Add up values by slot and step; return slots, steps and sums."""
    keys = slots * n + steps
    if len(keys) > n_slots * n / 8:  # sorting would take longer
        every = np.arange(n_slots * n)
        return every // n, every % n, _totals(keys, values, len(every))
    listed, places = np.unique(keys, return_inverse=True)
    return listed // n, listed % n, _totals(places, values, len(listed))


def _totals(places: NDArray[np.integer], values: Values, size: int) -> Values:
    """Add up the values of every place."""
    return np.bincount(places, values, size).astype(np.float64, copy=False)


def _least_worth(worth: Values, costs: Values, least_costs: Values) -> Positions:
    """Return, of members that cost at least so much, the slot of the one worth least.

    Where no member does, any one.

    >>> _least_worth(np.array([2.0, 1.0]), np.array([5.0, 3.0]), np.array([3.0, 4.0])).tolist()
    [1, 0]
    """
    by_cost = np.argsort(-costs, kind="stable")
    least = np.minimum.accumulate(worth[by_cost])
    is_new = np.concatenate([[True], least[1:] < least[:-1]])
    best = np.maximum.accumulate(np.where(is_new, np.arange(len(costs)), 0))
    n_dear = np.searchsorted(-costs[by_cost], -least_costs, side="right")
    slots: Positions = by_cost[best[np.maximum(n_dear, 1) - 1]]
    return slots
