from __future__ import annotations

import json
from itertools import pairwise

import pytest
from boards import make_board

from stepreel.errors import OutputError, StepreelError
from stepreel.storyboard.editing import check_not_edited, is_edited, make_consistent, seal
from stepreel.storyboard.schema import Storyboard


def edited(board, **changes):
    return board.model_copy(update=changes)


def test_an_edit_is_recognised_and_formatting_is_not_one(tmp_path):
    board = seal(make_board())
    (tmp_path / "storyboard.json").write_text(json.dumps(json.loads(board.to_json())))
    check_not_edited(tmp_path)
    changed = edited(board, title="Another")
    assert is_edited(changed)
    assert is_edited(make_board())  # its hash was removed
    (tmp_path / "storyboard.json").write_text(changed.to_json())
    with pytest.raises(OutputError, match="was edited by hand"):
        check_not_edited(tmp_path)
    (tmp_path / "storyboard.json").write_text(changed.to_json()[:-5])
    with pytest.raises(OutputError, match="It is kept; correct it"):
        check_not_edited(tmp_path)


def test_deleting_and_reordering_steps_by_hand_gives_a_whole_storyboard(tmp_path):
    board = seal(make_board())
    steps = [board.steps[3], board.steps[1].model_copy(update={"end": 9.5}), board.steps[2]]
    whole = make_consistent(edited(board, steps=steps), tmp_path)
    assert [(s.index, s.start, s.end, s.occurrence, s.occurrences) for s in whole.steps] == [
        (1, 4.0, 9.5, 1, 1),
        (2, 10.0, 14.0, 1, 1),
        (3, 14.0, 20.0, 1, 1),
    ]
    assert not any(step.is_repeat for step in whole.steps)
    timeline = [(s.start, s.end, s.kind, s.step) for s in whole.timeline]
    assert timeline[0] == (0.0, 4.0, "left-out", None)  # was step 1
    assert [(a, b) for a, b, kind, _ in timeline if kind == "step"] == [
        (4.0, 9.5),
        (10.0, 14.0),
        (14.0, 20.0),
    ]
    for before, after in pairwise(timeline):
        assert before[1] <= after[0]
    assert is_edited(whole)
    Storyboard.model_validate_json(whole.to_json())


def test_an_unchanged_storyboard_stays_as_it_is(tmp_path):
    board = seal(make_board())
    assert make_consistent(board, tmp_path) is board
    renamed = [board.steps[0].model_copy(update={"title": "Open"}), *board.steps[1:]]
    assert make_consistent(edited(board, steps=renamed), tmp_path).timeline == board.timeline


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"end": 5.0}, "steps may not overlap"),
        ({"time": 4.5}, "is outside of it"),
        ({"start": 19.0, "time": 21.0, "end": 30.0}, "the recording lasts 20 s"),
    ],
)
def test_an_impossible_edit_names_the_step(tmp_path, change, problem):
    board = make_board()
    steps = [board.steps[0].model_copy(update=change), *board.steps[1:]]
    with pytest.raises(StepreelError, match=problem) as raised:
        make_consistent(edited(board, steps=steps), tmp_path / "storyboard.json")
    assert "step 1 ('Step 1')" in str(raised.value)


def test_a_step_added_by_hand_needs_no_more_than_its_times_title_and_kind(tmp_path):
    board = make_board(background=[(8.0, 10.0)])
    content = json.loads(board.to_json())
    content["steps"].append({"start": 8.2, "time": 8.5, "end": 9.0, "title": "Turn", "cluster": 5})
    added = Storyboard.model_validate(content)
    whole = make_consistent(added, tmp_path)
    assert [(step.index, step.title) for step in whole.steps][2] == (3, "Turn")
    assert [(span.start, span.end) for span in whole.background] == [(8.0, 8.2), (9.0, 10.0)]


def test_default_titles_follow_the_number_of_the_visit(tmp_path):
    board = make_board(titles=["Step A", "Step B", "Step A · second time"])
    whole = make_consistent(edited(board, steps=board.steps[1:]), tmp_path)
    assert [step.title for step in whole.steps][:2] == ["Step B", "Step A"]


def test_a_folder_whose_name_is_too_long_is_one_clear_error(tmp_path):
    with pytest.raises(OutputError, match="File name too long"):
        check_not_edited(tmp_path / ("x" * 300))
