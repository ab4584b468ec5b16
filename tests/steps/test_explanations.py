"""What is said about a step's borders, and which steps look like it."""

from __future__ import annotations

import numpy as np
import pytest

from stepreel import find_key_steps
from stepreel.config import Settings
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.evidence import TaskSteps, projected_features
from stepreel.steps.explanations import alike_steps, explain_steps
from stepreel.steps.key_steps import KeySteps, Segment, show_only

N = 40  # moments of a step, ten seconds


def wandering(rng, n, width):
    """Return noise whose neighbouring moments are alike, as in recordings."""
    noise = rng.normal(size=(n + 4, width))
    return sum(noise[shift : shift + n] for shift in range(5)) / 5


def explained(levels, n_shown=None, **others):
    """Explain steps of N moments; `levels` has a row per cue, and a column per step."""
    rng = np.random.default_rng(0)
    n_steps = len(next(iter(levels.values())))
    arrays = {}
    for cue, own in levels.items():
        direction = rng.normal(size=(1, 16))
        rows = np.repeat(np.array(own, float), N)[:, None]
        arrays[cue] = rows * direction + 0.3 * wandering(rng, n_steps * N, 16)
    arrays |= {cue: np.full((n_steps * N, 3), value) for cue, value in others.items()}
    recording = recording_from_arrays("take", np.arange(n_steps * N) / 4, arrays)
    segments = [Segment(0, np.arange(n * N, (n + 1) * N), n * N, 0.1, 1.0) for n in range(n_steps)]
    step_of = np.repeat(np.arange(n_steps), N)
    key_steps = KeySteps(segments, [], step_of, np.ones(len(step_of), bool))
    task = TaskSteps([recording], None, [key_steps], Settings())
    if n_shown is not None:
        key_steps = show_only(key_steps, range(n_shown))
    return explain_steps(key_steps, task, 0)


def names(segment):
    found = segment.explanation
    return tuple(
        None if cues is None else list(cues) for cues in (found.start_cues, found.end_cues)
    )


def test_a_cue_is_named_where_it_jumps_and_a_constant_one_never():
    steps = explained({"hands": [0, 1, 1, 1], "gaze": [0, 0, 0, 3]}, still=7.0)
    assert [names(segment) for segment in steps.segments] == [
        (None, ["hands"]),
        (["hands"], []),
        ([], ["gaze"]),
        (["gaze"], None),
    ]


def test_the_cue_that_changes_most_comes_first():
    both = explained({"hands": [0, 1], "gaze": [0, 9]}).segments[1].explanation.start_cues
    assert list(both) == ["gaze", "hands"]
    assert both["gaze"] > both["hands"] > 2  # times the usual change


def test_nothing_is_said_about_noise_or_where_nothing_changes():
    steps = explained({"hands": [0, 0, 0]}, still=1.0)
    assert all(cues in (None, []) for segment in steps.segments for cues in names(segment))
    noise = {"hands": (np.arange(400) / 4, np.random.default_rng(0).normal(size=(400, 2)))}
    for step in find_key_steps(noise, cache=False, key_steps__n_steps=5).steps:
        assert not step.explanation.start_cues
        assert not step.explanation.end_cues
        assert step.explanation.looks_like == []


def test_steps_that_look_alike_are_named_whatever_their_cluster_and_hidden_ones_never():
    levels = {"hands": [0, 5, 0, 9, 5]}
    alike = [dict(s.explanation.looks_like) for s in explained(levels).segments]
    assert [list(others) for others in alike] == [[2], [4], [0], [], [1]]
    assert all(similarity > 0.8 for others in alike for similarity in others.values())
    shown = explained(levels, n_shown=4)
    assert [[n for n, _ in s.explanation.looks_like] for s in shown.segments] == [[2], [], [0], []]
    assert all(segment.explanation is None for segment in shown.hidden)


def test_the_three_most_similar_are_named_in_order():
    means = np.array([[0.0], [3.0], [2.0], [1.0], [4.0], [-90.0], [90.0]])
    (first, *_) = alike_steps(means, 7)
    assert [n for n, _ in first] == [3, 2, 1]
    similarities = [similarity for _, similarity in first]
    squares = np.square(means - means.T)
    usual = np.sqrt(squares.sum() / 42)
    assert similarities == pytest.approx(1 - np.array([1, 2, 3]) / usual, abs=1e-3)


@pytest.mark.parametrize("means", [np.zeros((5, 2)), np.zeros((1, 2)), np.eye(2)])
def test_steps_that_cannot_be_compared_look_like_none(means):
    assert alike_steps(means, len(means)) == [()] * len(means)


def test_features_of_the_cues_add_up_to_those_of_all():
    rng = np.random.default_rng(0)
    arrays = {"hands": rng.normal(size=(30, 5)), "gaze": rng.normal(size=(30, 70))}
    arrays["gaze"][3] = np.nan
    projected = projected_features(recording_from_arrays("take", np.arange(30), arrays))
    np.testing.assert_allclose(sum(projected.by_cue.values()), projected.together, atol=1e-12)
    assert not projected.by_cue["gaze"][3].any()


def test_a_storyboard_says_how_often_as_much_as_usual_a_cue_changes_and_names_steps():
    hands = np.repeat([0, 1, 0, 1], N)[:, None] + 0.1 * wandering(
        np.random.default_rng(0), 4 * N, 3
    )
    source = {"hands": (np.arange(4 * N) / 4, hands)}
    steps = find_key_steps(source, cache=False, key_steps__n_steps=4).steps
    assert [step.explanation.start_cues is None for step in steps] == [True, False, False, False]
    assert [step.explanation.end_cues is None for step in steps] == [False, False, False, True]
    assert steps[1].explanation.start_cues == steps[0].explanation.end_cues
    assert steps[1].explanation.start_cues["hands"] > 2
    assert [[other.step for other in s.explanation.looks_like] for s in steps] == [
        [3],
        [4],
        [1],
        [2],
    ]
