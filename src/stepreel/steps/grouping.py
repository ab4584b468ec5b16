"""Embeddings of a task's recordings → one clustering each, with pauses excluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.config import Settings
from stepreel.steps.clustering import assign_recordings, fit_centres
from stepreel.steps.pauses import find_pauses
from stepreel.types import Clustering, FeatureTrack, Floats, Mask, Recording


@dataclass(frozen=True)
class GroupedMoments:
    """The clustering of every recording; `centres` (K, D) are shared by all of them."""

    clusterings: list[Clustering]
    centres: Floats


def group_moments(
    embeddings: Sequence[FeatureTrack],
    recordings: Sequence[Recording],
    settings: Settings,
    *,
    centres: Floats | None = None,
) -> GroupedMoments:
    """Cluster embeddings, or assign them to `centres`; then again without pauses, if enabled."""

    def cluster(pauses: Sequence[Mask] | None = None) -> GroupedMoments:
        n_clusters, seed = settings.key_steps.n_clusters, settings.train.seed
        fitted = (
            fit_centres(embeddings, n_clusters, seed=seed, pauses=pauses)
            if centres is None
            else centres
        )
        return GroupedMoments(assign_recordings(embeddings, fitted, pauses=pauses), fitted)

    grouped = cluster()
    if settings.key_steps.leave_out_pauses:
        pauses = find_pauses([recording.tracks for recording in recordings], grouped.clusterings)
        if any(mask.any() for mask in pauses):
            return cluster(pauses)
    return grouped
