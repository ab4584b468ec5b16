"""What a clusterer sees of every moment: the learned embedding if there is one, else its context.

A clusterer works with either. Where an embedding was learned anyway, it has learned what moments of
one step have in common; without one, context features say what a moment shows and what comes
shortly before and after it. Both come as `TimedPoints`, with relative time beside them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepreel.errors import ModelError
from stepreel.steps.decoders.base import Kinds, Takes
from stepreel.steps.decoders.timed_points import (
    TimedPoints,
    Values,
    basis_arrays,
    fit_points,
    joined,
    points_in,
)
from stepreel.types import Floats

OF_CONTEXT = "window_seconds"  # an array that only models with context features have


def points_to_cluster(takes: Takes) -> tuple[dict[str, Floats], TimedPoints]:
    """Return the points of all takes, and arrays that make the same of later takes.

    An embedding needs no arrays: the model's encoder makes it.
    """
    if takes.embeddings is not None:
        return {}, _embedded(takes)
    basis, points = fit_points(takes)
    return basis_arrays(basis), points


def points_again(takes: Takes, kinds: Kinds) -> TimedPoints:
    """Return the points of later takes, of the kind that a model was made from."""
    if OF_CONTEXT in kinds:
        return points_in(takes, kinds)
    if takes.embeddings is None:
        raise ModelError(
            "the model's kinds of steps were found in a learned embedding, but it has no encoder "
            "to make one; copy it again, or make a new one"
        )
    return _embedded(takes)


def _embedded(takes: Takes) -> TimedPoints:
    tracks = takes.embeddings or ()
    # Nothing is promised about features of invalid moments; they must not spread.
    finite = [
        replace(track, features=np.where(track.valid[:, None], track.features, 0))
        for track in tracks
    ]
    return joined(takes, finite, window_seconds=takes.window_seconds, widths=[tracks[0].width])


def directions(points: Values) -> Values:
    """Return points (N, D) as (N, D + 1), each of length 1, so that products are cosines.

    A point at 0 has no direction. It gets one of its own, the last column: such points are alike,
    and unlike all others.

    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
    """
    lengths = np.linalg.norm(points, axis=1)
    is_zero = lengths == 0
    scaled = points / np.where(is_zero, 1.0, lengths)[:, None]
    return np.column_stack([scaled, is_zero])
