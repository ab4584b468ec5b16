"""K-means on the learned embedding, with α-trimming: the paper's way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.clustering import assign_recordings, fit_centres
from stepreel.steps.decoders.base import Decoded, Decoder, Kinds, Takes
from stepreel.types import Clustering, FeatureTrack, Floats, Mask

CENTRES = "centres"
BLOCK_SECONDS = 2.0  # moments are resampled in blocks, because neighbours are alike


def decode(takes: Takes) -> Decoded:
    """Cluster the moments of all takes together."""
    centres = fit_centres(_embeddings(takes), takes.n_clusters, seed=takes.seed)
    return find_again(takes, {CENTRES: centres})


def find_again(takes: Takes, kinds: Kinds) -> Decoded:
    """Assign every moment to its nearest centre."""
    embeddings = _embeddings(takes)
    ratio = takes.settings.key_steps.background_ratio
    clusterings = [
        replace(clustering, uncertain=trimmed(clustering, ratio))
        for clustering in assign_recordings(embeddings, kinds[CENTRES])
    ]
    return Decoded(clusterings, kinds, again=lambda seed: _again(takes, seed))


def trimmed(clustering: Clustering, background_ratio: float) -> Mask:
    """Return, per cluster, the fraction α of moments farthest from the centre.

    floor(α·n) of n moments are trimmed, so a cluster always keeps at least one. α is the expected
    fraction of background, so moments that are excluded anyway count towards it.
    """
    far = np.zeros(len(clustering.labels), np.bool_)
    for cluster in range(clustering.n_clusters):
        is_member = clustering.labels == cluster
        members = np.flatnonzero(is_member & ~clustering.excluded)
        n_excluded = int(is_member.sum()) - len(members)
        n_trimmed = max(0, int(background_ratio * is_member.sum()) - n_excluded)
        farthest = np.argsort(clustering.distances[members], kind="stable")[::-1][:n_trimmed]
        far[members[farthest]] = True
    return far


def _embeddings(takes: Takes) -> Sequence[FeatureTrack]:
    assert takes.embeddings is not None, "k-means needs embeddings"
    return takes.embeddings


def _again(takes: Takes, seed: int) -> list[Clustering]:
    """Cluster a random half of the moments, and assign all of them."""
    rng = np.random.default_rng([takes.seed, seed])
    embeddings = _embeddings(takes)
    halves = [replace(track, valid=track.valid & ~_left_out(track, rng)) for track in embeddings]
    if not any(track.valid.any() for track in halves):
        halves = list(embeddings)
    centres: Floats = fit_centres(halves, takes.n_clusters, seed=seed, n_init=1)
    ratio = takes.settings.key_steps.background_ratio
    return [
        replace(clustering, uncertain=trimmed(clustering, ratio))
        for clustering in assign_recordings(embeddings, centres)
    ]


def _left_out(track: FeatureTrack, rng: np.random.Generator) -> NDArray[np.bool_]:
    # Only blocks with moments are drawn: a gap can be years long.
    blocks, number = np.unique(track.times // BLOCK_SECONDS, return_inverse=True)
    left_out: NDArray[np.bool_] = (rng.random(len(blocks)) < 0.5)[number]
    return left_out


KMEANS = Decoder(
    decode, find_again, needs_embedding=True, title="k-means on the learned embedding (the paper's)"
)
