from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from stepreel import find_key_steps
from stepreel.config import Settings
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.confidence import (
    Calibration,
    LogisticModel,
    Weight,
    calibration,
    chance_inputs,
    confidences,
    probability,
    rate_steps,
    state,
)
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.kmeans import KMEANS, _left_out
from stepreel.steps.evidence import EVIDENCE, TaskSteps, is_white_noise, overlaps
from stepreel.steps.key_steps import pick_key_steps
from stepreel.types import FeatureTrack

RATE = 4.0


def task_of(*features, n_clusters=3):
    """Find steps in features as they are: they take the place of the embedding."""
    settings = Settings.model_validate(
        {"key_steps": {"n_clusters": n_clusters, "background_ratio": 0.0}}
    )
    recordings, embeddings = [], []
    for number, array in enumerate(features):
        times = np.arange(len(array)) / RATE
        recordings.append(recording_from_arrays(f"take{number}", times, {"hands": array}))
        track = FeatureTrack("take", "embedding", times, array.astype(np.float32), times >= 0)
        embeddings.append(track)
    decoded = KMEANS.decode(Takes(recordings, embeddings, settings))
    steps = [
        pick_key_steps(clustering, settings.key_steps, moment_seconds=1 / RATE)
        for clustering in decoded.clusterings
    ]
    return TaskSteps(recordings, decoded.again, steps, settings)


def clear_steps(seed=0, noise=0.1):
    """Three steps of 10 s, far apart in four features."""
    rng = np.random.default_rng(seed)
    return np.repeat(3 * np.eye(4)[:3], 40, axis=0) + noise * rng.normal(size=(120, 4))


def test_evidence_of_clear_steps():
    task = task_of(clear_steps())
    assert task.extents(0).tolist() == [[0, 10], [10, 20], [20, 30]]
    evidence = {name: measure(task, 0) for name, measure in EVIDENCE.items()}
    assert evidence["length"] == pytest.approx([0, 0, 0], abs=1e-6)
    assert (evidence["stability"] > 2).all()  # an IoU of 0.9 or more
    assert evidence["agreement"] == pytest.approx([evidence["stability"].mean()] * 3)
    assert (evidence["margin"] > 0.9).all()
    assert (evidence["borders"] > 1).all()  # far above the median change
    assert not is_white_noise(task, 0)


def test_steps_depart_from_equal_parts_by_how_little_they_overlap_them():
    assert EVIDENCE["departure"](task_of(clear_steps()), 0) == pytest.approx([0, 0, 0])
    uneven = np.repeat(3 * np.eye(4)[:2], [90, 30], axis=0)  # 22.5 s and 7.5 s; equal: 15 s each
    found = EVIDENCE["departure"](task_of(uneven, n_clusters=2), 0)
    assert found == pytest.approx([1 - (15 / 22.5 + 7.5 / 15) / 2] * 2)


def test_a_gap_of_years_between_moments_costs_no_memory():
    times = np.arange(120) + np.where(np.arange(120) < 60, 0, 9e8)
    track = FeatureTrack("r", "embedding", times, np.zeros((120, 1), np.float32), times >= 0)
    tracemalloc.start()
    left_out = _left_out(track, np.random.default_rng(0))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert left_out.any()
    assert not left_out.all()


def test_without_a_second_opinion_steps_count_as_stable_as_usual():
    task = replace(task_of(clear_steps()), again=None)
    level = Weight(mean=1.5, scale=1.0, weight=0.5)
    lift = LogisticModel(intercept=0.2, weights={"agreement": level})
    fitted = calibration().model_copy(update={"lift": lift})
    values = confidences(task, 0, fitted)
    stable = {"agreement": np.full(3, level.mean)}
    assert values == pytest.approx(state(fitted, chance_inputs(3, 30.0), stable, 3))


def test_a_short_recording_of_one_step_has_evidence_too():
    task = task_of(np.ones((1, 2)))
    assert all(measure(task, 0).shape == (1,) for measure in EVIDENCE.values())
    assert is_white_noise(task, 0)
    assert confidences(task, 0, calibration()) == [0.0]


@pytest.mark.parametrize("seed", range(8))
def test_features_in_random_order_are_noise_and_get_no_confidence(seed):
    rng = np.random.default_rng(seed)
    correlated = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 300))
    for features in (rng.normal(size=(200, 40)), rng.permutation(clear_steps()), correlated):
        task = task_of(features)
        assert is_white_noise(task, 0)
        assert {segment.confidence for segment in rate_steps(task)[0].segments} == {0.0}


def test_confidence_is_how_far_p_is_above_chance():
    chance = LogisticModel(
        intercept=-1.0, weights={"number": Weight(mean=np.log(3), scale=1.0, weight=-1.0)}
    )
    lift = LogisticModel(intercept=0.0, weights={"length": Weight(mean=-1, scale=0.5, weight=1.0)})
    fitted = Calibration(chance=chance, lift=lift, clear=0.25, repeat=None, sources={})
    p0 = 1 / (1 + np.exp(1.0))
    p = 1 / (1 + np.exp(1.0 - 2.0))  # lengths are 0, two standard deviations above the mean
    stated = confidences(task_of(clear_steps()), 0, fitted)
    assert stated == pytest.approx([(p - p0) / (1 - p0)] * 3)


def test_confidence_is_never_negative():
    model = LogisticModel(intercept=0.0, weights={})
    worse = LogisticModel(intercept=-3.0, weights={})
    fitted = Calibration(chance=model, lift=worse, clear=0.25, repeat=None, sources={})
    assert confidences(task_of(clear_steps()), 0, fitted) == [0, 0, 0]


def test_the_calibration_of_the_package_uses_known_evidence():
    fitted = calibration()
    assert set(fitted.lift.weights) <= set(EVIDENCE)
    assert len(fitted.sources) >= 6
    assert 0 < fitted.clear < 1
    assert probability(np.array([-1000.0, 1000.0])) == pytest.approx([0, 1], abs=1e-9)


def test_overlaps_are_intersection_over_union():
    found = overlaps(np.array([[0.0, 10.0], [10.0, 20.0]]), np.array([[5.0, 15.0]]))
    assert found == pytest.approx(np.array([[1 / 3], [1 / 3]]))


def test_random_features_say_that_no_structure_was_found():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(240, 16)).astype(np.float32)
    result = find_key_steps({"noise": (np.arange(240) / RATE, features)})
    assert np.median([step.confidence for step in result.steps]) < 0.1
    assert not any(step.is_repeat for step in result.steps)
    assert any(note.startswith("No clear structure found") for note in result.storyboard.notes)
    assert "equal parts" in result.storyboard.confidence.meaning
