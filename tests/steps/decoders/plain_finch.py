"""FINCH as plain loops over all pairs, to compare with."""

from __future__ import annotations

import numpy as np


def distance(a, b, shortest):
    """Cosine distance of means; with times, also times their distance."""
    cosine = a[0] @ b[0] / np.linalg.norm(a[0]) / np.linalg.norm(b[0])
    if a[1] is None:
        return 1 - cosine
    return (1 - cosine) * max(abs(a[1] - b[1]), shortest)


def means_of(points, times, clusters):
    return [
        (points[own].mean(axis=0), None if times is None else times[own].mean()) for own in clusters
    ]


def nearest_of(means, one, shortest):
    others = [other for other in range(len(means)) if other != one]
    return min(others, key=lambda other: distance(means[one], means[other], shortest))


def shortest_of(n_clusters, n_points, n_takes):
    return n_takes / n_clusters if n_takes > 1 else 1 / n_points


def linked(points, times, clusters, n_takes):
    """One level: link first neighbours and those that share one, until nothing changes."""
    means = means_of(points, times, clusters)
    shortest = shortest_of(len(clusters), len(points), n_takes)
    nearest = [nearest_of(means, one, shortest) for one in range(len(clusters))]
    groups = list(range(len(clusters)))
    changed = True
    while changed:
        changed = False
        for i in range(len(clusters)):
            for j in range(i):
                is_link = j == nearest[i] or i == nearest[j] or nearest[i] == nearest[j]
                if is_link and groups[i] != groups[j]:
                    groups[i] = groups[j] = min(groups[i], groups[j])
                    changed = True
    return [
        [
            member
            for own, group in zip(clusters, groups, strict=True)
            if group == one
            for member in own
        ]
        for one in sorted(set(groups))
    ]


def plain_levels(points, times=None, n_takes=1):
    levels, clusters = [], [[point] for point in range(len(points))]
    while len(clusters) > 1:
        clusters = linked(points, times, clusters, n_takes)
        levels.append(clusters)
    return levels


def plain_at(points, k, times=None, n_takes=1):
    """Merge the nearest two, from the coarsest level that is fine enough."""
    singles = [[point] for point in range(len(points))]
    levels = [singles, *plain_levels(points, times, n_takes)]
    clusters = next(level for level in reversed(levels) if len(level) >= k)
    shortest = shortest_of(len(clusters), len(points), n_takes)
    while len(clusters) > k:
        means = means_of(points, times, clusters)
        pairs = [(i, j) for i in range(len(means)) for j in range(i)]
        i, j = min(pairs, key=lambda pair: distance(means[pair[0]], means[pair[1]], shortest))
        rest = [own for number, own in enumerate(clusters) if number not in (i, j)]
        clusters = [*rest, clusters[i] + clusters[j]]
    return clusters


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == one).tolist()) for one in np.unique(labels)}


def sets_of(clusters):
    return {frozenset(own) for own in clusters}
