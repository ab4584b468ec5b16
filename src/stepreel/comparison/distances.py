"""How far takes are from one another, and which of them is an outlier.

The distance of two takes is the mean of two parts, each from 0 to 1: how different their orders are
(the edits that turn one into the other, neighbours exchanged being one edit, as a share of the
longer one), and how differently they spend their time (the share of it that is spent otherwise).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from stepreel.comparison.durations import MOST_DEVIATIONS, OF_NORMAL, deviation

Matrix = np.ndarray[Any, np.dtype[np.float64]]

FEWEST_TAKES = 4  # of fewer, none is called an outlier
LEAST_SCALE = 0.1  # takes are never taken to be more alike than that
CLEARLY_APART = 1.25  # times as far as any of the others is from the rest


def distances_between(
    orders: Sequence[Sequence[int]], seconds: Sequence[Mapping[int, float]]
) -> Matrix:
    """Return the distances of takes, (n, n).

    orders   the kinds of the visits of each take
    seconds  how long each take spends on each kind
    """
    n = len(orders)
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            longer = max(len(orders[i]), len(orders[j]))
            order = edits(orders[i], orders[j]) / longer if longer else 0.0
            matrix[i, j] = matrix[j, i] = (order + _otherwise(seconds[i], seconds[j])) / 2
    return matrix


def edits(one: Sequence[int], other: Sequence[int]) -> int:
    """Count the edits that turn one order into the other: add, leave out, replace, exchange.

    >>> edits([1, 2, 3], [1, 3, 2]), edits([1, 2, 3], [1, 3]), edits([1, 2], [3, 4])
    (1, 1, 2)
    """
    row = np.arange(len(other) + 1)
    earlier = row
    second = np.array(other, np.int64)
    places = np.arange(len(other) + 1)
    for i, kind in enumerate(one):
        options = np.empty_like(row)
        options[0] = i + 1
        options[1:] = np.minimum(row[1:] + 1, row[:-1] + (second != kind))
        if i and len(other) > 1:
            is_exchanged = (second[1:] == one[i - 1]) & (second[:-1] == kind)
            options[2:] = np.where(
                is_exchanged, np.minimum(options[2:], earlier[:-2] + 1), options[2:]
            )
        # What is left is to add: one more for every place further on.
        earlier, row = row, np.minimum.accumulate(options - places) + places
    return int(row[-1])


def _otherwise(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Return the share of time that two takes spend on different kinds of steps."""
    totals = sum(one.values()), sum(other.values())
    if not all(totals):
        return float(any(totals))
    kinds = sorted({*one, *other})
    shares = ((one.get(kind, 0) / totals[0], other.get(kind, 0) / totals[1]) for kind in kinds)
    return min(sum(abs(a - b) for a, b in shares) / 2, 1.0)


def mean_distances(distances: Matrix) -> list[float]:
    """Return how far each take is from the others, on average."""
    n = len(distances)
    return [min(float(row.sum()) / (n - 1), 1.0) for row in distances]


def outliers(distances: Matrix) -> list[bool]:
    """Tell of each take whether it is clearly further from the others than they are from another.

    >>> near = np.full((5, 5), 0.1) * (1 - np.eye(5))
    >>> far = near.copy()
    >>> far[4, :4] = far[:4, 4] = 0.8
    >>> outliers(near), outliers(far)
    ([False, False, False, False, False], [False, False, False, False, True])
    """
    n = len(distances)
    if n < FEWEST_TAKES:
        return [False] * n
    found = []
    for take in range(n):
        rest = np.delete(np.delete(distances, take, 0), take, 1)
        among_rest = (rest.sum(axis=1) / (n - 2)).tolist()
        scale = max(OF_NORMAL * deviation(among_rest), LEAST_SCALE)
        own = distances[take].sum() / (n - 1)
        is_far = own > median(among_rest) + MOST_DEVIATIONS * scale
        found.append(bool(is_far and own > CLEARLY_APART * max(among_rest)))
    return found
