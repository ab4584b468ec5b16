"""Methods that train on the recordings, without labels: the paper's, and stepreel's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepreel.config import Settings
from stepreel.evaluation.methods.base import Method, MethodRun, Prediction
from stepreel.evaluation.methods.clustered import cluster_tracks
from stepreel.evaluation.truth.annotation import NO_STEP
from stepreel.learn.embeddings import learn_embeddings
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.catalog import DECODERS, check_decoder, check_number_of_steps
from stepreel.steps.decoders.decode import decode
from stepreel.steps.evidence import projected_features
from stepreel.steps.key_steps import pick_key_steps
from stepreel.steps.samplers.catalog import check_sampler
from stepreel.steps.samplers.sample import sample_steps
from stepreel.types import Clustering, FeatureTrack, Labels, Recording, moment_seconds


def embed(recordings: Sequence[Recording], run: MethodRun) -> list[FeatureTrack]:
    """Learn the embeddings of a method's settings, or read them back from the store."""
    return learn_embeddings(
        recordings,
        run.settings,
        run.store,
        device=run.device,
        progress=run.progress,
        train_on=run.train_on,
    ).tracks


def _paper(recordings: Sequence[Recording], run: MethodRun) -> Prediction:
    """Give every moment the cluster of its embedding, as in the paper's tables."""
    return cluster_tracks(embed(recordings, run), run)


def _stepreel(recordings: Sequence[Recording], run: MethodRun) -> Prediction:
    """Label moments as a storyboard does: moments of no shown step are no step."""
    name = run.settings.key_steps.decoder
    check_decoder(name)
    check_sampler(run.settings.key_steps.sample)
    check_number_of_steps(run.settings.key_steps, len(recordings))
    learned: dict[str, FeatureTrack] = {}
    if DECODERS[name].needs_embedding:
        tracks = embed(recordings, run)
        learned = {r.fingerprint: track for r, track in zip(recordings, tracks, strict=True)}

    def label(some: list[Recording]) -> list[Labels]:
        embeddings = [learned[recording.fingerprint] for recording in some] if learned else None
        decoded = decode(name, Takes(some, embeddings, run.settings))
        pairs = zip(decoded.clusterings, some, strict=True)
        return [shown_labels(clustering, own, run.settings) for clustering, own in pairs]

    return Prediction.from_labelling(label, recordings)


def shown_labels(clustering: Clustering, recording: Recording, settings: Settings) -> Labels:
    """Return the cluster of the key step each moment is part of, -1 where it is part of none."""
    picked = pick_key_steps(
        clustering, settings.key_steps, moment_seconds=moment_seconds(clustering.times)
    )
    steps = sample_steps(
        picked, recording, settings.key_steps, lambda: projected_features(recording).together
    )
    clusters = np.array([segment.cluster for segment in steps.segments] + [NO_STEP])
    labels: Labels = clusters[steps.step_of]
    return labels


LEARNED_METHODS = {
    "paper": Method(_paper, "learned", "embeddings learned as in the paper, then k-means"),
    "stepreel": Method(_stepreel, "learned", "what `stepreel run` does, as storyboards show it"),
}
