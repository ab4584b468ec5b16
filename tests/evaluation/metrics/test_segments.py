from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepreel.evaluation.metrics.segments import (
    SegmentCounts,
    add_counts,
    count_segments,
    edit_distance,
    edit_score,
    frame_accuracy,
)


def plain_distance(a, b):
    table = [
        [max(i, j) if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)
    ]
    for i, j in np.ndindex(len(a), len(b)):
        table[i + 1][j + 1] = min(
            table[i][j + 1] + 1, table[i + 1][j] + 1, table[i][j] + (a[i] != b[j])
        )
    return table[-1][-1]


sequences = st.lists(st.integers(0, 3), max_size=12)


@given(sequences, sequences)
def test_the_edit_distance_is_that_of_the_usual_table(a, b):
    assert edit_distance(np.array(a, int), np.array(b, int)) == plain_distance(a, b)


def test_edit_compares_sequences_of_segments_not_their_lengths():
    assert edit_score(np.array([1, 1, 1, 2, 2, 3]), np.array([1, 2, 2, 2, 2, 3])) == 100
    assert edit_score(np.array([1, 2, 3, 4]), np.array([4, 3, 2, 1])) == 0
    assert edit_score(np.array([0, 0]), np.array([0, 0])) == 100
    assert edit_score(np.array([1, 1]), np.array([0, 0])) == 0


def test_a_true_segment_is_found_once_only():
    truth = np.array([1] * 10)
    twice = np.array([1, 1, 1, 1, 2, 1, 1, 1, 1, 1])
    # Segments 1 (4 of 10), 2, 1 (5 of 10): at 25 % the same true one twice, which counts once.
    assert count_segments(truth, twice, [0.25]) == [SegmentCounts(1, 2, 0)]
    assert count_segments(truth, twice, [0.6]) == [SegmentCounts(0, 3, 1)]


def test_counts_are_added_over_recordings():
    assert add_counts([SegmentCounts(1, 0, 1), SegmentCounts(2, 3, 0)]) == SegmentCounts(3, 3, 1)
    assert SegmentCounts(3, 3, 1).f1 == pytest.approx(60)
    assert SegmentCounts(0, 0, 0).f1 == 100


def test_nothing_found_and_nothing_there():
    assert count_segments(np.array([1, 1]), np.array([0, 0]), [0.5]) == [SegmentCounts(0, 0, 1)]
    assert count_segments(np.array([0, 0]), np.array([1, 1]), [0.5]) == [SegmentCounts(0, 1, 0)]


def test_accuracy_is_over_all_moments_of_all_recordings():
    truth = [np.array([1, 1]), np.array([0, 2, 2, 2])]
    assert frame_accuracy(truth, [np.array([1, 0]), np.array([0, 2, 2, -2])]) == pytest.approx(
        100 * 4 / 6
    )
