"""Decode a few moments a second only: more show the same, and every one costs time.

It also makes results independent of the rate that features happen to have. Neighbouring moments are
decoded as one block, and are of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from math import ceil
from typing import Concatenate, ParamSpec

import numpy as np

from stepreel.features.feature_files import FeatureRecording
from stepreel.steps.decoders.base import Again, Decoded, Takes
from stepreel.types import Clustering, FeatureTrack, Recording

MOST_PER_SECOND = 5.0
ROUNDING = 1e-3  # of a moment: times of features are seldom exact

P = ParamSpec("P")
DecodeTakes = Callable[Concatenate[Takes, P], Decoded]


def on_few_moments(decode: DecodeTakes[P]) -> DecodeTakes[P]:
    """Let a function that decodes takes see at most MOST_PER_SECOND moments a second."""

    @wraps(decode)
    def on_few(takes: Takes, /, *arguments: P.args, **options: P.kwargs) -> Decoded:
        thinned = [with_few_moments(recording) for recording in takes.recordings]
        if all(one is own for one, own in zip(thinned, takes.recordings, strict=True)):
            return decode(takes, *arguments, **options)
        few = replace(takes, recordings=thinned, embeddings=_few_of_embeddings(takes))
        decoded = decode(few, *arguments, **options)

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


def block_length(recording: Recording) -> int:
    """Return how many neighbouring moments of a recording are decoded as one."""
    return max(1, ceil(1 / MOST_PER_SECOND / recording.moment_seconds - ROUNDING))


def with_few_moments(recording: Recording) -> Recording:
    """Return a recording with one moment per block; as it is if blocks have one moment."""
    length = block_length(recording)
    if not _is_thinned(recording):
        return recording
    return FeatureRecording(
        name=recording.name,
        fingerprint=recording.fingerprint,
        tracks={cue: _first_valid(track, length) for cue, track in recording.tracks.items()},
        start_seconds=recording.start_seconds,
        path=recording.path,
        derived=recording.derived.part("every", length),
    )


def _is_thinned(recording: Recording) -> bool:
    return 1 < block_length(recording) <= len(recording.times)


def _few_of_embeddings(takes: Takes) -> list[FeatureTrack] | None:
    """Return the embeddings of the same blocks, if there are any."""
    if takes.embeddings is None:
        return None
    pairs = zip(takes.embeddings, takes.recordings, strict=True)
    return [
        _first_valid(track, block_length(recording)) if _is_thinned(recording) else track
        for track, recording in pairs
    ]


def _first_valid(track: FeatureTrack, length: int) -> FeatureTrack:
    """Keep the first valid moment of every block; what is left over belongs to the last block."""
    first = np.arange(len(track.times) // length) * length
    valid = track.valid[: len(first) * length].reshape(-1, length)
    return replace(
        track,
        times=track.times[first],
        features=track.features[first + valid.argmax(axis=1)],
        valid=np.logical_or.reduce(valid, axis=1),
    )


def on_all_moments(clustering: Clustering, recording: Recording) -> Clustering:
    """Return a clustering of all moments of a recording from one of its blocks."""
    if len(clustering.times) == len(recording.times):
        return clustering
    blocks = np.arange(len(recording.times)) // block_length(recording)
    at = np.minimum(blocks, len(clustering.times) - 1)
    return replace(
        clustering,
        times=recording.times,
        labels=clustering.labels[at],
        distances=clustering.distances[at],
        certainty=clustering.certainty[at],
        excluded=clustering.excluded[at],
    )
