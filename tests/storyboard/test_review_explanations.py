"""Explanations of steps after edits by hand: followed, or dropped."""

from __future__ import annotations

import pytest
from boards import make_board

from stepreel.storyboard.editing import is_edited, make_consistent, seal
from stepreel.storyboard.schema import KeyStep, Likeness, StepExplanation, Storyboard


def explanation(*others):
    return StepExplanation(
        start_cues={"motion": 3.0},
        end_cues=None,
        looks_like=[Likeness(step=step, similarity=0.75) for step in others],
    )


@pytest.fixture
def board():
    """Four steps: 1 and 3 look alike, and all others look like 4."""
    made, likes = make_board(), {1: (3, 4), 2: (4,), 3: (1, 4), 4: ()}
    steps = [s.model_copy(update={"explanation": explanation(*likes[s.index])}) for s in made.steps]
    return seal(made.model_copy(update={"steps": steps}))


@pytest.fixture
def edited(board, tmp_path):
    """Return a function that edits the steps, and returns which ones each looks like afterwards."""

    def edit(change):
        path = tmp_path / "storyboard.json"
        whole = make_consistent(board.model_copy(update={"steps": change(board.steps)}), path)
        assert make_consistent(whole, path) == whole
        return [
            step.explanation and [other.step for other in step.explanation.looks_like]
            for step in whole.steps
        ]

    return edit


def test_a_storyboard_that_was_not_edited_stays_as_it_is(board, tmp_path):
    assert make_consistent(board, tmp_path / "storyboard.json") == board
    assert not is_edited(Storyboard.model_validate_json(board.to_json()))


def test_steps_are_named_by_their_new_number_once_one_is_gone(edited):
    assert edited(lambda steps: steps[1:]) == [[3], [3], []]  # 2, 3 and 4 are now 1, 2 and 3
    assert edited(lambda steps: steps[:3]) == [[3], [], [1]]


def test_a_step_added_by_hand_is_not_taken_for_the_one_whose_number_it_has(edited):
    by_hand = KeyStep(title="Wait", time=9.0, start=8.5, end=9.5, cluster=3)
    assert by_hand.index == 1
    assert edited(lambda steps: [*steps, by_hand]) == [None, [5], None, [5], []]
    assert edited(lambda steps: [by_hand, *steps[1:]]) == [[4], None, [4], []]


def test_a_step_with_other_borders_is_neither_explained_nor_named(edited):
    def longer(steps):
        return [*steps[:3], steps[3].model_copy(update={"end": 19.0})]

    assert edited(longer) == [[3], [], [1], None]


def test_another_title_or_kind_changes_no_explanation(edited):
    def renamed(steps):
        return [step.model_copy(update={"title": "Fold", "cluster": 1}) for step in steps]

    assert edited(renamed) == [[3, 4], [4], [1, 4], []]


@pytest.mark.parametrize("wrong", [{"step": 0}, {"step": 1, "similarity": 1.5}, {"step": "two"}])
def test_an_explanation_that_cannot_be_right_is_refused(wrong):
    with pytest.raises(ValueError, match=r"step|similarity"):
        Likeness.model_validate({"similarity": 0.5, **wrong})
