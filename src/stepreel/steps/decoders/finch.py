"""FINCH: every moment is linked to the one most like it, and what is linked is one cluster.

From "Efficient Parameter-free Clustering Using First Neighbor Relations" (Sarfraz, Sharma and
Stiefelhagen, CVPR 2019), written from the description. Repeated with the means of the clusters
(hierarchy.py), this gives partitions from fine to coarse without any parameter. Moments are alike
if their features point in the same direction (cosine distance). Time does not count, so kinds of
steps may come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from stepreel.steps.decoders.base import Decoded, Decoder, Takes
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.hierarchy import Hierarchy, choose_size, link_first_neighbours
from stepreel.steps.decoders.mean_kinds import decode_with, find_by_direction
from stepreel.steps.decoders.points import directions, points_to_cluster
from stepreel.steps.decoders.timed_points import TimedPoints, Values


def finch(points: Values) -> Hierarchy:
    """Build the hierarchy of points (N, D).

    >>> import numpy as np
    >>> hierarchy = finch(np.array([[9.0, 1.0], [9.0, 2.0], [0.0, 9.0], [4.0, 9.0]]))
    >>> hierarchy.sizes, hierarchy.at(3).tolist()
    ((2, 1), [0, 0, 1, 2])
    """
    return link_first_neighbours(points)


@on_few_moments
def decode(takes: Takes) -> Decoded:
    """Cluster the moments of all takes together, at K or at a level of the hierarchy."""
    return decode_at_level(takes, lambda points: finch(points.features[points.known]))


def decode_at_level(takes: Takes, build: Callable[[TimedPoints], Hierarchy]) -> Decoded:
    """Do the same with any hierarchy of the known moments."""
    arrays, points = points_to_cluster(takes)
    hierarchy = build(points)
    k = takes.n_clusters
    if takes.is_number_open:
        k = takes.allowed(choose_size(hierarchy, otherwise=k))
    decoded = decode_with(
        lambda _: hierarchy.at(k),
        takes,
        points,
        arrays,
        compared=directions,
        again=lambda half: build(half).at(k),
    )
    return replace(decoded, natural=hierarchy.natural)


FINCH = Decoder(
    decode,
    on_few_moments(find_by_direction),
    uses_embedding=True,
    finds_number=True,
    title="FINCH: what is most alike is linked, from fine to coarse",
)
