"""Link first neighbours, replace what is linked by its mean, and repeat: a hierarchy of partitions.

Every point is linked to its nearest other one. Points that share a nearest one are linked through
it, so the connected parts of these links are the clusters. No number of clusters, and no other
number, has to be known. The clusters' means are the points of the next level, until one is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepreel.steps.decoders.first_neighbours import (
    ROUNDING,
    Compared,
    first_neighbours,
)
from stepreel.steps.decoders.timed_points import Values
from stepreel.types import Floats, Labels

FEWEST_NATURAL, MOST_NATURAL = 2, 30  # kinds of steps that a person can follow


@dataclass(frozen=True)
class Hierarchy:
    """Partitions of points, from fine to coarse; the last is one cluster.

    levels     per level the cluster of every point (N,), numbered in order of appearance
    linked_at  per level, how far apart neighbours were that were linked to make it (median)
    points     (N, D) what was clustered
    passed     (N,) share of the take that had passed; None if time does not count
    n_takes    that the points are of
    """

    levels: tuple[Labels, ...]
    linked_at: tuple[float, ...]
    points: Values
    passed: Values | None = None
    n_takes: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of clusters of every level."""
        return tuple(int(labels.max()) + 1 for labels in self.levels)

    @property
    def natural(self) -> tuple[int, ...]:
        """The numbers of clusters of its levels that can be numbers of kinds of steps."""
        usable = {size for size in self.sizes if FEWEST_NATURAL <= size <= MOST_NATURAL}
        return tuple(sorted(usable))

    def at(self, k: int) -> Labels:
        """Return the partition into `k` clusters, or as many as there are distinct points.

        It begins with the coarsest level that has at least as many, and merges the nearest two,
        one pair at a time.
        """
        finer = [labels for labels in self.levels if labels.max() + 1 >= k]
        return self._merged(finer[-1] if finer else self._distinct(), k)

    def _distinct(self) -> Labels:
        """Return the finest partition that makes sense: only equal points share a cluster."""
        columns = self.points
        if self.passed is not None:
            columns = np.column_stack([columns, self.passed])
        _, groups = np.unique(columns, axis=0, return_inverse=True)
        return in_order_of_appearance(groups.reshape(-1))

    def _merged(self, labels: Labels, k: int) -> Labels:
        n_clusters = int(labels.max()) + 1
        if n_clusters <= k:
            return labels
        merging = _Merging(self, labels)
        for _ in range(n_clusters - k):
            merging.merge_nearest()
        return in_order_of_appearance(merging.cluster_of[labels])


def link_first_neighbours(
    points: Values, passed: Values | None = None, *, n_takes: int = 1
) -> Hierarchy:
    """Build the hierarchy of points (N, D); with `passed`, distances in time count, too."""
    if not len(points):
        raise ValueError("there are no points to cluster")
    labels = np.arange(len(points))
    levels: list[Labels] = []
    linked_at: list[float] = []
    n_clusters = len(points)
    while n_clusters > 1:
        nearest, distances = first_neighbours(compare(points, passed, labels, n_takes))
        labels = in_order_of_appearance(_connected(nearest)[labels])
        levels.append(labels)
        linked_at.append(float(np.median(distances)))
        n_clusters = int(labels.max()) + 1
    if not levels:
        levels, linked_at = [labels], [0.0]
    return Hierarchy(tuple(levels), tuple(linked_at), points, passed, n_takes)


def choose_size(hierarchy: Hierarchy, *, otherwise: int) -> int:
    """Choose a number of clusters where none was asked for: that before the widest gap.

    The clusters of a level were linked at one distance, and the next level links them at another.
    The more that grows, the more unlike is what the next level joins. Only levels with natural
    sizes are compared; if there is none, the number is `otherwise`.
    """
    gaps = {
        size: linked_next / max(linked, ROUNDING)
        for size, linked, linked_next in zip(
            hierarchy.sizes, hierarchy.linked_at, hierarchy.linked_at[1:], strict=False
        )
        if size in hierarchy.natural
    }
    return max(gaps, key=lambda size: gaps[size]) if gaps else otherwise


def compare(points: Values, passed: Values | None, labels: Labels, n_takes: int) -> Compared:
    """Prepare the means of clusters for being compared.

    Of several takes, clusters can lie at the same time, or nearly. There, times count as different
    by what a cluster lasts on average, or what moments show would not count at all.
    """
    n_clusters = int(labels.max()) + 1
    shortest = n_takes / n_clusters if n_takes > 1 else 1 / len(points)
    times = None if passed is None else means_of(passed[:, None], labels)[:, 0]
    return Compared.of(means_of(points, labels), times, shortest)


def means_of(points: Values, labels: Labels) -> Values:
    """Return the mean of every cluster; each has at least one point.

    >>> means_of(np.array([[1.0], [5.0], [3.0]]), np.array([0, 1, 0])).tolist()
    [[2.0], [5.0]]
    """
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    means: Values = np.add.reduceat(points[order], starts, axis=0) / counts[:, None]
    return means


def in_order_of_appearance(labels: Labels) -> Labels:
    """Return clusters numbered in the order in which they first appear.

    >>> in_order_of_appearance(np.array([7, 7, 2, 9, 2])).tolist()
    [0, 0, 1, 2, 1]
    """
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[numbers.reshape(-1)], np.int64)


def _connected(nearest: Labels) -> Labels:
    """Return the connected part that every point is in, when each is linked to its nearest."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_points = len(nearest)
    ones = np.ones(n_points, np.int8)
    links = coo_array((ones, (np.arange(n_points), nearest)), shape=(n_points, n_points))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


class _Merging:
    """Clusters of which the nearest two are merged again and again.

    When a cluster's mean moves, others may lose their nearest one. What they have then is no longer
    their nearest distance, but that cannot have become less. So it is found anew only once it is
    the least of all: in many dimensions one cluster is the nearest of hundreds.

    cluster_of  the cluster that each of the first clusters is now part of
    is_bound    where `distances` is only known to be no more than the true one
    """

    def __init__(self, hierarchy: Hierarchy, labels: Labels) -> None:
        self.means = means_of(hierarchy.points, labels)
        self.counts = np.bincount(labels).astype(np.float64)
        self.passed = None
        if hierarchy.passed is not None:
            self.passed = means_of(hierarchy.passed[:, None], labels)[:, 0]
        self.compared = compare(hierarchy.points, hierarchy.passed, labels, hierarchy.n_takes)
        self.nearest, self.distances = first_neighbours(self.compared)
        self.is_left = np.ones(len(self.counts), np.bool_)
        self.is_bound = np.zeros(len(self.counts), np.bool_)
        self.cluster_of = np.arange(len(self.counts))

    def merge_nearest(self) -> None:
        """Merge the nearest two."""
        one = int(self.distances.argmin())
        while self.is_bound[one]:
            self._set_nearest(one, self._distances_from(one))
            one = int(self.distances.argmin())
        kept, gone = sorted((one, int(self.nearest[one])))
        self._move_mean(kept, gone)
        self.cluster_of[self.cluster_of == gone] = kept
        self.is_left[gone] = False
        self.distances[gone] = np.inf
        self.is_bound |= (self.nearest == kept) | (self.nearest == gone)
        to_kept = self._distances_from(kept)
        nearer = to_kept < self.distances
        self.nearest[nearer], self.distances[nearer] = kept, to_kept[nearer]
        self.is_bound[nearer] = False
        self._set_nearest(kept, to_kept)

    def _distances_from(self, one: int) -> Floats:
        """Return distances to all clusters; infinite to itself and to those that are gone."""
        distances: Floats = self.compared.distances(slice(one, one + 1), slice(None))[0]
        distances[~self.is_left] = distances[one] = np.inf
        np.maximum(distances, 0, out=distances)
        return distances

    def _set_nearest(self, one: int, distances: Floats) -> None:
        self.nearest[one] = distances.argmin()
        self.distances[one] = distances.min()
        self.is_bound[one] = False

    def _move_mean(self, kept: int, gone: int) -> None:
        shares = self.counts[[kept, gone]] / (self.counts[kept] + self.counts[gone])
        self.means[kept] = shares @ self.means[[kept, gone]]
        self.counts[kept] += self.counts[gone]
        times = None
        if self.passed is not None:
            self.passed[kept] = shares @ self.passed[[kept, gone]]
            times = self.passed[[kept]]
        moved = Compared.of(self.means[[kept]], times, self.compared.shortest)
        self.compared.directions[kept] = moved.directions[0]
        if self.compared.passed is not None and moved.passed is not None:
            self.compared.passed[kept] = moved.passed[0]
