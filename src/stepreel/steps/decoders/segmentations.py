"""The best ways to divide a recording into so many segments, given what each segment costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepreel.types import Labels

Values = NDArray[np.float64]
PENALTY = 0.3  # of a border: this share of all scatter, divided by the expected number
LENGTH_PRIOR = 0.15  # weight of log²(length / mean length), in the same unit
MOST_OTHERS, APART = 3, 1.4  # natural numbers, and the factor at least between any two
LIVES = 1.1  # the factor by which the price of a border can vary, at least
FAR = 4  # from a fourth of the number that was chosen to twice as many
VARIED = 4 / 3  # numbers from n / VARIED to n * VARIED are compared for certainty


def best_borders(cost: Values, most: int) -> tuple[Values, NDArray[np.int32]]:
    """Return the least cost of 1 to `most` segments, and how long the last one of each is.

    last  (most, n + 1): of k + 1 segments that end before cell j
    """
    n, width = len(cost) - 1, cost.shape[1]
    backwards = np.ascontiguousarray(cost[:, ::-1])  # column i: length width - 1 - i
    least = np.full(width + n, np.inf)
    least[width - 1] = 0.0
    totals, last = np.empty(most), np.empty((most, n + 1), np.int32)
    for k in range(most):
        candidates = np.lib.stride_tricks.sliding_window_view(least, width) + backwards
        best = candidates.argmin(axis=1)
        last[k] = width - 1 - best
        least[width - 1 :] = candidates[np.arange(n + 1), best]
        totals[k] = least[-1]
    return totals, last


def trace(last: NDArray[np.int32], number: int) -> Labels:
    """Follow the lengths back: (number + 1,) cells where segments begin, and the end."""
    cuts = [last.shape[1] - 1]
    for k in range(number - 1, -1, -1):
        cuts.append(cuts[-1] - int(last[k, cuts[-1]]))
    return np.array(cuts[::-1], np.int64)


def best_segmentations(
    cost: Values, unit: float, expected: float, shortest: int, limits: tuple[int, int]
) -> tuple[list[Labels], list[int]]:
    """Return the cuts of the best segmentation, then of those with fewer and more segments.

    Return also other numbers of segments that are natural.
    """
    n, (fewest, most) = len(cost) - 1, limits
    if n < 2:
        return [np.array([0, n])], []
    possible = n // shortest
    cost[:, :shortest] = np.inf
    totals, _ = best_borders(cost, min(most, possible, int(2.5 * expected) + 1))
    totals[: fewest - 1] = np.inf
    number = int(np.argmin(totals + PENALTY * unit * np.arange(len(totals)))) + 1
    natural = natural_numbers(totals, number)
    lengths = np.maximum(np.arange(cost.shape[1]), 1)
    cost += LENGTH_PRIOR * unit * np.log(lengths * number / n) ** 2
    totals, last = best_borders(cost, min(possible, int(np.ceil(number * VARIED))))
    others = [k + 1 for k in range(int(number / VARIED), len(totals)) if k + 1 != number]
    found = [trace(last, k) for k in [number, *others] if np.isfinite(totals[k - 1])]
    return found, natural


def natural_numbers(totals: Values, number: int) -> list[int]:
    """Return up to MOST_OTHERS numbers, not near `number`, that stay best over a range of prices.

    With every border at a price, some number of segments costs least. A natural one stays the best
    while the price grows by a large factor; most numbers never are.

    totals  the least cost of 1, 2, … segments
    number  that was chosen
    """
    lives = sorted(_lives(totals), reverse=True)
    chosen = [number]
    for life, other in lives:
        if life < LIVES:
            break
        is_near = any(max(other, k) < APART * min(other, k) for k in chosen)
        if not is_near and max(3, number / FAR) <= other <= number * FAR / 2:
            chosen.append(other)
    return sorted(chosen[1 : MOST_OTHERS + 1])


def _lives(totals: Values) -> list[tuple[float, int]]:
    """Return, for numbers that are ever best, the factor over which the price of a border varies.

    They are the corners of the lower convex hull of the totals.
    """
    hull: list[int] = []
    for k in np.flatnonzero(np.isfinite(totals)).tolist():
        while len(hull) > 1 and _slope(totals, hull[-2], hull[-1]) >= _slope(totals, hull[-1], k):
            hull.pop()
        hull.append(k)
    lives = []
    for before, at, after in zip(hull, hull[1:], hull[2:], strict=False):
        gained, left = -_slope(totals, before, at), -_slope(totals, at, after)
        if left > 0:
            lives.append((gained / left, at + 1))
    return lives


def _slope(totals: Values, a: int, b: int) -> float:
    return float((totals[b] - totals[a]) / (b - a))


def agreement(n_cells: int, found: list[Labels], blur: float) -> Values:
    """Return how sure it is that a cell belongs to the same step as the middle of its segment.

    As often as they are together when their number varies; half of that within `blur` of a border.
    """
    cuts, cells = found[0], np.arange(n_cells)
    own = np.searchsorted(cuts, cells, side="right") - 1
    middle = ((cuts[:-1] + cuts[1:]) // 2)[own]
    numbers = [np.searchsorted(other, cells, side="right") for other in found]
    together = np.mean([number == number[middle] for number in numbers], axis=0)
    to_border = np.minimum(cells + 0.5 - cuts[own], cuts[own + 1] - cells - 0.5)
    return np.asarray(together * (1 - 0.5 * np.exp(-to_border / blur)))
