"""ILS-SUMM: iterated local search for the steps that best represent all others.

The total distance is the sum, over all steps of the recording, of the distance to the nearest one
shown. It is made as small as the limits allow, by adding and swapping steps, from the cheapest one
on. Then the costliest ones shown are replaced by the cheapest others, and the search goes on from
there; it ends when no such push helps. Nothing is random.

Cost is the time a step lasts, if time is limited (`--budget`); if only their number is (`--top`),
every step costs 1, and of equal costs the shorter one counts as cheaper. The distance of two steps
is the Euclidean one between the means of their features (`Candidates.features`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepreel.steps.samplers.algorithm_1 import clearest_first
from stepreel.steps.samplers.base import ROUNDING, Candidates, Sampler, Values
from stepreel.steps.samplers.shown import Neighbours, Shown

MOST_PUSHED = 5  # M: steps replaced at once
MOST_CANDIDATES = 3000  # all of them are compared with one another: 72 MB of distances


@dataclass(frozen=True)
class Limits:
    """What steps cost, what they may cost together, and how many there may be."""

    costs: Values
    budget: float
    most: int


def choose(candidates: Candidates) -> list[int]:
    """Search for the best steps to show; of very many, among the clearest."""
    from scipy.spatial.distance import cdist

    known = np.sort(clearest_first(candidates.segments)[:MOST_CANDIDATES])
    features, seconds = candidates.features[known], candidates.seconds[known]
    if candidates.budget_seconds is None:
        limits = Limits(np.ones(len(known)), np.inf, candidates.top or len(known))
    else:
        budget = candidates.budget_seconds + ROUNDING
        limits = Limits(seconds, budget, candidates.top or len(known))
    found = search(cdist(features, features), limits, seconds)
    return [int(position) for position in known[found]]


def search(distances: Values, limits: Limits, seconds: Values) -> list[int]:
    """Return positions of the steps to show; at least the cheapest one has to fit.

    >>> from scipy.spatial.distance import cdist
    >>> places = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> sorted(search(cdist(places, places), Limits(np.ones(4), np.inf, most=2), np.ones(4)))
    [1, 3]
    """
    cheapest_first = np.lexsort((seconds, limits.costs))
    best = Shown(Neighbours(distances), [int(cheapest_first[0])])
    improve(best, limits)
    n_pushed = 1
    while n_pushed <= MOST_PUSHED:
        tried = best.copy()
        push(tried, limits, cheapest_first, n_pushed)
        improve(tried, limits)
        if tried.total < best.total - best.tolerance:
            best, n_pushed = tried, 1
        else:
            n_pushed += 1
    return best.members


def improve(shown: Shown, limits: Limits) -> None:
    """Add the step that helps most; if none fits or helps, swap two; until nothing helps."""
    while True:
        left = limits.budget - limits.costs[shown.members].sum()
        added = None
        if len(shown.members) < limits.most:
            added = shown.best_to_add(limits.costs <= left)
        if added is not None:
            shown.add(added)
        elif (swapped := shown.best_to_swap(limits.costs, left)) is not None:
            shown.swap(*swapped)
        else:
            return


def push(
    shown: Shown, limits: Limits, cheapest_first: np.ndarray[tuple[int], np.dtype[np.int64]], n: int
) -> None:
    """Replace the n costliest steps shown by the n cheapest others, as far as these fit."""
    is_shown = np.zeros(len(cheapest_first), np.bool_)
    is_shown[shown.members] = True
    others = [int(step) for step in cheapest_first if not is_shown[step]]
    costliest = [int(step) for step in cheapest_first[::-1] if is_shown[step]]
    left = limits.budget - float(limits.costs[shown.members].sum())
    for old, new in zip(costliest[:n], others[:n], strict=False):
        dearer = float(limits.costs[new] - limits.costs[old])
        if dearer <= left:
            shown.swap(shown.members.index(old), new)
            left -= dearer


ILS = Sampler(
    choose,
    shows="those that represent the others best",
    title="ILS-SUMM: the steps that represent all others best",
)
