"""Kinds of steps as the mean of their moments: what clusterers leave in a model.

means    (K, D) in the points that were clustered
and the arrays that make such points of later takes (points.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stepreel.features.context import nearest
from stepreel.steps.clustering import distances_to, own_and_certainty
from stepreel.steps.decoders.base import Decoded, Kinds, Takes, numbered_by_appearance
from stepreel.steps.decoders.hierarchy import means_of
from stepreel.steps.decoders.points import directions, points_again
from stepreel.steps.decoders.timed_points import TimedPoints, Values
from stepreel.types import Clustering, Floats, Labels

MEANS = "means"
LARGEST = 1e9  # number in a model: points are z-scored, or of length 1

View = Callable[[Values], Values]
"""What is done to points and means before distances are taken, such as `directions`."""

Cluster = Callable[[TimedPoints], Labels]
"""Returns the cluster of every known moment."""


def as_they_are(points: Values) -> Values:
    """Compare points by their Euclidean distances."""
    return points


def decode_with(
    cluster: Cluster,
    takes: Takes,
    points: TimedPoints,
    arrays: Mapping[str, Floats],
    *,
    compared: View,
    again: Cluster,
) -> Decoded:
    """Label all takes by clusters of their moments; kinds are the clusters' means.

    arrays  what makes such points of later takes
    again   clusters the same moments again, by a random half of the columns
    """
    labels, means = _labels_and_means(cluster, takes, points)

    def clusterings_again(seed: int) -> list[Clustering]:
        half = points.columns(half_of_columns(points, seed))
        return clusterings_of(takes, half, *_labels_and_means(again, takes, half), compared)

    return Decoded(
        clusterings_of(takes, points, labels, means, compared),
        {**arrays, MEANS: means},
        again=clusterings_again,
    )


def find_nearest_means(takes: Takes, kinds: Kinds, *, compared: View) -> Decoded:
    """Give every moment of later takes the kind with the nearest mean."""
    points = points_again(takes, kinds)
    means = means_from(kinds, points)

    def clusterings_again(seed: int) -> list[Clustering]:
        chosen = half_of_columns(points, seed)
        half, own = points.columns(chosen), means[:, chosen]
        return clusterings_of(takes, half, _nearest(half, own, compared), own, compared)

    labels = _nearest(points, means, compared)
    clusterings = clusterings_of(takes, points, labels, means, compared)
    return Decoded(clusterings, kinds, again=clusterings_again)


find_by_direction = partial(find_nearest_means, compared=directions)
find_by_place = partial(find_nearest_means, compared=as_they_are)


def means_from(kinds: Kinds, points: TimedPoints) -> Floats:
    """Read the means of a model; ValueError unless they are of such points."""
    means: Floats = kinds[MEANS]
    width = points.features.shape[1]
    if means.ndim != 2 or not len(means) or means.shape[1] != width:
        raise ValueError(f"means {means.shape}, but {width} columns per moment")
    if np.abs(means).max() > LARGEST:
        raise ValueError(f"means beyond {LARGEST:g}")
    return means


def clusterings_of(
    takes: Takes, points: TimedPoints, labels: Labels, means: Floats, compared: View
) -> list[Clustering]:
    """Say how far every moment is from the mean of its kind, and how much nearer than to others."""
    own, certainty = own_and_certainty(_distances(points, means, compared), labels)
    arrays = (points.split(labels), points.split(own), points.split(certainty))
    parts = zip(takes.recordings, *arrays, points.split(~points.known), strict=True)
    return [
        Clustering(recording.times, own_labels, far, sure, excluded, n_clusters=len(means))
        for recording, own_labels, far, sure, excluded in parts
    ]


def filled(known_labels: Labels, takes: Takes, points: TimedPoints) -> Labels:
    """Return a label for every moment: what is not known gets that of the nearest known one."""
    labels = np.zeros(len(points.known), np.int64)
    labels[points.known] = known_labels
    pairs = zip(takes.recordings, points.split(labels), points.split(points.known), strict=True)
    return np.concatenate(
        [
            own[known][nearest(take.times[known], take.times)] if known.any() else own
            for take, own, known in pairs
        ]
    )


def by_appearance(
    labels: Labels, points: TimedPoints, n_clusters: int
) -> tuple[Labels, NDArray[np.int64]]:
    """Return labels numbered in the order in which they appear, and the former number of each."""
    numbers = numbered_by_appearance(points.split(labels), n_clusters)
    return numbers[labels], np.argsort(numbers)


def half_of_columns(points: TimedPoints, seed: int) -> NDArray[np.int64]:
    """Choose a random half of the columns, at least one."""
    width = points.features.shape[1]
    return np.sort(np.random.default_rng(seed).permutation(width)[: max(1, width // 2)])


def _labels_and_means(cluster: Cluster, takes: Takes, points: TimedPoints) -> tuple[Labels, Floats]:
    labels = filled(cluster(points), takes, points)
    labels, _ = by_appearance(labels, points, int(labels.max()) + 1)
    means = means_of(points.features[points.known], labels[points.known])
    return labels, means.astype(np.float32)


def _nearest(points: TimedPoints, means: Floats, compared: View) -> Labels:
    labels: Labels = _distances(points, means, compared).argmin(axis=1)
    return labels


def _distances(points: TimedPoints, means: Floats, compared: View) -> Floats:
    return distances_to(compared(points.features), compared(means.astype(np.float64)))
