"""What a storyboard is worth, worked out by hand; a recording lasts 20 s if nothing else is said.

Its truth, one moment per second: background 0-2, step 1 2-8, step 2 8-12, background 12-14, step 1
again 14-20. So it has three true segments and four borders: 2, 8, 12 and 14 s.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from stepreel.evaluation.metrics.storyboard_worth import (
    MEASURES,
    TOLERANCES,
    Rates,
    RecordingJudge,
    count_matches,
    predicted_borders,
    tolerance_seconds,
)
from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps, true_segments

TIMES = np.arange(20.0)
LABELS = np.repeat([0, 1, 2, 0, 1], [2, 6, 4, 2, 6])
TRUTH = TrueSteps.of_labels(LABELS, TIMES)
ZERO = Rates(0, 0, 0)


def measure(*steps, truth=TRUTH):
    return RecordingJudge(truth).measure(ShownSteps.of_steps(steps))


def about(precision, recall, f1):
    """Equal to rates that differ by rounding only."""
    return pytest.approx((precision, recall, f1))


def at(time):
    """A shown step of half a second around its moment."""
    return time - 0.25, time + 0.25, time


def split(n, *, seconds=20.0, trim=0.0):
    """Equal parts, each shortened at both sides by a share of its length."""
    length = seconds / n
    return [((k + trim) * length, (k + 1 - trim) * length, (k + 0.5) * length) for k in range(n)]


def borders_of(steps, tau, seconds=20.0):
    return predicted_borders(ShownSteps.of_steps(steps), 0.0, seconds, tau).tolist()


# True steps


def test_true_segments_are_runs_of_one_key_step_without_background():
    segments = true_segments(LABELS, TIMES)
    assert segments.starts.tolist() == [2, 8, 14]
    assert segments.ends.tolist() == [8, 12, 20]
    assert segments.ids.tolist() == [1, 2, 1]


def test_true_borders_are_all_changes_of_label_but_not_the_recording_s_ends():
    assert TRUTH.borders.tolist() == [2, 8, 12, 14]
    assert (TRUTH.start, TRUTH.end) == (0, 20)
    assert TrueSteps.of_labels(np.ones(20, int), TIMES).borders.tolist() == []


def test_true_steps_are_on_the_recording_s_own_clock():
    truth = TrueSteps.of_labels(LABELS, 100 + TIMES / 2)
    assert (truth.start, truth.end, truth.seconds) == (100, 110, 10)
    assert truth.borders.tolist() == [101, 104, 106, 107]


# Shown steps


def test_runs_of_a_labelling_are_shown_by_their_middle_and_minus_one_is_no_step():
    shown = ShownSteps.of_labels(np.array([-1, 0, 0, 3, -1, 3]), np.arange(6) / 2)
    assert shown.starts.tolist() == [0.5, 1.5, 2.5]
    assert shown.ends.tolist() == [1.5, 2, 3]
    assert shown.moments.tolist() == [1, 1.75, 2.75]


def test_a_storyboard_s_steps_keep_their_own_moment_whatever_their_order():
    shown = ShownSteps.of_steps([(5, 9, 8.5), (0, 4, 1)])
    assert shown.starts.tolist() == [0, 5]
    assert shown.moments.tolist() == [1, 8.5]


# Coverage


def test_coverage_counts_true_segments_with_a_moment_and_shown_steps_that_are_needed():
    # Two pictures of the first segment, one of background: 1 of 3 segments, 1 of 3 pictures.
    worth = measure(at(3), at(5), at(13))["coverage"]
    assert worth.rates == about(100 / 3, 100 / 3, 100 / 3)
    assert (worth.n_shown, worth.n_true) == (3, 3)
    # All three segments, the last one twice.
    rates = measure(at(3), at(9), at(15), at(19))["coverage"].rates
    assert rates == about(75, 100, 100 * 6 / 7)


@pytest.mark.parametrize(("time", "covered"), [(1.9, 0), (2, 1), (7.9, 1), (12, 0), (20, 0)])
def test_the_start_of_a_segment_is_inside_it_and_its_end_is_not(time, covered):
    assert measure((0, 1, time))["coverage"].rates.recall == pytest.approx(100 * covered / 3)


def test_a_moment_on_a_border_counts_for_the_segment_that_begins_there():
    one_segment = measure(at(7.9), at(8))["coverage"].rates
    assert one_segment.recall == pytest.approx(200 / 3)  # steps 1 and 2, not step 1 twice


def test_identical_steps_count_as_often_as_they_are_shown():
    once, thrice = (measure(*[at(9)] * n)["coverage"] for n in (1, 3))
    assert (once.rates.precision, thrice.rates.precision) == (100, pytest.approx(100 / 3))
    assert thrice.n_shown == 3


# Borders


def test_borders_are_matched_one_to_one_within_tau():
    # A step from 2.5 to 8.5, another from 13 to 13.5: 2.5-2, 8.5-8, and one of 13 and 13.5 for 14
    # and the other for 12 (13-12, 13.5-14).
    worth = measure((2.5, 8.5, 5), (13, 13.5, 13.2))["1s"]
    assert worth.rates == Rates(100, 100, 100)
    assert (worth.n_shown, worth.n_true) == (4, 4)
    # 12.2 and 12.9 are both near 12 only: one of them is wasted.
    rates = measure((2.5, 8.5, 5), (12.2, 12.9, 12.5))["1s"].rates
    assert rates == Rates(75, 75, 75)


def test_a_border_exactly_tau_away_is_within_tau():
    assert measure((3, 20, 9))["1s"].rates == about(100, 25, 40)
    assert measure((3.01, 20, 9))["1s"].rates == ZERO
    # 30 Hz: 2.3333333333333335 - 1.3333333333333333 is a little more than 1.
    truth = TrueSteps.of_labels(np.repeat([0, 1], [40, 560]), np.arange(600) / 30)
    assert measure((70 / 30, 20, 9), truth=truth)["1s"].rates.recall == 100


def test_tau_is_one_second_two_seconds_and_five_percent_of_the_recording():
    assert [tolerance_seconds(name, 60) for name in TOLERANCES] == [1, 2, 3]
    # The border at 15.5 is 1.5 s from 14.
    assert [measure((15.5, 20, 17))[name].rates.precision for name in TOLERANCES] == [0, 100, 0]


def test_begins_and_ends_near_the_recording_s_ends_are_no_borders():
    assert borders_of([(1, 19, 10)], tau=1) == []
    assert borders_of([(1.1, 18.9, 10)], tau=1) == [1.1, 18.9]
    assert borders_of([(1.1, 18.9, 10)], tau=2) == []


def test_an_end_and_the_next_begin_less_than_tau_apart_are_one_border_in_the_middle():
    assert borders_of([(0, 8, 4), (8, 20, 14)], tau=1) == [8]
    assert borders_of([(0, 8, 4), (8.9, 20, 14)], tau=1) == pytest.approx([8.45])
    assert borders_of([(0, 8, 4), (9, 20, 14)], tau=1) == [8, 9]
    assert borders_of([(0, 8, 4), (9, 20, 14)], tau=2) == [8.5]
    assert borders_of([(0, 8.5, 4), (8, 20, 14)], tau=1) == [8.25]  # they overlap a little
    assert borders_of([(0, 12, 4), (8, 20, 14)], tau=1) == [8, 12]  # and much


def test_a_gap_does_not_move_a_border_out_of_reach_of_the_recording_s_end():
    # One border at 1.0 s, which is within a second of the start; not one at 1.3 s.
    assert borders_of([(0, 0.7, 0.3), (1.3, 20, 14)], tau=1) == []


def test_a_pause_between_steps_has_two_borders():
    assert borders_of([(0, 8, 4), (12, 20, 14)], tau=1) == [8, 12]
    assert measure((2, 12, 4), (14, 20, 17))["1s"].rates == about(100, 75, 600 / 7)


@pytest.mark.parametrize("n", [3, 5, 7])
def test_trimming_every_part_of_an_equal_split_gains_nothing(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        cuts = np.sort(rng.choice(np.arange(1, 400), 6, replace=False))
        truth = TrueSteps.of_labels(
            np.searchsorted(cuts, np.arange(400), side="right") % 3, np.arange(400) / 10
        )
        # Gaps of 5 % of a part are 0.3 to 0.7 s long: less than every tau.
        plain = measure(*split(n, seconds=40), truth=truth)
        trimmed = measure(*split(n, seconds=40, trim=0.025), truth=truth)
        for tolerance in TOLERANCES:
            assert trimmed[tolerance].n_shown == n - 1
            assert trimmed[tolerance].rates == plain[tolerance].rates


def test_without_the_two_rules_the_trimmed_split_would_have_more_guesses():
    steps = ShownSteps.of_steps(split(5, trim=0.025))
    assert len(np.unique([steps.starts, steps.ends])) == 10  # instead of 4


points = st.lists(st.integers(0, 60).map(lambda n: n / 4), max_size=14).map(sorted)


@given(points, points, st.sampled_from([0.25, 1.0, 2.0]))
def test_the_matching_is_a_largest_one(predicted, borders, tau):
    rows, columns = np.array(predicted, float), np.array(borders, float)
    largest = 0
    if predicted and borders:
        near = csr_array((np.abs(rows[:, None] - columns) <= tau).astype(np.int8))
        largest = int((maximum_bipartite_matching(near, perm_type="column") >= 0).sum())
    assert count_matches(rows[None], columns, tau).tolist() == [largest]


@given(st.lists(points, min_size=2, max_size=4), points)
def test_several_rows_of_points_are_matched_as_each_by_itself(many, borders):
    n = min(map(len, many))
    rows = np.array([row[:n] for row in many], float).reshape(len(many), n)
    alone = [count_matches(row[None], np.array(borders, float), 1.0)[0] for row in rows]
    assert count_matches(rows, np.array(borders, float), 1.0).tolist() == alone


# Nothing shown, nothing to show


def test_without_a_shown_step_everything_is_zero():
    for worth in measure().values():
        assert worth.rates == ZERO
        assert set(worth.nulls.values()) == {ZERO}
        assert worth.n_shown == 0
    assert measure()["coverage"].n_true == 3


def test_one_step_from_start_to_end_shows_no_border():
    everything = measure((0, 20, 10))
    assert [everything[name].rates for name in TOLERANCES] == [ZERO] * 3
    assert everything["coverage"].rates == about(100, 100 / 3, 50)


def test_a_recording_of_one_step_shown_as_one_is_right_and_shown_as_two_is_not():
    truth = TrueSteps.of_labels(np.ones(20, int), TIMES)
    assert measure((0, 20, 10), truth=truth)["1s"].rates == Rates(100, 100, 100)
    assert measure((0, 10, 5), (10, 20, 15), truth=truth)["1s"].rates == ZERO
    assert measure(truth=truth)["1s"].rates == ZERO


# Null baselines of the same number


def test_the_matched_split_of_coverage_has_the_middles_of_as_many_parts():
    # Five moments: 2, 6, 10, 14, 18. Of the three segments all are covered.
    nulls = measure(*[at(1)] * 5)["coverage"].nulls
    assert nulls["matched-split"] == about(60, 100, 75)
    # Two: 5 and 15.
    nulls = measure(at(1), at(1))["coverage"].nulls
    assert nulls["matched-split"] == about(100, 200 / 3, 80)


def test_the_matched_split_of_borders_has_as_many_borders_as_tau_leaves():
    # Within 1 s there are two borders, 1.5 and 10: the split has them at 6.7 and 13.3, that is at
    # the moments 7 (within 1 s of 8) and 14.
    # Within 2 s only 10 is left: the split has 10 as well, which is 2 s from 8 and 12.
    worth = measure((1.5, 10, 5), (10, 20, 15))
    assert worth["1s"].n_shown == 2
    assert worth["1s"].nulls["matched-split"] == about(100, 50, 200 / 3)
    assert worth["2s"].n_shown == 1
    assert worth["2s"].nulls["matched-split"] == about(100, 25, 40)


def test_an_equal_split_is_its_own_matched_split():
    for n in (2, 4, 5, 10):
        for worth in measure(*split(n)).values():
            assert worth.rates == worth.nulls["matched-split"]


def test_random_moments_cover_what_can_be_expected():
    # One segment of 5 of 20 s; n moments cover it with probability 1 - 0.75^n.
    truth = TrueSteps.of_labels(np.repeat([0, 1, 0], [10, 5, 5]), TIMES)
    for n in (1, 4):
        recalls = [
            RecordingJudge(truth, seed=seed)
            .measure(ShownSteps.of_steps([at(1)] * n))["coverage"]
            .nulls["matched-random"]
            .recall
            for seed in range(30)
        ]
        assert np.mean(recalls) == pytest.approx(100 * (1 - 0.75**n), abs=3)


def test_random_borders_are_drawn_where_borders_may_be_predicted():
    # One true border at 10 s. Of one moment per second, 3 of 18 that are allowed are within a
    # second of it; of a hundred, as good as 2 of the 18 s.
    for rate, expected in ((1, 3 / 18), (100, 2 / 18)):
        truth = TrueSteps.of_labels(np.repeat([1, 2], 10 * rate), np.arange(20 * rate) / rate)
        precisions = [
            RecordingJudge(truth, seed=seed)
            .measure(ShownSteps.of_steps([(5, 20, 9)]))["1s"]
            .nulls["matched-random"]
            .precision
            for seed in range(30)
        ]
        assert np.mean(precisions) == pytest.approx(100 * expected, abs=1.8)


def test_an_equal_split_of_moments_is_its_own_matched_split_at_any_rate():
    rng = np.random.default_rng(0)
    for n_moments, k in ((20, 3), (97, 7), (571, 6)):
        times = 4 + 30 * np.arange(n_moments) / n_moments
        truth = TrueSteps.of_labels(np.repeat(rng.integers(0, 3, n_moments), 9)[:n_moments], times)
        labels = np.arange(n_moments) * k // n_moments
        worth = RecordingJudge(truth).measure(ShownSteps.of_labels(labels, times))
        for tolerance in TOLERANCES:
            assert worth[tolerance].n_shown == k - 1
            assert worth[tolerance].rates == worth[tolerance].nulls["matched-split"]


def test_random_nulls_are_the_same_in_every_run_and_in_any_order():
    shown = [ShownSteps.of_steps(split(n)) for n in (3, 5)]
    judge, other = RecordingJudge(TRUTH), RecordingJudge(TRUTH)
    forwards = [judge.measure(one) for one in shown]
    backwards = [other.measure(one) for one in reversed(shown)]
    assert forwards == backwards[::-1]
    assert RecordingJudge(TRUTH, seed=1).measure(shown[0]) != forwards[0]


def test_many_borders_are_drawn_in_parts(monkeypatch):
    whole = measure(*split(6))
    monkeypatch.setattr("stepreel.evaluation.metrics.storyboard_worth._DRAWN_AT_ONCE", 40)
    in_parts = measure(*split(6))
    for name in MEASURES:
        assert in_parts[name].nulls == whole[name].nulls
