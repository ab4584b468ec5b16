"""What is said before anything else, where agreement of takes may be made by the decoder."""

from __future__ import annotations

import pytest
from compared_takes import board_of

from stepreel.comparison.notes import notes_on
from stepreel.storyboard.review_notes import UNCLEAR_NOTE
from stepreel.storyboard.schema import DecisionFacts


def found_with(weight: float):
    decision = DecisionFacts(sentence="Found.", figures={"time_weight": weight})
    return board_of("ABC").model_copy(update={"decision": decision})


def test_clear_takes_grouped_by_what_they_show_need_no_note():
    assert notes_on([board_of("ABC")] * 3) == []
    assert notes_on([found_with(0.0)] * 3) == []


@pytest.mark.parametrize("weight", [0.25, 2.0, -1.0])
def test_grouping_by_time_is_said(weight):
    (note,) = notes_on([found_with(weight)] * 2 + [found_with(0.0)])
    assert "--decoder hmm" in note
    assert notes_on([found_with(weight), found_with(0.0), found_with(0.0)]) == []


def test_takes_without_structure_are_counted():
    unclear = board_of("ABC").model_copy(update={"notes": [UNCLEAR_NOTE]})
    assert "in any of these takes" in notes_on([unclear, unclear])[0]
    assert "in 2 of 3 of these takes" in notes_on([unclear, unclear, board_of("ABC")])[0]
    assert notes_on([unclear, board_of("ABC")]) == []
