"""Cluster the moments of one or several recordings of a task into kinds of steps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from stepreel.errors import RecordingError
from stepreel.types import Clustering, FeatureTrack, Floats, Labels, Mask, clustering_id

FEW_VALUES = 2**22  # a pass over this many takes a few milliseconds


def cluster_recordings(
    embeddings: Sequence[FeatureTrack],
    n_clusters: int,
    *,
    seed: int,
    pauses: Sequence[Mask] | None = None,
) -> list[Clustering]:
    """Cluster all recordings together by k-means; clusters are numbered in order of appearance.

    Pauses and invalid moments get a label, too, but are not used to fit the clusters. With fewer
    distinct moments than `n_clusters` there are fewer clusters.
    """
    centres = fit_centres(embeddings, n_clusters, seed=seed, pauses=pauses)
    return assign_recordings(embeddings, centres, pauses=pauses)


def fit_centres(
    embeddings: Sequence[FeatureTrack],
    n_clusters: int,
    *,
    seed: int,
    pauses: Sequence[Mask] | None = None,
    n_init: int = 10,
) -> Floats:
    """Return the cluster centres (K, D), in the order in which the clusters first appear.

    n_init  the best of this many starts is taken
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    excluded = _excluded(embeddings, pauses)
    if all(mask.all() for mask in excluded):
        raise RecordingError("no moment has valid features; there is nothing to cluster")
    points: Floats = np.concatenate(
        [track.features[~mask] for track, mask in zip(embeddings, excluded, strict=True)]
    )
    n_clusters = min(n_clusters, len(points))
    with warnings.catch_warnings(), _threads_for(points):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        fitted = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(points)
    order = _order_of_appearance(fitted.labels_)
    centres: Floats = fitted.cluster_centers_[order].astype(np.float32)
    return centres


def _threads_for(points: Floats) -> AbstractContextManager[object]:
    """Use one thread for few points.

    Threads wait for each other after every pass. On a busy machine that takes forty times longer
    than the computation.
    """
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, "openmp") if points.size < FEW_VALUES else nullcontext()


def assign_recordings(
    embeddings: Sequence[FeatureTrack], centres: Floats, *, pauses: Sequence[Mask] | None = None
) -> list[Clustering]:
    """Assign every moment of every recording to its nearest centre."""
    return [
        assign_to_centres(track, centres, excluded=mask)
        for track, mask in zip(embeddings, _excluded(embeddings, pauses), strict=True)
    ]


def _excluded(embeddings: Sequence[FeatureTrack], pauses: Sequence[Mask] | None) -> list[Mask]:
    if pauses is None:
        return [~track.valid for track in embeddings]
    return [~track.valid | pause for track, pause in zip(embeddings, pauses, strict=True)]


def assign_to_centres(
    track: FeatureTrack, centres: Floats, *, excluded: Mask | None = None
) -> Clustering:
    """Assign every moment to its nearest centre; return distances to it and to the next nearest."""
    distances = distances_to(track.features, centres)  # (T, K)
    labels = distances.argmin(axis=1)
    rows = np.arange(len(labels))
    own = distances[rows, labels].copy()
    distances[rows, labels] = np.inf
    others = distances.min(axis=1)
    if excluded is None:
        excluded = ~track.valid
    return Clustering(
        track.times,
        labels,
        own,
        others,
        excluded,
        n_clusters=len(centres),
        clustering_id=clustering_id(centres),
    )


def distances_to(points: Floats, centres: Floats) -> Floats:
    """Return Euclidean distances (T, K)."""
    squared = (
        np.square(points).sum(axis=1)[:, None]
        + np.square(centres).sum(axis=1)[None, :]
        - 2 * points @ centres.T
    )
    distances: Floats = np.sqrt(np.maximum(squared, 0)).astype(np.float32)
    return distances


def _order_of_appearance(labels: Labels) -> Labels:
    """Return the distinct labels in the order in which they first occur."""
    values, first = np.unique(labels, return_index=True)
    return values[np.argsort(first)].astype(np.int64)
