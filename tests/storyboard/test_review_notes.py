"""Notes that state something about the steps, after an edit by hand."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board

from stepreel.config import KeyStepSettings
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders.base import Decision
from stepreel.steps.key_steps import KeySteps, Segment
from stepreel.storyboard import notes
from stepreel.storyboard.editing import make_consistent, seal, with_titles
from stepreel.storyboard.review_notes import UNCLEAR_NOTE, is_unclear
from stepreel.storyboard.titles import Titles, titles_by_name
from stepreel.types import Clustering

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


def test_what_the_decoder_found_decides_whether_there_is_a_structure():
    sure, unsure = (found(shown=(0, 1, 0, 2), confidence=value) for value in (0.9, 0.01))
    nothing = Decision("Little structure found.", found_structure=False)
    assert notes._unclear_note(sure, nothing) == [UNCLEAR_NOTE]
    assert notes._unclear_note(unsure, Decision("Steps recur.", found_structure=True)) == []
    assert notes._unclear_note(unsure, Decision("Found by a plug-in.")) == [UNCLEAR_NOTE]
    noise = found(shown=(0, 1, 0, 2), confidence=0.0)
    known = Decision("Steps recur.", found_structure=True)
    assert notes._unclear_note(noise, known) == [UNCLEAR_NOTE]


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


# Notes are recognised by their wording: these are written by the code that writes them in a run.


def found(*, shown, hidden=(), confidence=0.75):
    """Return key steps of these clusters, one moment each."""

    def segments(clusters):
        return [
            Segment(cluster, np.array([0]), 0, 0.1, margin=0.5, confidence=confidence)
            for cluster in clusters
        ]

    nobody = np.zeros(0, np.int64)
    return KeySteps(segments(shown), segments(hidden), nobody, nobody.astype(bool))


def limited(**choice):
    key_steps = found(shown=(0, 1, 0, 2), hidden=(1, 1, 0))
    recording = recording_from_arrays("take", np.arange(9), {"hands": np.zeros((9, 1))})
    (note,) = notes._hidden_note(recording, key_steps, KeyStepSettings.model_validate(choice))
    return note


def missing_kinds(n_clusters, labels):
    labels = np.array(labels)
    flat = np.zeros(len(labels), np.float32)
    clustering = Clustering(
        np.arange(len(labels)) / 4, labels, flat, flat, labels < 0, n_clusters=n_clusters
    )
    key_steps = found(shown=(0, 1, 0, 2))
    (note,) = notes._missing_kinds_note(clustering, key_steps, KeyStepSettings(n_clusters=7))
    return note


def gone(steps):
    return steps[:2]


@pytest.mark.parametrize(
    "note",
    [
        limited(top=4),
        limited(),
        limited(top=4, budget_seconds=4, sample="ils"),
        limited(budget_seconds=4, sample="nearest"),
        limited(budget_seconds=0.5),
    ],
)
def test_a_note_about_hidden_steps_is_recognised_as_it_is_written(edit, note):
    assert note.startswith("4 of the 7 steps found are shown")
    assert edit([note, OTHER], renamed) == [note, OTHER]
    assert edit([note, OTHER], gone) == [OTHER]


@pytest.mark.parametrize(
    "note",
    [
        missing_kinds(7, range(7)),  # some never last
        missing_kinds(4, range(4)),  # there are fewer
        missing_kinds(7, range(3)),  # some do not occur
    ],
)
def test_a_note_about_missing_kinds_is_recognised_as_it_is_written(edit, note):
    assert edit([note, OTHER], renamed) == [note, OTHER]
    assert edit([note, OTHER], gone) == [OTHER]


@pytest.mark.parametrize("file", ["titles.csv", "a: b, kind C.csv"])
def test_a_note_about_unused_titles_is_recognised_as_it_is_written(edit, file):
    titles = Titles({"F": "Fold", "Q": "Cut"}, {2: "Turn", 9: "Close"}, file)
    (note,) = titles.unused_note([0, 1, 0, 2])
    assert edit([note, OTHER], renamed) == [note, OTHER]
    assert edit([note, OTHER], with_one_by_hand) == [note.replace("kind F, ", ""), OTHER]
    named = make_board().model_copy(update={"notes": [note, OTHER]})
    assert with_titles(named, titles_by_name({"A": "Open"})).notes == [OTHER]


def test_the_note_about_unclear_steps_is_recognised_as_it_is_written(edit):
    (note,) = notes._unclear_note(found(shown=(0, 1, 0, 2), confidence=0.0), None)
    assert is_unclear(make_board().model_copy(update={"notes": [note]}))
    assert edit([note, OTHER], renamed, confidence=0.01) == [note, OTHER]
    assert edit([note, OTHER], renamed) == [OTHER]
