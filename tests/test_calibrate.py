"""The calibration of confidence, on made-up cases with known rates."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from calibrate import fit, fit_logistic, repeat_level, stated
from calibrate_cases import LATER, NOISE, Case, ChanceCase, match, noisy, rate_of_equal_parts
from calibrate_tables import count_repeats, tables

from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.confidence import chance_inputs, probability
from stepreel.steps.evidence import EVIDENCE

SOURCES = ("one", "two", "three")


def made_up_cases(rng, n_recordings=60, n_steps=12):
    """Make cases in which steps unlike equal parts are right more often, by a known law."""
    for source in SOURCES:
        for _ in range(n_recordings):
            evidence = {name: rng.normal(size=n_steps) for name in EVIDENCE}
            chance_rate = 0.25
            odds = np.log(1 / 3) + 2.0 * evidence["departure"]
            right = rng.random(n_steps) < probability(odds)
            yield Case(
                source=source,
                variant="task",
                evidence=evidence,
                chance=chance_inputs(n_steps, 120.0),
                right=right,
                true_step=np.where(right, rng.integers(1, 4, n_steps), 0),
                cluster=rng.integers(0, 3, n_steps),
                chance_rate=chance_rate,
                is_white=False,
                found=None,
            )


@pytest.fixture(scope="module")
def cases():
    return list(made_up_cases(np.random.default_rng(0)))


@pytest.fixture(scope="module")
def equal_parts():
    return [
        ChanceCase(source, {k: float(v[0]) for k, v in chance_inputs(n, 10.0 * n).items()}, 0.25)
        for source in SOURCES
        for n in (3, 6, 12, 24)
    ]


def test_a_logistic_model_finds_the_weights_it_was_made_with():
    rng = np.random.default_rng(1)
    x, offset = rng.normal(2.0, 3.0, 20_000), rng.normal(size=20_000)
    outcome = rng.random(20_000) < probability(offset + 0.5 + 0.8 * (x - 2.0) / 3.0)
    model = fit_logistic({"x": x}, outcome.astype(float), np.ones(20_000), offset)
    assert model.weights["x"].weight == pytest.approx(0.8, abs=0.12)  # a ridge shrinks it
    assert model.intercept == pytest.approx(0.5, abs=0.1)


def test_the_stated_confidence_is_met(cases, equal_parts):
    fitted = fit(cases, equal_parts)
    assert fitted.lift.weights["departure"].weight > 1
    assert abs(fitted.lift.weights["length"].weight) < 0.1  # it says nothing here
    values = np.concatenate([stated(case, fitted) for case in cases])
    right = np.concatenate([case.right for case in cases])
    high = values > 0.5
    realised = (right[high].mean() - 0.25) / 0.75
    assert values[high].mean() == pytest.approx(realised, abs=0.15)  # a ridge makes it cautious


def test_a_step_is_right_from_half_of_the_union_on_and_one_to_one():
    true = np.array([[0.0, 10.0], [10.0, 30.0]])
    shown = np.array([[0.0, 5.0], [5.0, 10.0], [12.0, 30.0], [40.0, 41.0]])
    matched = match(shown, true)
    assert sorted(matched[:2]) == [-1, 0]  # both overlap it by half; only one counts
    assert matched[2:].tolist() == [1, -1]
    assert rate_of_equal_parts(true, 30.0, 3) == pytest.approx(2 / 3)


def test_repeats_are_counted_where_both_steps_are_confident():
    case = Case(
        source="one",
        variant="task",
        evidence={},
        chance={},
        right=np.array([True, True, True, False]),
        true_step=np.array([1, 1, 2, 0]),
        cluster=np.array([0, 0, 0, 0]),
        chance_rate=0.2,
        is_white=False,
        found=None,
    )
    values = np.array([0.6, 0.6, 0.6, 0.1])
    assert count_repeats([(case, values)], 0.5) == (2, 1)
    assert count_repeats([(case, values)], 0.0) == (3, 1)
    assert repeat_level([case], [values]) is None  # too few to judge by
    assert repeat_level([case] * 20, [values] * 20) == 0.15
    later = replace(case, variant=LATER)
    assert repeat_level([later] * 20, [values] * 20) is None  # as in the fit


def test_tables_have_counts_beside_every_rate(cases, equal_parts):
    fitted = fit(cases, equal_parts)
    text = tables(cases, [stated(case, fitted) for case in cases], fitted)
    assert "| one | 720 |" in text
    assert "Evidence in use" in text


def test_what_the_decoder_says_decides_whether_a_recording_is_clear(cases, equal_parts):
    fitted = fit(cases, equal_parts)
    for found, number in ((True, 60), (False, 0)):
        judged = [replace(case, found=found) for case in cases]
        text = tables(judged, [np.full(len(case.right), 0.01) for case in judged], fitted)
        assert f"| {number} of 60 |" in text


def test_later_takes_have_a_table_of_their_own_and_change_no_fit(cases, equal_parts):
    later = [replace(case, variant=LATER, right=~case.right) for case in cases[:10]]
    fitted = fit([*cases, *later], equal_parts)
    assert fitted == fit(cases, equal_parts)
    both = [*cases, *later]
    text = tables(both, [stated(case, fitted) for case in both], fitted)
    assert "| one | 720 |" in text
    assert "With `--model`" in text
    assert "| one | 120 |" in text


def test_noise_has_the_shape_of_the_recording_and_nothing_else():
    features = np.repeat(np.eye(3), 40, axis=0)
    recording = recording_from_arrays("take", np.arange(120) / 4, {"hands": features})
    for kind in NOISE:
        track = noisy(recording, kind).tracks["hands"]
        assert track.features.shape == (120, 3)
        assert not np.allclose(track.features, features)
