"""Recordings of one task → embeddings and clusters, learned together or known from a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepreel.config import Settings
from stepreel.learn.embeddings import learn_embeddings
from stepreel.learn.model import TaskModel
from stepreel.steps.clustering import assign_recordings, fit_centres
from stepreel.steps.pauses import find_pauses
from stepreel.system.machine import Device
from stepreel.system.store import Store
from stepreel.types import (
    Clustering,
    FeatureTrack,
    Floats,
    Mask,
    Progress,
    TrackedRecording,
    no_progress,
)

if TYPE_CHECKING:
    from stepreel.learn.training import OnCheckpoint


@dataclass(frozen=True)
class LearnedTask:
    """What is known of a task's recordings before anything is shown.

    centres  (K, D) of the clusters, which all recordings share
    """

    embeddings: list[FeatureTrack]
    clusterings: list[Clustering]
    centres: Floats


def learn_task(
    recordings: Sequence[TrackedRecording],
    settings: Settings,
    store: Store,
    *,
    model: TaskModel | None = None,
    device: Device = "auto",
    progress: Progress = no_progress,
    on_checkpoint: OnCheckpoint | None = None,
) -> LearnedTask:
    """Embed and cluster recordings; where steps turn out to be parted by pauses, without those."""
    if model is None:
        embeddings = learn_embeddings(
            recordings,
            settings,
            store,
            device=device,
            progress=progress,
            on_checkpoint=on_checkpoint,
        )
    else:
        from stepreel.learn.inference import embed_with_model

        embeddings = embed_with_model(model, recordings, device=device)

    centres = model.centres if model is not None else None
    return group_moments(embeddings, recordings, settings, centres=centres)


def group_moments(
    embeddings: Sequence[FeatureTrack],
    recordings: Sequence[TrackedRecording],
    settings: Settings,
    *,
    centres: Floats | None = None,
) -> LearnedTask:
    """Cluster embeddings, by known centres if there are any, and find pauses in the clusters."""

    def cluster(pauses: Sequence[Mask] | None = None) -> LearnedTask:
        n_clusters, seed = settings.key_steps.n_clusters, settings.train.seed
        found = (
            fit_centres(embeddings, n_clusters, seed=seed, pauses=pauses)
            if centres is None
            else centres
        )
        clusterings = assign_recordings(embeddings, found, pauses=pauses)
        return LearnedTask(list(embeddings), clusterings, found)

    learned = cluster()
    if settings.key_steps.leave_out_pauses:
        pauses = find_pauses([one.tracks for one in recordings], learned.clusterings)
        if any(mask.any() for mask in pauses):
            return cluster(pauses)
    return learned
