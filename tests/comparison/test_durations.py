"""Durations, unusual paces and outliers, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from compared_takes import compare_letters
from hypothesis import given
from hypothesis import strategies as st

from stepreel.comparison.distances import edits, outliers


def test_the_spread_over_takes_counts_all_visits_of_a_kind():
    comparison = compare_letters(
        *("ABA", "AB", "AB", "B"),
        take1={"seconds": [2, 5, 4]},  # A: 6 s in two visits
        take2={"seconds": [3, 5]},
        take3={"seconds": [4, 5]},
        take4={"seconds": [5]},
    )
    a, b, recordings = comparison.durations
    assert (a.cluster, b.cluster, recordings.cluster) == (0, 1, None)
    assert a.median == 4.0
    assert a.quartiles == (3.5, 5.0)
    assert a.deviation == 1.0
    assert a.visit_median == 3.5
    assert [(t.take, t.seconds, t.visits) for t in a.takes] == [
        ("take1", 6.0, [2.0, 4.0]),
        ("take2", 3.0, [3.0]),
        ("take3", 4.0, [4.0]),
    ]
    assert {t.pace for t in a.takes} == {"unknown"}  # of three, none is unusual
    assert recordings.median == 8.5


def test_a_take_far_from_the_median_is_slow_or_quick():
    # A: median 10 s, deviation 1 s; usual is what lies within 3 * 1.4826 s.
    lengths = [9.0, 10.0, 10.0, 11.0, 14.4, 14.5, 5.5]
    takes = {f"take{n}": {"seconds": [s, 30.0]} for n, s in enumerate(lengths, start=1)}
    comparison = compare_letters(*["AB"] * 7, **takes)
    assert comparison.durations[0].deviation == 1.0
    assert [t.pace for t in comparison.durations[0].takes] == [*["usual"] * 5, "slow", "quick"]
    assert [pace.sentence for pace in comparison.unusual_paces] == [
        "take6 is slow in A: 14 s; the median is 10 s.",
        "take7 is quick in A: 5.5 s; the median is 10 s.",
    ]


def test_takes_that_hardly_differ_are_not_unusual():
    takes = {f"take{n}": {"seconds": [10.0, 30.0]} for n in range(1, 6)}
    takes["take5"]["seconds"] = [12.9, 30.0]  # all others are alike: three tenths are allowed
    assert compare_letters(*["AB"] * 5, **takes).unusual_paces == []


def test_a_long_take_is_slow_as_a_whole():
    takes = {"take5": {"seconds": [12, 12, 12]}}
    comparison = compare_letters(*["ABC"] * 5, **takes)
    assert comparison.unusual_paces[-1].sentence == "take5 is slow: 36 s; the median is 12 s."


def test_a_take_of_other_steps_is_an_outlier():
    comparison = compare_letters("ABCD", "ABCD", "ABDC", "ABCD", "FGFG")
    assert [take.is_outlier for take in comparison.takes] == [False] * 4 + [True]
    assert comparison.takes[4].distance == 1.0
    # take3: one exchange of four steps from three takes, all of its order and time from the last
    assert comparison.takes[2].distance == pytest.approx((3 * 0.25 / 2 + 1) / 4)


def test_three_takes_have_no_outlier():
    assert not any(take.is_outlier for take in compare_letters("ABC", "ABC", "XYZ").takes)


def test_one_departure_makes_no_outlier():
    for last in ("ABDCE", "ACDE", "ABCADE", "ABCDEF"):
        takes = compare_letters(*["ABCDE"] * 4, last).takes
        assert not any(take.is_outlier for take in takes), last


def test_two_camps_have_no_outlier():
    apart = np.zeros((6, 6))
    apart[:3, 3:] = apart[3:, :3] = 0.9
    assert outliers(apart) == [False] * 6


def plain_edits(one: str, other: str) -> int:
    """Fill the whole table, one cell after another."""
    cost = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            cost[i, j] = min(
                cost[i - 1, j] + 1,
                cost[i, j - 1] + 1,
                cost[i - 1, j - 1] + (one[i - 1] != other[j - 1]),
            )
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                cost[i, j] = min(cost[i, j], cost[i - 2, j - 2] + 1)
    return cost[len(one), len(other)]


words = st.text("ABCD", max_size=9)


@given(words, words)
def test_edits_agree_with_a_plain_table(one, other):
    assert edits([*map(ord, one)], [*map(ord, other)]) == plain_edits(one, other)
