"""How good the moments are that key steps show, without labels: representation and diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from stepreel.config import Settings
from stepreel.evaluation.methods.clustered import raw_track
from stepreel.evaluation.methods.learned import embed
from stepreel.evaluation.methods.runner import MethodRunner
from stepreel.evaluation.metrics.key_step_quality import key_step_quality
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.steps.clustering import cluster_recordings
from stepreel.steps.confidence import rate_steps
from stepreel.steps.decoders.kmeans import trimmed
from stepreel.steps.evidence import TaskSteps
from stepreel.steps.key_steps import cut_segments, pick_key_steps
from stepreel.steps.samplers.catalog import SAMPLERS
from stepreel.steps.samplers.sample import sample_steps
from stepreel.system.cores import one_thread
from stepreel.types import Clustering, Floats, Labels, Recording, moment_seconds

Values = dict[str, dict[str, float]]
"""Of one task and one seed: by method, then by figure; NaN if a figure does not exist"""

ROUNDING = 1e-9
SAMPLED = 10  # moments that every sampler may show, as in the paper's figures


def key_moment_quality(
    prepared: PreparedTask, plan: Plan, runner: MethodRunner, seed: int
) -> Values:
    """Score K moments of every recording; means over recordings."""
    k, recordings = plan.n_clusters, prepared.recordings or []
    raw = [raw_track(recording) for recording in recordings]
    shown = _baselines(prepared.lengths, k, seed)
    shown["raw"] = [
        _key_moments(cluster_recordings([t], k, seed=seed)[0], plan.settings_of("raw-kmeans"), k)
        for t in raw
    ]
    for method in plan.embedding_methods(prepared.cues):
        settings = plan.settings_of(method, prepared.cues, seed=seed)
        tracks = embed(recordings, runner.run_of(settings))
        shown[method] = [
            _key_moments(
                cluster_recordings([track], settings.key_steps.number_of_clusters, seed=seed)[0],
                settings,
                k,
            )
            for track in tracks
        ]
    return _scores([track.features for track in raw], shown)


def sampler_quality(prepared: PreparedTask, plan: Plan, runner: MethodRunner, seed: int) -> Values:
    """Score what every sampler shows of the same steps; means over recordings.

    Steps are those of a storyboard: separated, and rated, so that `algorithm-1` has confidences.
    """
    recordings = prepared.recordings or []
    raw = [raw_track(recording) for recording in recordings]
    method = next(iter(plan.embedding_methods(prepared.cues)), "raw-kmeans")
    settings = plan.settings_of(method, prepared.cues, seed=seed)
    tracks = raw if method == "raw-kmeans" else embed(recordings, runner.run_of(settings))
    shown = _baselines(prepared.lengths, SAMPLED, seed)
    shown |= {sampler: [] for sampler in SAMPLERS.own}
    for recording, track in zip(recordings, tracks, strict=True):
        (clustering,) = cluster_recordings(
            [track], settings.key_steps.number_of_clusters, seed=seed
        )
        for sampler, moments in _sampled(clustering, recording, settings).items():
            shown[sampler].append(moments)
    return _scores([track.features for track in raw], shown)


def _baselines(lengths: Sequence[int], n: int, seed: int) -> dict[str, list[Labels]]:
    """Return n random moments of every recording, and the middles of n equal parts."""
    rng = np.random.default_rng(seed)
    return {
        "random": [rng.choice(length, min(n, length), replace=False) for length in lengths],
        "equal-split": [((np.arange(n) + 0.5) * length / n).astype(np.int64) for length in lengths],
    }


def _scores(features: Sequence[Floats], shown: Mapping[str, Sequence[Labels]]) -> Values:
    """Score moments by method; a recording of which one moment is shown has no diversity."""
    values: Values = {}
    for method, moments in shown.items():
        scores = [key_step_quality(own, m) for own, m in zip(features, moments, strict=True)]
        diversities = [score.diversity for score in scores if not np.isnan(score.diversity)]
        values[method] = {
            "representation": float(np.mean([score.representation for score in scores])),
            "diversity": float(np.mean(diversities)) if diversities else float("nan"),
            "shown": float(np.mean([len(np.unique(m)) for m in moments])),
        }
    return values


def _key_moments(clustering: Clustering, settings: Settings, k: int) -> Labels:
    """Return the moments that Algorithm 1 shows, the k nearest to their centres.

    Storyboards also separate segments that overlap; the paper does not.
    """
    choice = settings.key_steps
    clustering = replace(clustering, uncertain=trimmed(clustering, choice.background_ratio))
    segments = cut_segments(clustering, choice.split_gap_seconds)
    shortest = choice.min_step_seconds / moment_seconds(clustering.times) - ROUNDING
    long_enough = [segment for segment in segments if len(segment.members) >= shortest]
    segments = long_enough or sorted(segments, key=lambda s: -len(s.members))[:1]
    nearest = sorted(segments, key=lambda segment: segment.distance)[:k]
    return np.sort(np.array([segment.nearest for segment in nearest], np.int64))


def _sampled(clustering: Clustering, recording: Recording, settings: Settings) -> dict[str, Labels]:
    """Return the moments that every sampler shows of one recording."""
    choice = settings.key_steps
    clustering = replace(clustering, uncertain=trimmed(clustering, choice.background_ratio))
    picked = pick_key_steps(clustering, choice, moment_seconds=recording.moment_seconds)
    steps = TaskSteps([recording], None, [picked], settings)
    with one_thread("blas"):
        (rated,) = rate_steps(steps)
    moments = {}
    for sampler in SAMPLERS.own:
        limited = choice.model_copy(update={"top": SAMPLED, "sample": sampler})
        limited = limited.model_copy(update={"budget_seconds": None})
        sampled = sample_steps(rated, recording, limited, partial(steps.features, 0))
        moments[sampler] = np.array([s.nearest for s in sampled.segments], np.int64)
    return moments
