from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.features.context import (
    MOST_COMPONENTS,
    averaged,
    context_of,
    context_widths,
    fitted_context,
    nearest,
    principal_components,
    stack_neighbours,
)
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import FeatureTrack


def track(features, *, times=None, valid=None, cue="hands"):
    features = np.asarray(features, np.float32)
    times = np.arange(len(features)) * 1.0 if times is None else np.asarray(times, float)
    valid = np.ones(len(features), bool) if valid is None else np.asarray(valid, bool)
    return FeatureTrack("r", cue, times, features, valid)


def recording(**tracks):
    return FeatureRecording("r", "f", tracks, start_seconds=0.0, path=Path("r.npz"))


def steps_of(seed, n=60, width=5, times=None):
    """A recording of three steps, each with its own mean, in an order of its own."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(3, width)) * 4
    labels = np.repeat(rng.permutation(3), n // 3)
    return track(means[labels] + rng.normal(size=(n, width)), times=times), labels


def test_means_are_over_the_window_and_ignore_invalid_moments():
    features = [[0], [2], [100], [4]]
    one = averaged(track(features, valid=[True, True, False, True]), 2.0)
    # z-scores of 0, 2 and 4 are -1.22, 0 and 1.22; each mean is over the moments within a second.
    z = np.sqrt(1.5)
    assert one[:, 0] == pytest.approx([-z / 2, -z / 2, z / 2, z])


def test_gaps_without_a_valid_moment_hold_the_nearest_one():
    valid = [True, True] + [False] * 6
    values = averaged(track([[0], [2]] + [[7]] * 6, valid=valid), 1.0)
    assert values[:, 0] == pytest.approx([-1] + [1] * 7)


def test_neighbours_are_found_by_time_not_by_position():
    times = np.array([0.0, 1.0, 2.0, 10.0])
    stacked = stack_neighbours(times, np.array([[0.0], [1.0], [2.0], [10.0]]), 2.0)
    assert stacked.tolist() == [[0, 0, 2], [0, 1, 2], [0, 2, 2], [10, 10, 10]]


def test_the_nearest_of_one_moment_is_that_moment():
    assert nearest(np.array([3.0]), np.array([0.0, 9.0])).tolist() == [0, 0]


def test_components_are_whitened_and_have_a_fixed_sign():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 3)) * [5, 2, 1]
    covariance = np.cov(points.T)
    variances, components = principal_components(covariance)
    assert np.all(np.diff(variances) <= 0)
    assert components.T @ covariance @ components == pytest.approx(np.diag(variances), abs=1e-9)
    assert (components[np.abs(components).argmax(axis=0), range(3)] > 0).all()


def test_context_features_are_z_scored_per_recording_and_concatenate_cues():
    takes = [recording(hands=steps_of(s)[0], gaze=steps_of(s, width=70)[0]) for s in (1, 2, 3)]
    basis, _ = fitted_context(takes, window_seconds=3.0)
    for context in context_of(takes, basis):
        assert context.width == sum(context_widths(basis)) <= 2 * MOST_COMPONENTS
        assert context.features.mean(axis=0) == pytest.approx(0, abs=1e-5)
        assert context.features.std(axis=0) == pytest.approx(1, abs=1e-4)


def test_one_cue_can_be_chosen():
    takes = [recording(hands=steps_of(1)[0], gaze=steps_of(1, width=4)[0])]
    basis, _ = fitted_context(takes, window_seconds=3.0, cues=["gaze"])
    assert list(basis.cues) == ["gaze"]


def test_moments_of_one_step_are_nearer_to_each_other_than_to_others():
    takes, labels = zip(*(steps_of(seed) for seed in range(4)), strict=True)
    recordings = [recording(hands=take) for take in takes]
    _, contexts = fitted_context(recordings, window_seconds=3.0)
    points, labels = np.concatenate([c.features for c in contexts]), np.concatenate(labels)
    centres = np.stack([points[labels == step].mean(axis=0) for step in range(3)])
    distances = np.linalg.norm(points[:, None] - centres, axis=2)
    assert (distances.argmin(axis=1) == labels).mean() > 0.9


def test_a_copy_at_twice_the_rate_has_the_same_context():
    slow, _ = steps_of(1)
    fast = track(np.repeat(slow.features, 2, axis=0), times=np.arange(120) * 0.5)
    takes = [recording(hands=slow)]
    basis, _ = fitted_context(takes, window_seconds=5.0)
    (a,), (b,) = context_of(takes, basis), context_of([recording(hands=fast)], basis)
    correlation = np.corrcoef(a.features[:, 0], b.features[::2, 0])[0, 1]
    assert correlation > 0.98


@pytest.mark.parametrize("features", [np.ones((9, 3)), np.zeros((1, 4))])
def test_constant_features_and_a_single_moment_give_zeros(features):
    takes = [recording(hands=track(features))]
    _, (context,) = fitted_context(takes, window_seconds=2.0)
    assert not context.features.any()


def test_without_a_valid_moment_nothing_is_known():
    takes = [recording(hands=track(np.ones((5, 3)), valid=[False] * 5))]
    _, (context,) = fitted_context(takes, window_seconds=2.0)
    assert not context.valid.any()
    assert not context.features.any()


def test_very_wide_features_are_projected_first():
    narrow, labels = steps_of(1)
    mixed = narrow.features @ np.random.default_rng(0).normal(size=(5, 3000))
    takes = [recording(hands=track(mixed))]
    _, (context,) = fitted_context(takes, window_seconds=3.0)
    means = [context.features[labels == step].mean(axis=0) for step in range(3)]
    assert np.linalg.norm(means[0] - means[1]) > 1
