"""Cluster the moments of one or several recordings of a task into kinds of steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import RecordingError
from stepreel.system.cores import one_thread
from stepreel.types import Clustering, FeatureTrack, Floats, Labels, clustering_id

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

FEW_VALUES = 2**22  # a pass over this many takes a few milliseconds


def cluster_recordings(
    embeddings: Sequence[FeatureTrack],
    n_clusters: int,
    *,
    seed: int,
) -> list[Clustering]:
    """Cluster all recordings together by k-means; clusters are numbered in order of appearance.

    Invalid moments get a label, too, but are not used to fit the clusters. With fewer distinct
    moments than `n_clusters` there are fewer clusters.
    """
    centres = fit_centres(embeddings, n_clusters, seed=seed)
    return assign_recordings(embeddings, centres)


def fit_centres(
    embeddings: Sequence[FeatureTrack],
    n_clusters: int,
    *,
    seed: int,
    n_init: int = 10,
) -> Floats:
    """Return the cluster centres (K, D), in the order in which the clusters first appear.

    n_init  the best of this many starts is taken
    """
    if not any(track.valid.any() for track in embeddings):
        raise RecordingError("no moment has valid features; there is nothing to cluster")
    points: Floats = np.concatenate([track.features[track.valid] for track in embeddings])
    fitted = fit_k_means(points, n_clusters, seed=seed, n_init=n_init)
    order = _order_of_appearance(fitted.labels_)
    centres: Floats = fitted.cluster_centers_[order].astype(np.float32)
    return centres


def fit_k_means(
    points: NDArray[np.floating], n_clusters: int, *, seed: int, n_init: int = 10
) -> KMeans:
    """Fit k-means to points (N, D), to at most as many clusters as there are distinct points."""
    from sklearn.cluster import KMeans

    n_clusters = count_distinct(points, n_clusters)
    with _threads_for(points):
        return KMeans(n_clusters, n_init=n_init, random_state=seed).fit(points)


def count_distinct(points: NDArray[np.floating], most: int) -> int:
    """Count the distinct rows of points (N, D), up to `most`.

    In single precision: k-means compares squares, which are no more exact than that.

    >>> count_distinct(np.array([[1.0], [2.0], [1.0]]), 5)
    2
    """
    points = points.astype(np.float32, copy=False)
    sample = points[:: max(1, len(points) // (20 * most))]
    if len(np.unique(sample, axis=0)) >= most:
        return most
    for count in range(most):
        if not len(points):
            return count
        points = points[(points != points[0]).any(axis=1)]
    return most


def _threads_for(points: NDArray[np.floating]) -> AbstractContextManager[object]:
    """Use one thread for few points.

    Threads wait for each other after every pass. On a busy machine that takes forty times longer
    than the computation.
    """
    return one_thread("openmp") if points.size < FEW_VALUES else nullcontext()


def assign_recordings(embeddings: Sequence[FeatureTrack], centres: Floats) -> list[Clustering]:
    """Assign every moment of every recording to its nearest centre."""
    return [assign_to_centres(track, centres) for track in embeddings]


def assign_to_centres(track: FeatureTrack, centres: Floats) -> Clustering:
    """Assign every moment to its nearest centre.

    Its certainty is 1 - (distance to it / distance to the next nearest centre).
    """
    distances = distances_to(track.features, centres)  # (T, K)
    labels = distances.argmin(axis=1)
    own, certainty = own_and_certainty(distances, labels)
    return Clustering(
        track.times,
        labels,
        own,
        certainty,
        ~track.valid,
        n_clusters=len(centres),
        clustering_id=clustering_id(centres),
    )


def own_and_certainty(distances: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Return the distance to the own centre, and how much nearer it is than all others.

    >>> own_and_certainty(np.array([[1.0, 4.0], [0.0, 0.0]]), np.array([0, 0]))[1].tolist()
    [0.75, 0.0]
    """
    rows = np.arange(len(labels))
    own = distances[rows, labels].copy()
    others = distances.copy()
    others[rows, labels] = np.inf
    other = others.min(axis=1)
    # If both distances are 0, two clusters coincide.
    share = np.divide(own, other, out=np.ones_like(own), where=other > 0)
    return own, np.clip(1 - share, 0, 1).astype(np.float32)


def distances_to(points: NDArray[np.floating], centres: NDArray[np.floating]) -> Floats:
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
