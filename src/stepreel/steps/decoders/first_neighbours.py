"""The nearest other point of every point, block by block: a matrix of all pairs never exists.

Hours of recording are tens of thousands of moments, and all pairs of 50,000 would take 10 GB.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.decoders.points import directions
from stepreel.steps.decoders.timed_points import Values
from stepreel.system.cores import on_all_cores
from stepreel.types import Floats, Labels

ROWS, COLUMNS = 512, 1024  # of a block, so that it stays in the processor's cache
ROUNDING = 1e-6  # cosine distances in single precision are no more exact

Rows = NDArray[np.int64] | slice


@dataclass(frozen=True)
class Compared:
    """Points as they are compared.

    directions  (N, D + 1) of length 1
    passed      (N,) share of the take that has passed; None if time does not count
    shortest    points nearer in time count as this far apart
    """

    directions: Floats
    passed: Floats | None = None
    shortest: float = 0.0

    @classmethod
    def of(cls, points: Values, passed: Values | None, shortest: float) -> Compared:
        """Prepare points (N, D), and their times if these count."""
        times = None if passed is None else passed.astype(np.float32)
        return cls(directions(points).astype(np.float32), times, shortest)

    def distances(self, some: Rows, others: Rows) -> Floats:
        """Return cosine distances, times distances in time if these count."""
        distances: Floats = self.directions[some] @ self.directions[others].T
        np.subtract(1, distances, out=distances)
        if self.passed is not None:
            # Without a least distance, time would not count between moments that look the same.
            np.maximum(distances, ROUNDING, out=distances)
            apart = np.abs(self.passed[some][:, None] - self.passed[others])
            distances *= np.maximum(apart, np.float32(self.shortest), out=apart)
        return distances


def first_neighbours(compared: Compared) -> tuple[Labels, Floats]:
    """Return for each of at least two points its nearest other one, and how far that is.

    Of equally near points it is the first.
    """
    n_points = len(compared.directions)
    blocks = [np.arange(n_points)[start : start + ROWS] for start in range(0, n_points, ROWS)]
    parts = on_all_cores(partial(_nearest_of, compared), blocks)
    nearest, distances = (np.concatenate(column) for column in zip(*parts, strict=True))
    if compared.passed is None:
        _link_equal_points(compared.directions, nearest, distances)
    return nearest, distances


def _nearest_of(compared: Compared, rows: NDArray[np.int64]) -> tuple[Labels, Floats]:
    n_points = len(compared.directions)
    nearest, least = np.zeros(len(rows), np.int64), np.full(len(rows), np.inf, np.float32)
    for start in range(0, n_points, COLUMNS):
        distances = compared.distances(rows, slice(start, start + COLUMNS))
        is_here = (rows >= start) & (rows < start + COLUMNS)
        distances[is_here, rows[is_here] - start] = np.inf  # a point is no neighbour of its own
        at = distances.argmin(axis=1)
        found = distances[np.arange(len(rows)), at]
        nearer = found < least
        least[nearer], nearest[nearer] = found[nearer], at[nearer] + start
    return nearest, np.maximum(least, 0)


def _link_equal_points(points: Floats, nearest: Labels, distances: Floats) -> None:
    """Make the first of equal points the neighbour of the others, and the second that of the first.

    Rounding would otherwise decide which of them are neighbours, and tear them apart.
    """
    _, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    is_repeated = np.flatnonzero(first[group] != np.arange(len(points)))
    nearest[is_repeated] = first[group[is_repeated]]
    groups, at = np.unique(group[is_repeated], return_index=True)
    nearest[first[groups]] = is_repeated[at]
    distances[is_repeated] = distances[first[groups]] = 0
