"""Decode a few moments a second only: more show the same, and every one costs time.

It also makes results independent of the rate that features happen to have. In between, a moment is
of the kind of the nearest moment that was decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from stepreel.features.context import nearest
from stepreel.features.feature_files import FeatureRecording
from stepreel.steps.decoders.base import Again, Decoded, Takes
from stepreel.steps.decoders.timed_points import every
from stepreel.types import Clustering, Recording

MOST_PER_SECOND = 5.0
ROUNDING = 1e-6  # of moments that are 1 / MOST_PER_SECOND apart

P = ParamSpec("P")
DecodeTakes = Callable[Concatenate[Takes, P], Decoded]


def on_few_moments(decode: DecodeTakes[P]) -> DecodeTakes[P]:
    """Let a function that decodes takes see at most MOST_PER_SECOND moments a second."""

    @wraps(decode)
    def on_few(takes: Takes, /, *arguments: P.args, **options: P.kwargs) -> Decoded:
        thinned = [with_few_moments(recording) for recording in takes.recordings]
        if all(few is own for few, own in zip(thinned, takes.recordings, strict=True)):
            return decode(takes, *arguments, **options)
        decoded = decode(replace(takes, recordings=thinned), *arguments, **options)

        def spread(clusterings: Sequence[Clustering]) -> list[Clustering]:
            pairs = zip(clusterings, takes.recordings, strict=True)
            return [on_all_moments(clustering, recording) for clustering, recording in pairs]

        return replace(
            decoded,
            clusterings=spread(decoded.clusterings),
            again=_spread_again(decoded.again, spread),
        )

    return on_few


def _spread_again(
    again: Again | None, spread: Callable[[Sequence[Clustering]], list[Clustering]]
) -> Again | None:
    return None if again is None else lambda seed: spread(again(seed))


def with_few_moments(recording: Recording) -> Recording:
    """Return a recording with the first moment of every fifth of a second, or as it is.

    Embeddings would not fit to it any more; only decoders that use none see it.
    """
    if recording.moment_seconds >= 1 / MOST_PER_SECOND - ROUNDING:
        return recording
    kept = every(recording.times, 1 / MOST_PER_SECOND)
    return FeatureRecording(
        name=recording.name,
        fingerprint=recording.fingerprint,
        tracks={
            cue: replace(
                track,
                times=track.times[kept],
                features=track.features[kept],
                valid=track.valid[kept],
            )
            for cue, track in recording.tracks.items()
        },
        start_seconds=recording.start_seconds,
        path=recording.path,
    )


def on_all_moments(clustering: Clustering, recording: Recording) -> Clustering:
    """Return a clustering of all moments of a recording from one of some of them."""
    at: NDArray[np.int64] = nearest(clustering.times, recording.times)
    known = np.any([track.valid for track in recording.tracks.values()], axis=0)
    return replace(
        clustering,
        times=recording.times,
        labels=clustering.labels[at],
        distances=clustering.distances[at],
        certainty=clustering.certainty[at],
        excluded=~known,
    )
