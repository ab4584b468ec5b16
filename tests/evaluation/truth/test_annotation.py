from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import Annotation, Problems, TrueStep
from stepreel.evaluation.truth.rows import Row, build_annotation, rows_of_labels
from stepreel.evaluation.truth.step_list import StepList, number_by_name

FILE = Path("take.csv")


def test_rows_become_steps_in_order_and_the_rest_is_background():
    rows = [Row(5, 7, "2 close", 2), Row(1, 3, "1 open", 1), Row(3, 5, "background", 3)]
    annotation = build_annotation(FILE, rows, StepList(), Problems())
    assert annotation.steps == (TrueStep(1, 3, 1), TrueStep(5, 7, 2))
    assert annotation.labels_at(np.arange(8.0)).tolist() == [0, 1, 1, 0, 0, 2, 2, 0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row(3, 2, "1", 7), "take.csv, line 7: 3 to 2 s .* ends before it begins"),
        (Row(-1, 2, "1", 7), "line 7: .* begins before the recording"),
        (Row(8, 12, "1", 7), "line 7: .* lies past the end of the recording .10 s."),
        (Row(float("nan"), 2, "1", 7), "line 7: nan to 2.* finite"),
        (Row(3, 4, "9", 7), "line 7: unknown step '9'; known here: 1 open, 2 close"),
        (Row(3, 4, "0 wait", 7), "line 7: unknown step '0 wait'"),
        (Row(0.5, 4, "1", 7), "line 7: 0.5 to 4 s .* overlaps 0 to 1 s .2, line 1."),
    ],
)
def test_wrong_rows_are_reported_with_file_and_line_or_left_out(row, message):
    steps = StepList.of({"open": 1, "close": 2})
    rows = [Row(0, 1, "2", 1), row]
    with pytest.raises(DatasetError, match=message):
        build_annotation(FILE, rows, steps, Problems(), duration_seconds=10)
    lenient = Problems(lenient=True)
    annotation = build_annotation(FILE, rows, steps, lenient, duration_seconds=10)
    assert annotation.steps == (TrueStep(0, 1, 2),)
    assert len(lenient.skipped) == 1


def test_with_any_overlap_a_frame_shows_a_step_that_touches_it():
    annotation = Annotation("take", (TrueStep(1.4, 2.6, 5),), any_overlap=True)
    assert annotation.labels_at(np.arange(5.0)).tolist() == [0, 5, 5, 0, 0]


def test_numbers_identify_steps_only_if_no_two_steps_share_one():
    assert number_by_name(["3 cut", "1 sew"]).names == {1: "sew", 3: "cut"}
    spelled = number_by_name(["1 take", "1 Take it", "2 cut"], numbers_decide=True)
    assert set(spelled.names) == {1, 2}
    assert spelled.id_of("1 take") == spelled.id_of("1 Take it") == 1
    shared = number_by_name(["2 pans", "2 eggs"])
    assert shared.names == {1: "2 eggs", 2: "2 pans"}
    assert shared.id_of("2 pans") == 2
    assert number_by_name(["0 prepare", "1 cook"]).names == {1: "0 prepare", 2: "1 cook"}
    assert number_by_name(["G10", "G2", "x1²2"]).names[1] == "G2"
    huge = "9" * 5000
    assert number_by_name([huge, "1"]).id_of(huge) == 2


def test_rows_keep_the_labels_of_moments_at_any_times():
    for start in (0.0, 3.3, 1e5 + 1 / 3):
        times = start + np.arange(9) / 30
        labels = ["7", "7", "0", "2", "2", "2", "9", "0", "9"]
        annotation = build_annotation(FILE, rows_of_labels(labels, times), StepList(), Problems())
        assert annotation.labels_at((times - start) + start).tolist() == [int(x) for x in labels]
