"""What is shown under limits on number and time; `ils` has tests of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepreel.config import KeyStepSettings, load_settings
from stepreel.errors import PluginError, SettingsError
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.key_steps import MOST_STEPS, KeySteps, Segment
from stepreel.steps.samplers.base import Candidates, Sampler, seconds_of
from stepreel.steps.samplers.catalog import SAMPLERS, check_sampler
from stepreel.steps.samplers.sample import choose, sample_steps

NAMES = tuple(SAMPLERS.own)


def found(lengths, *, distances=None, confidences=None, clusters=None):
    """Make a recording of steps of so many moments, one a second, one after the other."""
    n = len(lengths)
    stops = np.cumsum(lengths)
    segments = [
        Segment(cluster, np.arange(stop - length, stop), stop - 1, distance, 1.0, confidence)
        for length, stop, distance, confidence, cluster in zip(
            lengths, stops, distances or [0.1] * n, confidences or [0.0] * n,
            clusters or range(n), strict=True,
        )
    ]  # fmt: skip
    step_of = np.repeat(np.arange(n), lengths)
    n_moments = max(1, len(step_of))
    hands = np.random.default_rng(0).normal(size=(n_moments, 3)).astype(np.float32)
    recording = recording_from_arrays("take", np.arange(n_moments), {"hands": hands})
    return KeySteps(segments, [], step_of, np.ones(len(step_of), bool)), recording


def sampled(made, **limits):
    key_steps, recording = made
    features = recording.tracks["hands"].features
    return sample_steps(key_steps, recording, KeyStepSettings(**limits), lambda: features)


def shown(made, **limits):
    """Return the positions of the steps that are shown."""
    segments = sampled(made, **limits).segments
    return [next(n for n, one in enumerate(made[0].segments) if one is s) for s in segments]


def test_top_keeps_the_clearest_in_time_order_and_hides_the_others():
    made = found([10, 10, 10], distances=[0.3, 0.1, 0.2])
    key_steps = sampled(made, top=2)
    assert [segment.cluster for segment in key_steps.segments] == [1, 2]
    assert [segment.cluster for segment in key_steps.hidden] == [0]
    assert key_steps.step_of.tolist() == [-1] * 10 + [0] * 10 + [1] * 10


def test_confidence_counts_before_distance_for_algorithm_1_only():
    made = found([10, 10, 10], distances=[0.3, 0.1, 0.2], confidences=[0.5, 0.0, 0.0])
    assert shown(made, top=1) == [0]
    assert shown(made, top=1, sample="nearest") == [1]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("algorithm-1", [1, 2]),  # the clearest has 8 s; of the 4 s left, the next does not fit
        ("nearest", [0, 2]),  # 6 and 4 s are nearest
    ],
)
def test_a_budget_takes_the_first_ones_that_still_fit(sample, expected):
    made = found([6, 8, 4], distances=[0.1, 0.9, 0.2], confidences=[0.3, 0.9, 0.1])
    assert shown(made, budget_seconds=12, sample=sample) == expected


def test_top_and_budget_both_hold():
    made = found([2, 2, 2, 2], confidences=[0.4, 0.3, 0.2, 0.1])
    assert shown(made, budget_seconds=6, top=2) == [0, 1]
    assert shown(made, budget_seconds=4, top=3) == [0, 1]


@pytest.mark.parametrize("sample", NAMES)
def test_without_a_limit_or_with_room_for_all_everything_is_shown(sample):
    made = found([2, 3, 4])
    for limits in ({}, {"top": 3}, {"budget_seconds": 9}, {"top": 9, "budget_seconds": 1e6}):
        assert sampled(made, sample=sample, **limits) is made[0]


@pytest.mark.parametrize("sample", NAMES)
def test_a_budget_below_every_step_still_shows_the_best_one(sample):
    made = found([6, 8, 4], distances=[0.3, 0.1, 0.2], confidences=[0.1, 0.9, 0.2])
    (best,) = shown(made, budget_seconds=3, sample=sample)
    assert sample == "ils" or best == 1
    assert len(shown(found([6]), budget_seconds=3, sample=sample)) == 1


@pytest.mark.parametrize("sample", NAMES)
def test_a_recording_without_steps_has_none_to_show(sample):
    assert sampled(found([]), top=1, budget_seconds=1, sample=sample).segments == []


@pytest.mark.parametrize("sample", ["algorithm-1", "nearest"])
def test_more_steps_than_a_page_carries_still_show_every_kind(sample):
    n = 2 * MOST_STEPS
    made = found([1] * (n + 1), distances=[0.1] * n + [9.0], clusters=[0, 1] * MOST_STEPS + [2])
    key_steps = sampled(made, sample=sample)
    assert len(key_steps.segments) == MOST_STEPS
    assert len(key_steps.hidden) == n + 1 - MOST_STEPS
    assert {segment.cluster for segment in key_steps.segments} == {0, 1, 2}
    assert {s.cluster for s in sampled(made, sample=sample, top=MOST_STEPS).segments} == {0, 1}


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    top=st.none() | st.integers(1, 12),
    budget=st.none() | st.floats(0.5, 60),
    sample=st.sampled_from(NAMES),
    seed=st.integers(0, 9),
)
def test_limits_are_kept_and_nothing_is_lost(lengths, top, budget, sample, seed):
    rng = np.random.default_rng(seed)
    n = len(lengths)
    made = found(lengths, distances=rng.random(n).tolist(), confidences=rng.random(n).tolist())
    limits = {"top": top, "budget_seconds": budget, "sample": sample}
    key_steps = sampled(made, **limits)
    assert key_steps.segments
    assert top is None or len(key_steps.segments) <= top
    seconds = seconds_of(key_steps.segments, made[1]).sum()
    assert budget is None or seconds <= budget + 1e-6 or len(key_steps.segments) == 1
    assert sorted(segment.nearest for segment in [*key_steps.segments, *key_steps.hidden]) == [
        segment.nearest for segment in made[0].segments
    ]
    moments = [segment.nearest for segment in key_steps.segments]
    assert moments == sorted(moments)
    assert shown(made, **limits) == shown(made, **limits)


def test_a_step_lasts_until_the_end_of_its_last_moment_or_of_the_recording():
    times = np.array([0.0, 1.0, 2.0, 10.0, 11.0])
    recording = recording_from_arrays("take", times, {"hands": np.zeros((5, 1))})
    segments = [Segment(0, np.array(m), m[0], 0.0, 1.0) for m in ([0, 1], [2], [3, 4])]
    assert seconds_of(segments, recording).tolist() == [2.0, 1.0, 2.0]


def choosing(positions):
    return Sampler(lambda candidates: positions, shows="some", api_version=1)


@pytest.mark.parametrize(
    ("sampler", "problem"),
    [
        (choosing([]), r"chose float64 \(0,\); expected the positions"),
        (choosing([0.5]), "as whole numbers"),
        (choosing([0, 0]), "expected each once, and numbers from 0 to 2"),
        (choosing([3]), "expected each once, and numbers from 0 to 2"),
        (choosing([0, 1]), "chose 2 steps of 6 s; allowed are 1 steps, and None s"),
        (Sampler(lambda candidates: 1 / 0, "none"), "the sampler odd failed .ZeroDivisionError"),
    ],
)
def test_what_another_package_chooses_is_checked(sampler, problem, monkeypatch):
    monkeypatch.setitem(SAMPLERS._loaded, "odd", sampler)
    monkeypatch.setitem(SAMPLERS._plugins, "odd", None)
    key_steps, recording = found([3, 3, 3])
    seconds = seconds_of(key_steps.segments, recording)
    candidates = Candidates(key_steps.segments, seconds, lambda: np.zeros((9, 1)), top=1)
    with pytest.raises(PluginError, match=problem):
        choose("odd", candidates)


def test_an_unknown_sampler_is_refused_with_the_nearest_name():
    with pytest.raises(SettingsError, match=r"unknown sampler 'nearst'.*known: algorithm-1.*near"):
        check_sampler("nearst")


@pytest.mark.parametrize("seconds", [0, -1, "nan", "inf", "short", 1e9])
def test_an_impossible_budget_is_refused(seconds):
    with pytest.raises(SettingsError, match=r"key_steps\.budget_seconds"):
        load_settings(overrides={"key_steps.budget_seconds": seconds})
