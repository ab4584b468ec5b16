"""Notes that state something about the steps, after an edit by hand."""

from __future__ import annotations

import pytest
from boards import make_board

from stepreel.storyboard.editing import make_consistent, seal, with_titles
from stepreel.storyboard.review_notes import UNCLEAR_NOTE, is_unclear
from stepreel.storyboard.titles import titles_by_name

LIMITED = "4 of the 9 steps found are shown, the clearest ones, because at most 4 were asked for."
KINDS = "Found 3 of the 7 kinds of steps asked for: its moments differ too little for more."
UNUSED = "Not found in this recording, but named in titles.csv: kind F, step 5."
OTHER = "The video ends early."


@pytest.fixture
def edit(tmp_path):
    """Return a function that edits a storyboard with notes, and returns the notes afterwards."""

    def edited_notes(notes, change=lambda steps: steps, *, confidence=0.75):
        board = make_board()
        steps = [step.model_copy(update={"confidence": confidence}) for step in board.steps]
        board = seal(board.model_copy(update={"notes": notes, "steps": steps}))
        edited = board.model_copy(update={"steps": change(board.steps)})
        whole = make_consistent(edited, tmp_path / "storyboard.json")
        assert make_consistent(whole, tmp_path / "storyboard.json").notes == whole.notes
        return whole.notes

    return edited_notes


def renamed(steps):
    return [steps[0].model_copy(update={"title": "Open"}), *steps[1:]]


def with_one_by_hand(steps):
    by_hand = {"start": 8.5, "time": 9.0, "end": 9.5, "cluster": 5, "margin": None}
    return [*steps, steps[0].model_copy(update={**by_hand, "confidence": 0.0})]


def test_notes_that_are_still_true_stay(edit):
    notes = [LIMITED, KINDS, UNUSED, OTHER]
    assert edit(notes, renamed) == notes


def test_the_number_of_steps_is_no_longer_stated_once_it_is_another(edit):
    assert edit([LIMITED, OTHER], lambda steps: steps[1:]) == [OTHER]
    # One is gone and one is new: as many as before, but not the ones that were found.
    assert edit([LIMITED, OTHER], lambda steps: with_one_by_hand(steps[1:])) == [OTHER]


def test_the_number_of_kinds_is_no_longer_stated_once_it_is_another(edit):
    assert edit([KINDS, OTHER], lambda steps: steps[:3]) == [OTHER]


def test_titles_that_a_step_has_now_are_no_longer_called_unused(edit):
    assert edit([UNUSED], with_one_by_hand) == []

    def split_the_last(steps):
        last = steps[3].model_copy(update={"end": 17.5})
        rest = steps[3].model_copy(update={"start": 17.5, "time": 18.0})
        return [*steps[:3], last, rest]

    assert edit([UNUSED], split_the_last) == [UNUSED.replace(", step 5", "")]


def test_no_clear_structure_is_judged_again_by_the_steps_that_are_left(edit):
    def clear_the_first(steps):
        return [steps[0].model_copy(update={"confidence": 0.9}), *steps[1:]]

    assert edit([UNCLEAR_NOTE], clear_the_first, confidence=0.01) == []
    assert edit([UNCLEAR_NOTE], renamed, confidence=0.01) == [UNCLEAR_NOTE]
    assert edit([OTHER], lambda steps: steps[:2], confidence=0.01) == [OTHER, UNCLEAR_NOTE]


def test_steps_that_a_person_made_are_not_unclear(edit):
    def all_by_hand(steps):
        return [step.model_copy(update={"margin": None, "confidence": 0.0}) for step in steps]

    assert edit([UNCLEAR_NOTE], all_by_hand, confidence=0.01) == []


def test_while_steps_are_hidden_the_verdict_about_all_of_them_stays(edit):
    assert edit([LIMITED, UNCLEAR_NOTE], renamed) == [LIMITED, UNCLEAR_NOTE]


def test_an_unclear_storyboard_of_an_earlier_version_is_recognised():
    note = "No clear structure found: these steps are hardly more reliable than equal parts."
    assert is_unclear(make_board().model_copy(update={"notes": [note]}))
    assert not is_unclear(make_board())


def test_new_titles_replace_the_note_about_unused_ones():
    board = make_board().model_copy(update={"notes": [UNUSED, OTHER]})
    named = with_titles(board, titles_by_name({"A": "Open", 2: "Turn", "Q": "Never"}))
    assert [step.title for step in named.steps] == ["Open", "Turn", "Open", "Step 4"]
    assert named.notes == [
        OTHER,
        "Not found in this recording, but named in titles: kind Q.",
    ]
