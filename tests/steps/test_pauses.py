from __future__ import annotations

import numpy as np

from stepreel.steps.pauses import find_pauses
from stepreel.types import Clustering, FeatureTrack

RATE = 4.0


def recording(steps, seed, *, pause_seconds=3.0, step_seconds=9.0, similar=True):
    """Make distinct steps with pauses between them; borders are in the middle of pauses."""
    rng = np.random.default_rng(seed)
    step_features, idle = (
        rng.normal(size=(steps, 40)),
        2 * np.random.default_rng(99).normal(size=40),
    )
    pause, step = round(pause_seconds * RATE), round(step_seconds * RATE)
    features, truth, labels = [], [], []
    for number in range(steps):
        between = step_features[number] + (idle if similar else 2 * rng.normal(size=40))
        features += [step_features[number]] * step + [between] * pause
        truth += [False] * step + [True] * pause
        labels += [number] * (step + pause)
    labels = np.roll(labels, -(pause // 2))
    labels[-(pause // 2) :] = steps - 1
    features = np.array(features) + 0.3 * rng.normal(size=(len(features), 40))
    times = np.arange(len(features)) / RATE
    everywhere = np.ones(len(times), bool)
    tracks = {
        "appearance": FeatureTrack("r", "appearance", times, np.float32(features), everywhere)
    }
    return tracks, clustering(times, labels), np.array(truth)


def clustering(times, labels):
    zeros = np.zeros(len(times), np.float32)
    return Clustering(
        times, labels, zeros, zeros, np.zeros(len(times), bool), n_clusters=int(labels.max()) + 1
    )


def test_similar_pauses_are_found_precisely():
    tracks, clusters, truth = recording(7, seed=1)
    (pause,) = find_pauses([tracks], [clusters])
    # Averaging over a second blurs an edge by half a second at most: two moments on each of 13.
    assert (pause != truth).sum() <= 26
    assert (pause & truth).sum() > 0.8 * truth.sum()


def test_a_pause_inside_a_cluster_is_found_too():
    tracks, clusters, truth = recording(7, seed=2)
    labels = np.where(clusters.labels == 1, 0, clusters.labels)  # steps 0 and 1 in one cluster
    (pause,) = find_pauses([tracks], [clustering(clusters.times, labels)])
    within = slice(round(9 * RATE) + 2, round(12 * RATE) - 2)
    assert truth[within].all()
    assert pause[within].all()


def test_pauses_that_have_nothing_in_common_are_not_found():
    n_found = 0
    for seed in range(20):
        tracks, clusters, _ = recording(7, seed=seed, similar=False)
        n_found += find_pauses([tracks], [clusters])[0].any()
    assert n_found <= 4  # a few are similar by chance


def test_noise_has_no_pauses():
    n_found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        times = np.arange(360) / RATE
        noise = rng.normal(size=(360, 200)).astype(np.float32)
        cuts = np.sort(rng.choice(np.arange(16, 344), 6, replace=False))
        tracks = {"a": FeatureTrack("r", "a", times, noise, np.ones(360, bool))}
        labels = np.searchsorted(cuts, np.arange(360))
        n_found += find_pauses([tracks], [clustering(times, labels)])[0].any()
    assert n_found <= 2  # the test of significance allows one in twenty


def test_sparse_moments_and_constant_features_work():
    times = np.arange(14.0)
    labels = np.arange(14) // 2  # runs of two moments, a second apart
    for features in (np.zeros((14, 3)), np.random.default_rng(0).normal(size=(14, 3))):
        track = FeatureTrack("r", "a", times, features.astype(np.float32), np.ones(14, bool))
        (pause,) = find_pauses([{"a": track}], [clustering(times, labels)])
        assert pause.shape == (14,)


def test_steps_without_time_between_them_have_no_pauses():
    tracks, clusters, _ = recording(7, seed=3, pause_seconds=0.25)
    (pause,) = find_pauses([tracks], [clusters])
    assert pause.sum() <= 2 * 7


def test_pauses_are_found_from_all_recordings_of_a_task_together():
    takes = [recording(3, seed=4), recording(3, seed=5)]  # 2 borders each: too few alone
    alone = find_pauses([takes[0][0]], [takes[0][1]])
    together = find_pauses(
        [tracks for tracks, _, _ in takes], [clusters for _, clusters, _ in takes]
    )
    assert not alone[0].any()
    for pause, (_, _, truth) in zip(together, takes, strict=True):
        assert (pause & truth).sum() > 0.8 * truth.sum()


def test_a_single_moment_or_cluster_has_no_pauses():
    track = FeatureTrack("r", "a", np.zeros(1), np.ones((1, 3), np.float32), np.ones(1, bool))
    (pause,) = find_pauses([{"a": track}], [clustering(track.times, np.zeros(1, np.int64))])
    assert pause.tolist() == [False]
    tracks, clusters, _ = recording(4, seed=6)
    (pause,) = find_pauses([tracks], [clustering(clusters.times, np.zeros_like(clusters.labels))])
    assert not pause.any()
