"""FINCH in which moments far apart in time are far apart: clusters keep together in time.

From "Temporally-Weighted Hierarchical Clustering for Unsupervised Action Segmentation" (Sarfraz,
Murray, Sharma, Diba, Van Gool and Stiefelhagen, CVPR 2021), written from the description. The
distance of two moments is their cosine distance times their distance in time; a cluster has a mean
time beside its mean features. All else is as in `finch`.

Time is relative: the share of the take that has passed. So moments of several takes are near each
other if they come at the same stage of each. Such moments can be at exactly the same time, and
their distance would be 0 whatever they show; hierarchy.py has a least distance in time, therefore.
In later takes, kinds are found by the nearest mean alone, without time.
"""

from __future__ import annotations

from stepreel.steps.decoders.base import Decoded, Decoder, Takes
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.finch import decode_at_level
from stepreel.steps.decoders.hierarchy import Hierarchy, link_first_neighbours
from stepreel.steps.decoders.mean_kinds import find_by_direction
from stepreel.steps.decoders.timed_points import TimedPoints, Values


def tw_finch(points: Values, passed: Values, *, n_takes: int = 1) -> Hierarchy:
    """Build the hierarchy of points (N, D); `passed` is the share of its take before each.

    >>> import numpy as np
    >>> tw_finch(np.ones((4, 2)), np.array([0.0, 0.1, 0.8, 0.9])).levels[0].tolist()
    [0, 0, 1, 1]
    """
    return link_first_neighbours(points, passed, n_takes=n_takes)


@on_few_moments
def decode(takes: Takes) -> Decoded:
    """Cluster the moments of all takes together, at K or at a level of the hierarchy."""
    return decode_at_level(takes, _hierarchy_of)


def _hierarchy_of(points: TimedPoints) -> Hierarchy:
    known = points.known
    return tw_finch(points.features[known], points.passed[known], n_takes=len(points.lengths))


TW_FINCH = Decoder(
    decode,
    on_few_moments(find_by_direction),
    uses_embedding=True,
    finds_number=True,
    title="FINCH with time: clusters keep together in relative time",
)
