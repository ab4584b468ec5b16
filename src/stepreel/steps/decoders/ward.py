"""Ward's clustering along time: neighbouring stretches of a take are merged until few are left.

Of all neighbours those two are merged whose union adds least to the squared distances from the
means (Ward 1963), so every cluster is one stretch. Of one take, the K stretches are the kinds of
steps, and no kind comes back. Each of several takes is cut into 3 K stretches, because
kinds may come back there; then Ward's clustering, without regard to time, makes K kinds of the
means of all stretches. A stretch counts there as much as it is long, or short odd ones would become
kinds. Neighbouring stretches that turn out to be of one kind are one visit.
"""

from __future__ import annotations

import numpy as np

from stepreel.steps.clustering import count_distinct
from stepreel.steps.decoders.base import Decoded, Decoder, Takes
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.hierarchy import means_of
from stepreel.steps.decoders.mean_kinds import as_they_are, decode_with, find_by_place
from stepreel.steps.decoders.points import points_to_cluster
from stepreel.steps.decoders.timed_points import TimedPoints, Values
from stepreel.system.cores import on_all_cores
from stepreel.types import Labels

STRETCHES_PER_KIND = 3  # in each of several takes
MOST_STRETCHES = 2000  # of all takes, as all are compared with each other


@on_few_moments
def decode(takes: Takes) -> Decoded:
    """Cut every take into stretches; of several takes, make kinds of them."""
    arrays, points = points_to_cluster(takes)

    def cluster(own: TimedPoints) -> Labels:
        of_takes = [
            x[known] for x, known in zip(own.split(own.features), own.split(own.known), strict=True)
        ]
        return kinds_of_stretches([x for x in of_takes if len(x)], takes.n_clusters)

    return decode_with(cluster, takes, points, arrays, compared=as_they_are, again=cluster)


def kinds_of_stretches(of_takes: list[Values], n_kinds: int) -> Labels:
    """Return the kind of every moment of all takes, one after the other.

    of_takes  the points of every take (T, D); at least one of each
    """
    if len(of_takes) == 1:
        return stretches(of_takes[0], n_kinds)
    per_take = min(STRETCHES_PER_KIND * n_kinds, max(1, MOST_STRETCHES // len(of_takes)))
    cut = on_all_cores(lambda points: stretches(points, per_take), of_takes)
    means = [means_of(points, own) for points, own in zip(of_takes, cut, strict=True)]
    lengths = np.concatenate([np.bincount(own) for own in cut])
    kinds = group_stretches(np.concatenate(means), lengths, n_kinds)
    first = np.cumsum([0, *(len(own) for own in means)])
    return np.concatenate([kinds[own + start] for own, start in zip(cut, first, strict=False)])


def stretches(points: Values, most: int) -> Labels:
    """Cut a take (T, D) into at most `most` stretches, numbered in order.

    Equal neighbours are never cut apart, so there can be fewer.

    >>> stretches(np.array([[0.0], [1.0], [7.0], [8.0], [0.0]]), 3).tolist()
    [0, 0, 1, 1, 2]
    """
    from scipy.sparse import diags_array
    from sklearn.cluster import AgglomerativeClustering

    n_moments = len(points)
    count = min(most, 1 + np.count_nonzero((np.diff(points, axis=0) != 0).any(axis=1)))
    if count == 1:
        return np.zeros(n_moments, np.int64)
    ones = np.ones(n_moments - 1)
    chain = diags_array([ones, ones], offsets=[-1, 1], format="csr")
    tree = AgglomerativeClustering(count, linkage="ward", connectivity=chain).fit(points)
    begins = np.diff(tree.labels_) != 0
    return np.concatenate([[0], np.cumsum(begins)]).astype(np.int64)


def group_stretches(means: Values, lengths: Labels, n_kinds: int) -> Labels:
    """Return the kind of every stretch by its mean (n, D), wherever it comes.

    It goes on from stretches as Ward's clustering of their moments would, which libraries cannot:
    they begin with single points.
    """
    from scipy.spatial.distance import cdist

    sizes = lengths.astype(np.float64)
    costs = cdist(means, means, "sqeuclidean") / (1 / sizes[:, None] + 1 / sizes)
    np.fill_diagonal(costs, np.inf)
    group_of = np.arange(len(means))
    nearest = costs.argmin(axis=1)
    for _ in range(len(means) - count_distinct(means, n_kinds)):
        one = int(costs[np.arange(len(costs)), nearest].argmin())
        kept, gone = sorted((one, int(nearest[one])))
        merged = _costs_of_union(costs, sizes, kept, gone)
        sizes[kept] += sizes[gone]
        costs[kept] = costs[:, kept] = merged
        costs[gone] = costs[:, gone] = np.inf
        group_of[group_of == gone] = kept
        nearest = np.where(merged < costs[np.arange(len(costs)), nearest], kept, nearest)
        lost = (nearest == kept) | (nearest == gone)
        nearest[lost] = costs[lost].argmin(axis=1)
    return np.asarray(np.unique(group_of, return_inverse=True)[1], np.int64).reshape(-1)


def _costs_of_union(costs: Values, sizes: Values, one: int, other: int) -> Values:
    """Return the costs of merging the union of two with each of the others (Lance and Williams)."""
    total = sizes[one] + sizes[other] + sizes
    with_one, with_other = (sizes[i] + sizes for i in (one, other))
    united: Values = (
        with_one * costs[one] + with_other * costs[other] - sizes * costs[one, other]
    ) / total
    united[[one, other]] = np.inf
    return united


WARD = Decoder(
    decode,
    on_few_moments(find_by_place),
    uses_embedding=True,
    title="Ward's clustering of neighbouring moments",
)
