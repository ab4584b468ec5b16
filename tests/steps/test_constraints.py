"""Demands on the steps of a recording: what holds, how little is changed, and what cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepreel.config import KeyStepSettings
from stepreel.errors import ConstraintError, SettingsError
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.constraints import check_constraints, check_shown, constrained
from stepreel.steps.decoders.base import from_labels
from stepreel.steps.key_steps import pick_key_steps
from stepreel.steps.samplers.sample import sample_steps


def found(labels, **demanded):
    """Return (first, last, kind) of the steps of a recording with a moment per second."""
    constrained_steps, _ = both(labels, **demanded)
    return extents(constrained_steps.key_steps)


def extents(key_steps):
    return [(int(s.members[0]), int(s.members[-1]), s.cluster) for s in key_steps.segments]


def both(labels, *, features=None, times=None, holes=(), split_gap_seconds=1.5, **demanded):
    """Return steps that meet what is demanded, and those of them that are shown.

    holes  moments that were trimmed
    """
    labels = np.asarray(labels)
    if features is None:
        features = labels[:, None].astype(float)
    times = np.arange(len(labels), dtype=float) if times is None else np.asarray(times)
    recording = recording_from_arrays("r", times, {"a": features})
    choice = KeyStepSettings(min_step_seconds=2, split_gap_seconds=split_gap_seconds, **demanded)
    clustering = from_labels(recording, labels, int(labels.max()) + 1)
    uncertain = np.isin(np.arange(len(labels)), holes)
    clustering = replace(clustering, uncertain=uncertain)
    picked = pick_key_steps(clustering, choice, moment_seconds=1.0)
    check_constraints(choice, 1)
    got = constrained(picked, clustering, recording, choice, lambda: np.asarray(features))
    shown = sample_steps(
        got.key_steps, recording, choice, lambda: np.asarray(features), got.required
    )
    check_shown(shown, recording, choice)
    return got, shown


STEPS = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2]


def test_without_demands_nothing_changes():
    assert found(STEPS) == [(0, 3, 0), (4, 7, 1), (8, 11, 0), (12, 15, 2)]


def test_two_moments_that_are_the_same_step_share_the_earlier_one_s_kind():
    assert found(STEPS, same="5,13") == [(0, 3, 0), (4, 7, 1), (8, 11, 0), (12, 15, 1)]


def test_neighbours_that_are_the_same_step_become_one():
    assert found(STEPS, same="1,5") == [(0, 7, 0), (8, 11, 0), (12, 15, 2)]
    assert found(STEPS, same="1,5;9,5") == [(0, 11, 0), (12, 15, 2)]


def test_two_visits_that_are_different_steps_get_another_kind():
    assert found(STEPS, different="1,9") == [(0, 3, 0), (4, 7, 1), (8, 11, 3), (12, 15, 2)]


def test_what_is_the_same_step_changes_with_it():
    steps = found(STEPS, different="1,9", same="9,13")
    assert steps == [(0, 3, 0), (4, 7, 1), (8, 15, 3)]


def test_one_step_is_cut_between_two_moments_where_most_changes():
    features = np.array([0.0, 0, 0, 0, 0, 5, 5, 5, 5, 5])[:, None]
    steps = found([0] * 10, features=features, different="2,8")
    assert steps == [(0, 4, 0), (5, 9, 1)]


@pytest.mark.parametrize("seed", range(5))
def test_most_changes_where_the_parts_differ_most(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 3)) + rng.normal(size=(4, 3)).repeat(10, axis=0) + 100
    (_, last, _), _ = found([0] * 40, features=features, different="5,30")

    def between(n):
        difference = features[:n].mean(axis=0) - features[n:].mean(axis=0)
        return float(np.square(difference).sum()) * n * (40 - n)

    assert last + 1 == max(range(6, 31), key=between)


def test_a_cut_that_would_leave_less_than_the_shortest_step_is_refused():
    with pytest.raises(ConstraintError, match="would be shorter than 2 s"):
        found([0] * 8, different="0,1")


def test_at_least_so_many_steps_are_had_by_cutting_the_longest():
    features = np.array([0.0] * 6 + [5.0] * 4 + [9.0] * 6)[:, None]
    steps = found([0] * 10 + [1] * 6, features=features, at_least=3)
    assert steps == [(0, 5, 0), (6, 9, 0), (10, 15, 1)]
    with pytest.raises(ConstraintError, match="only 8 steps of 2 s or more"):
        found([0] * 10 + [1] * 6, features=features, at_least=9)


def test_a_cut_leaves_room_for_as_many_steps_as_are_demanded():
    features = np.array([0.0] * 3 + [5.0] * 3)[:, None]  # most changes before 3
    assert found([0] * 6, features=features, at_least=2) == [(0, 2, 0), (3, 5, 0)]
    steps = found([0] * 6, features=features, at_least=3)
    assert steps == [(0, 1, 0), (2, 3, 0), (4, 5, 0)]


def test_a_moment_between_steps_gets_a_step_of_its_own():
    labels = [0, 0, 0, 0, 1, 2, 2, 2, 2]  # 4: too short to be a step
    assert found(labels) == [(0, 3, 0), (5, 8, 2)]
    assert found(labels, contains="4") == [(0, 2, 0), (3, 4, 1), (5, 8, 2)]


def test_a_moment_where_no_step_fits_is_refused():
    with pytest.raises(ConstraintError, match="--contains 2: no step of 2 s"):
        found([0, 0, 1, 2, 2], contains="2")


def test_a_demanded_step_is_shown_whatever_the_limit():
    for moment in (1, 5, 9, 13):
        _, shown = both(STEPS, contains=str(moment), top=1)
        ((first, last, _),) = extents(shown)
        assert first <= moment <= last
    with pytest.raises(ConstraintError, match="2 steps have to be shown"):
        both(STEPS, contains="1,5", top=1)
    with pytest.raises(ConstraintError, match=r"last 8\.0 s together, more than the 5 s"):
        both(STEPS, contains="1,5", budget_seconds=5)


def test_the_budget_that_is_left_goes_to_other_steps():
    _, shown = both(STEPS, contains="13", budget_seconds=8.5)
    assert len(shown.segments) == 2
    assert extents(shown)[-1] == (12, 15, 2)


TWO_PARTS = [*range(4), *range(8, 12)]  # seconds; nothing was recorded from 4 s to 8 s


def test_a_moment_at_which_nothing_was_recorded_is_refused():
    for moment in ("4", "6.5", "7.999"):
        with pytest.raises(SettingsError, match="nothing was recorded from 4 s to 8 s"):
            both([0] * 8, times=TWO_PARTS, contains=moment)
    assert found([0] * 8, times=TWO_PARTS, contains="3.9,8") == [(0, 3, 0), (4, 7, 0)]
    assert found([0] * 8, times=TWO_PARTS, contains="11.9") == [(0, 3, 0), (4, 7, 0)]
    with pytest.raises(SettingsError, match=r"the recording lasts 12\.0 s"):
        both([0] * 8, times=TWO_PARTS, contains="12")


def test_no_step_is_made_or_joined_across_a_gap():
    assert found([0] * 8, times=TWO_PARTS, same="3,8") == [(0, 3, 0), (4, 7, 0)]
    labels = [0, 0, 0, 1, 1, 2, 2, 2]
    assert found(labels, times=TWO_PARTS) == [(0, 2, 0), (5, 7, 2)]
    assert found(labels, times=TWO_PARTS, contains="8") == [(0, 2, 0), (4, 5, 1), (6, 7, 2)]


def test_times_that_are_not_quite_regular_leave_no_gaps():
    times = [0.0, 1.0, 2.1, 3.0, 4.0, 5.0]
    assert found([0] * 6, times=times, contains="2.05") == [(0, 5, 0)]


def test_a_step_that_a_storyboard_starts_at_a_moment_contains_it():
    times = np.arange(8) + 0.0004  # from 4.0004 s, which is 4 s there
    times[0] = 0
    _, shown = both([0, 0, 0, 0, 1, 1, 1, 1], times=times, contains="4", top=1)
    assert extents(shown) == [(4, 7, 1)]


def test_a_cut_gives_trimmed_moments_between_the_parts_to_one_of_them():
    features = np.array([0.0, 0, 0, 0, 0, 0, 5, 5, 5])[:, None]
    whole = {"features": features, "holes": (3, 4, 5), "split_gap_seconds": 5}
    assert found([0] * 9, **whole) == [(0, 8, 0)]
    for a, b, edge in ((1, 3, 3), (3, 5, 4), (4, 5, 5), (5, 7, 6)):
        steps = found([0] * 9, **whole, different=f"{a},{b}")
        assert steps == [(0, edge - 1, 0), (edge, 8, 1)]
    got, _ = both([0] * 9, **whole, different="4,5")
    before, after = got.key_steps.segments
    assert before.members.tolist() == [0, 1, 2, 3, 4]
    assert after.members.tolist() == [5, 6, 7, 8]
    assert before.nearest in (0, 1, 2)  # a trimmed moment does not show a step


def test_a_step_that_spares_a_moment_keeps_its_trimmed_ones():
    labels = [0, 0, 0, 0, 0, 0, 1, 2, 2]
    steps = {"holes": (3, 4), "split_gap_seconds": 5}
    assert found(labels, **steps) == [(0, 5, 0), (7, 8, 2)]
    assert found(labels, **steps, contains="6,4") == [(0, 4, 0), (5, 6, 1), (7, 8, 2)]


def test_a_demanded_moment_is_never_spared():
    labels = [0, 0, 0, 0, 1, 2, 2, 2, 2]
    assert found(labels, contains="4") == [(0, 2, 0), (3, 4, 1), (5, 8, 2)]
    assert found(labels, contains="4,3") == [(0, 3, 0), (4, 5, 1), (6, 8, 2)]
    for demanded in ({"different": "3,4"}, {"different": "4,3"}, {"different": "3,8;4,0"}):
        assert found(labels, **demanded) == [(0, 3, 0), (4, 5, 1), (6, 8, 2)]
    with pytest.raises(ConstraintError, match="--different 4: no step of 2 s"):
        found(labels, different="3,4;5,8")


def test_a_step_that_is_too_short_stays_only_if_it_is_all_there_is():
    flicker = [0, 1, 0, 1, 0, 1]
    assert found(flicker) == [(0, 0, 0)]
    assert found(flicker, contains="0") == [(0, 0, 0)]
    assert found(flicker, at_least=1) == [(0, 0, 0)]
    assert found(flicker, contains="3") == [(2, 4, 1)]
    assert found(flicker, contains="0,4") == [(0, 1, 0), (3, 5, 0)]


def test_at_least_so_many_steps_are_shown_within_the_budget():
    _, shown = both(STEPS, at_least=3, budget_seconds=12)
    assert len(shown.segments) == 3
    with pytest.raises(ConstraintError, match=r"2 of the 4 .* the 3 shortest ones last 12\.0 s"):
        both(STEPS, at_least=3, budget_seconds=11)
    with pytest.raises(ConstraintError, match=r"1 of the 4 .* the 4 shortest ones last 16\.0 s"):
        both(STEPS, at_least=4, contains="5", budget_seconds=4)


@pytest.mark.parametrize(
    ("demanded", "message"),
    [
        ({"same": "1,5", "different": "5,1"}, "cannot be both"),
        ({"same": "1,5;5,9", "different": "1,9"}, "cannot be both"),
        ({"different": "3,3"}, "cannot be both"),
        ({"at_least": 5, "top": 4}, "contradict each other"),
        ({"contains": "99"}, "the recording lasts 16.0 s"),
    ],
)
def test_what_contradicts_itself_is_refused(demanded, message):
    with pytest.raises(SettingsError, match=message):
        both(STEPS, **demanded)


def test_same_and_different_steps_that_meet_in_one_step_are_refused():
    with pytest.raises(ConstraintError, match="one and the same"):
        both(STEPS, same="1,5;2,9", different="5,9")


def test_moments_are_of_one_recording():
    with pytest.raises(SettingsError, match="name the folder of one"):
        check_constraints(KeyStepSettings(contains="3"), 2)
    check_constraints(KeyStepSettings(at_least=3), 2)
