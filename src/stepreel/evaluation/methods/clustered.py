"""K-means on raw or context features: null baselines that look but do not learn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepreel.evaluation.methods.base import Method, MethodRun, Prediction
from stepreel.features.context import fitted_context
from stepreel.features.standardise import standardised
from stepreel.steps.clustering import cluster_recordings
from stepreel.steps.decoders.few_moments import on_all_moments, with_few_moments
from stepreel.types import FeatureTrack, Floats, Labels, Recording


def raw_track(recording: Recording, *, with_time: bool = False) -> FeatureTrack:
    """Concatenate the features of all cues, z-scored over the recording.

    With time, one more column is the share of the recording that has passed; it is scaled to weigh
    as much as all features together, so that neither dominates.
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


def cluster_tracks(tracks: Sequence[FeatureTrack], run: MethodRun) -> Prediction:
    """Cluster the moments of tracks with k-means."""

    def label(some: list[FeatureTrack]) -> list[Labels]:
        clusterings = cluster_recordings(some, run.n_clusters, seed=run.seed)
        return [clustering.labels for clustering in clusterings]

    return Prediction.from_labelling(label, tracks)


def _raw_kmeans(recordings: Sequence[Recording], run: MethodRun) -> Prediction:
    return cluster_tracks([raw_track(recording) for recording in recordings], run)


def _time_kmeans(recordings: Sequence[Recording], run: MethodRun) -> Prediction:
    return cluster_tracks([raw_track(recording, with_time=True) for recording in recordings], run)


def _context_kmeans(recordings: Sequence[Recording], run: MethodRun) -> Prediction:
    window_seconds = run.settings.loss.window_seconds

    def label(some: list[Recording]) -> list[Labels]:
        thinned = [with_few_moments(recording) for recording in some]
        _, tracks = fitted_context(thinned, window_seconds=window_seconds)
        clusterings = cluster_recordings(tracks, run.n_clusters, seed=run.seed)
        pairs = zip(clusterings, some, strict=True)
        return [on_all_moments(clustering, recording).labels for clustering, recording in pairs]

    return Prediction.from_labelling(label, recordings)


CLUSTERED_METHODS = {
    "raw-kmeans": Method(_raw_kmeans, "clustered", "k-means on the raw features"),
    "time-kmeans": Method(
        _time_kmeans, "clustered", "the same, with relative time as one more feature"
    ),
    "context-kmeans": Method(
        _context_kmeans,
        "clustered",
        "k-means on context features: means over σ, now, before and after",
    ),
}
