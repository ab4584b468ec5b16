"""K-means, then a price on every change of kind: single moments no longer flicker.

The clustering of "My View is the Best View: Procedure Learning from Egocentric Videos" (CnC;
Bansal, Arora and Jawahar, ECCV 2022) assigns moments to the centres of k-means by a graph cut, with
a Potts term between neighbouring moments. Moments of a take are a chain, so here the least cost is
found exactly, by Viterbi's algorithm.

A moment costs its squared distance to the centre of its kind, in units of how much farther, on
average, the second nearest centre is than the nearest. A change of kind costs as much as
CHANGE_SECONDS of such moments. A visit to another kind takes two changes, so it has to fit better
for about twice as long, or more clearly for less. Time is in seconds, so the result does not depend
on the rate of features.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.clustering import fit_k_means
from stepreel.steps.decoders.base import Decoded, Decoder, Kinds, Takes
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.mean_kinds import (
    LARGEST,
    MEANS,
    as_they_are,
    by_appearance,
    clusterings_of,
    half_of_columns,
    means_from,
)
from stepreel.steps.decoders.points import points_again, points_to_cluster
from stepreel.steps.decoders.timed_points import MOST_FITTED, TimedPoints, Values
from stepreel.types import Clustering, Floats, Labels

CHANGE_SECONDS = 2.0
UNIT = "unit"  # its array in a model


@on_few_moments
def decode(takes: Takes) -> Decoded:
    """Cluster the moments of all takes together, then smooth every take."""
    arrays, points = points_to_cluster(takes)
    labels, means, unit = _fit(takes, points, takes.seed)
    return Decoded(
        clusterings_of(takes, points, labels, means, as_they_are),
        {**arrays, MEANS: means, UNIT: np.array([unit], np.float32)},
        again=partial(_fitted_again, takes, points),
    )


@on_few_moments
def find_again(takes: Takes, kinds: Kinds) -> Decoded:
    """Find the centres of a model in later takes, at the same price of a change."""
    points = points_again(takes, kinds)
    means, unit = means_from(kinds, points), _unit_from(kinds)
    labels = smooth_labels(takes, points, means, unit)
    return Decoded(
        clusterings_of(takes, points, labels, means, as_they_are),
        kinds,
        again=partial(_found_again, takes, points, means),
    )


def smooth_labels(takes: Takes, points: TimedPoints, means: Floats, unit: float) -> Labels:
    """Return the kinds of all moments that cost least; what is not known fits all kinds alike."""
    squares = np.where(points.known[:, None], _squared_distances(points.features, means), 0.0)
    parts = zip(takes.recordings, points.split(squares / unit), strict=True)
    return np.concatenate(
        [
            least_cost_labels(costs, CHANGE_SECONDS / recording.moment_seconds)
            for recording, costs in parts
        ]
    )


def least_cost_labels(costs: Values, change: float) -> Labels:
    """Return the labels of a chain that cost least, if each change costs `change`.

    A moment is reached by staying, or from the best label before: T·K steps instead of T·K².

    costs  (T, K) of every label at every moment

    >>> costs = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0]])
    >>> least_cost_labels(costs, 0.6).tolist(), least_cost_labels(costs, 0.4).tolist()
    ([0, 0, 0, 1, 1], [0, 1, 0, 1, 1])
    """
    if not len(costs):
        return np.zeros(0, np.int64)
    stays = np.ones(costs.shape, np.bool_)
    before = np.zeros(len(costs), np.int64)  # the label from which others are reached
    total = costs[0].copy()
    for moment in range(1, len(costs)):
        before[moment] = total.argmin()
        moved = total[before[moment]] + change
        np.less_equal(total, moved, out=stays[moment])
        total = np.minimum(total, moved) + costs[moment]
        total -= total.min()  # sums of hours would lose digits
    labels = np.empty(len(costs), np.int64)
    label = int(total.argmin())
    for moment in range(len(costs) - 1, -1, -1):
        labels[moment] = label
        label = label if stays[moment, label] else int(before[moment])
    return labels


def unit_of_cost(points: Values, means: Floats) -> float:
    """Return how much farther, squared, the second nearest mean is than the nearest, on average."""
    if len(means) < 2:
        return 1.0
    nearest_two = np.partition(_squared_distances(points, means), 1, axis=1)[:, :2]
    return float(np.diff(nearest_two, axis=1).mean()) or 1.0


def _fit(
    takes: Takes, points: TimedPoints, seed: int, n_init: int = 10
) -> tuple[Labels, Floats, float]:
    """Return labels, means and the unit of cost; kinds are numbered in order of appearance."""
    known = points.features[points.known]
    fitted = known if len(known) <= MOST_FITTED else points.features[points.fitted]
    model = fit_k_means(fitted, takes.n_clusters, seed=seed, n_init=n_init)
    means: Floats = model.cluster_centers_.astype(np.float32)  # as a model will have them
    unit = float(np.float32(unit_of_cost(known, means)))
    labels = smooth_labels(takes, points, means, unit)
    labels, order = by_appearance(labels, points, len(means))
    return labels, means[order], unit


def _fitted_again(takes: Takes, points: TimedPoints, seed: int) -> list[Clustering]:
    """Cluster again by a random half of the columns."""
    half = points.columns(half_of_columns(points, seed))
    labels, means, _ = _fit(takes, half, seed, n_init=1)
    return clusterings_of(takes, half, labels, means, as_they_are)


def _found_again(takes: Takes, points: TimedPoints, means: Floats, seed: int) -> list[Clustering]:
    """Find the same centres in a random half of the columns."""
    chosen = half_of_columns(points, seed)
    half, own = points.columns(chosen), means[:, chosen]
    unit = unit_of_cost(half.features[half.known], own)
    labels = smooth_labels(takes, half, own, unit)
    return clusterings_of(takes, half, labels, own, as_they_are)


def _squared_distances(points: Values, means: Floats) -> Values:
    centres = means.astype(np.float64)
    squares = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    distances: Values = np.maximum(squares, 0.0)
    return distances


def _unit_from(kinds: Kinds) -> float:
    unit: NDArray[np.float32] = kinds[UNIT].reshape(-1)
    if len(unit) != 1 or not 0 < unit[0] <= LARGEST:
        raise ValueError(f"a unit of cost of {unit.tolist()}")
    return float(unit[0])


PROCUT = Decoder(
    decode,
    find_again,
    uses_embedding=True,
    title="k-means with a price on every change of kind",
)
