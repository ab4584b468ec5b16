"""The methods that are compared, by name. None of them is ever given a label.

Every method yields two labellings: one with all recordings of the task clustered together, and one
with every recording clustered by itself, for the protocols that ask for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stepreel.config import Settings
from stepreel.evaluation.methods.baselines import BASELINES, concatenated_split
from stepreel.evaluation.truth.annotation import NO_STEP
from stepreel.features.standardise import standardised
from stepreel.learn import METHOD_VERSION
from stepreel.learn.embeddings import learn_embeddings
from stepreel.steps.clustering import cluster_recordings
from stepreel.steps.grouping import group_moments
from stepreel.steps.key_steps import find_steps
from stepreel.system.machine import Device
from stepreel.system.store import Entry, Store
from stepreel.types import (
    Clustering,
    FeatureTrack,
    Floats,
    Labels,
    Progress,
    Recording,
    moment_seconds,
    no_progress,
)

EVALUATION_VERSION = 1  # raise it when the same recordings and settings would give other labels

SEEDLESS = frozenset({"equal-split", "concatenated-split", "one-cluster"})


@dataclass(frozen=True)
class Prediction:
    """One cluster per moment and recording, or -1; all clustered together, and each alone."""

    together: list[Labels]
    alone: list[Labels]


@dataclass(frozen=True)
class Workplace:
    """Where results are kept, and what computes them."""

    store: Store
    device: Device = "auto"
    progress: Progress = no_progress


def predict_blindly(
    method: str, lengths: Sequence[int], n_clusters: int, *, seed: int
) -> Prediction:
    """Label recordings of these lengths without looking at them."""
    together = BASELINES[method](lengths, n_clusters, seed)
    alone = together
    if method == "concatenated-split":  # alone, a recording is all there is to cut
        alone = [concatenated_split([n], n_clusters)[0] for n in lengths]
    return Prediction(together, alone)


def predict(
    method: str,
    recordings: Sequence[Recording],
    settings: Settings,
    workplace: Workplace,
    *,
    learn_from: Sequence[int] | None = None,
) -> Prediction:
    """Label recordings by what their tracks show; what was found before is read back."""
    description = {
        "evaluation": EVALUATION_VERSION,
        "method": METHOD_VERSION,
        "recordings": [one.fingerprint for one in recordings],
        "tracks": recordings[0].track_settings,
        "cues": list(recordings[0].tracks),
        "settings": settings.model_dump(mode="json"),
        "learn_from": None if learn_from is None else list(learn_from),
    }
    entry = Entry(workplace.store.root / "predictions", method, description)
    if not entry.exists():
        made = WAYS[method](recordings, settings, workplace, learn_from)
        _keep(entry, made)
    return _recall(entry, len(recordings))


def _keep(entry: Entry, made: Prediction) -> None:
    entry.write(
        {
            f"{kind}/{number:05d}": labels.astype(np.int64)
            for kind in ("together", "alone")
            for number, labels in enumerate(getattr(made, kind))
        }
    )


def _recall(entry: Entry, n_recordings: int) -> Prediction:
    arrays = entry.read()
    together, alone = (
        [arrays[f"{kind}/{number:05d}"] for number in range(n_recordings)]
        for kind in ("together", "alone")
    )
    return Prediction(together, alone)


def embed(
    recordings: Sequence[Recording],
    settings: Settings,
    workplace: Workplace,
    learn_from: Sequence[int] | None = None,
) -> list[FeatureTrack]:
    """Learn, or read back, the embeddings of a method's settings."""
    return learn_embeddings(
        recordings,
        settings,
        workplace.store,
        device=workplace.device,
        progress=workplace.progress,
        train_on=learn_from,
    ).tracks


def _paper(
    recordings: Sequence[Recording],
    settings: Settings,
    workplace: Workplace,
    learn_from: Sequence[int] | None,
) -> Prediction:
    """Every moment gets the cluster of its embedding, as in the paper's tables."""
    return _k_means(embed(recordings, settings, workplace, learn_from), settings)


def _stepreel(
    recordings: Sequence[Recording],
    settings: Settings,
    workplace: Workplace,
    learn_from: Sequence[int] | None,
) -> Prediction:
    """Label as a storyboard does: pauses, and moments of no shown step, are no step."""
    embeddings = embed(recordings, settings, workplace, learn_from)

    def shown(numbers: Sequence[int]) -> list[Labels]:
        grouped = group_moments(
            [embeddings[n] for n in numbers], [recordings[n] for n in numbers], settings
        )
        return [labels_shown(one, settings) for one in grouped.clusterings]

    numbers = range(len(recordings))
    return Prediction(shown(numbers), [shown([number])[0] for number in numbers])


def labels_shown(clustering: Clustering, settings: Settings) -> Labels:
    """Return the cluster of the key step each moment is part of, -1 where it is part of none."""
    found = find_steps(
        clustering, settings.key_steps, moment_seconds=moment_seconds(clustering.times)
    )
    clusters = np.array([segment.cluster for segment in found.segments] + [NO_STEP])
    labels: Labels = clusters[found.step_of]
    return labels


def raw_track(recording: Recording, *, with_time: bool = False) -> FeatureTrack:
    """Lay all cues side by side, z-scored over the recording.

    With time, one more column says how much of the recording has passed; it is scaled to weigh as
    much as all features together, so that neither drowns in the other.
    """
    tracks = list(recording.tracks.values())
    parts: list[Floats] = [standardised(t, average_seconds=0, z_score=True) for t in tracks]
    if with_time:
        times = tracks[0].times
        spread = float(times.std())
        passed = (times - times.mean()) / (spread if spread > 0 else 1.0)
        width = sum(part.shape[1] for part in parts)
        parts.append((passed * np.sqrt(width)).astype(np.float32)[:, None])
    known = np.any([track.valid for track in tracks], axis=0)
    features: Floats = np.concatenate(parts, axis=1)
    return FeatureTrack(recording.name, "raw", tracks[0].times, features, known)


def _raw_k_means(
    recordings: Sequence[Recording],
    settings: Settings,
    workplace: Workplace,
    learn_from: Sequence[int] | None,
) -> Prediction:
    return _k_means([raw_track(one) for one in recordings], settings)


def _time_k_means(
    recordings: Sequence[Recording],
    settings: Settings,
    workplace: Workplace,
    learn_from: Sequence[int] | None,
) -> Prediction:
    return _k_means([raw_track(one, with_time=True) for one in recordings], settings)


def _k_means(tracks: Sequence[FeatureTrack], settings: Settings) -> Prediction:
    n_clusters, seed = settings.key_steps.n_clusters, settings.train.seed
    together = cluster_recordings(tracks, n_clusters, seed=seed)
    alone = [cluster_recordings([track], n_clusters, seed=seed)[0] for track in tracks]
    return Prediction([one.labels for one in together], [one.labels for one in alone])


Way = Callable[[Sequence[Recording], Settings, Workplace, Sequence[int] | None], Prediction]

RAW_WAYS: dict[str, Way] = {"raw-kmeans": _raw_k_means, "time-kmeans": _time_k_means}
LEARNED_WAYS: dict[str, Way] = {"paper": _paper, "stepreel": _stepreel}
WAYS = {**RAW_WAYS, **LEARNED_WAYS}
NULL_METHODS = (*BASELINES, *RAW_WAYS)
LEARNED_METHODS = tuple(LEARNED_WAYS)
METHODS = (*NULL_METHODS, *LEARNED_METHODS)
