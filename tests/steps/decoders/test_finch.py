from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.plain_finch import as_sets, plain_at, plain_levels, sets_of
from steps.decoders.tasks import agreement, in_order, recurring, takes_of

from stepreel.steps.decoders import finch as finch_decoder
from stepreel.steps.decoders import first_neighbours
from stepreel.steps.decoders.finch import finch
from stepreel.steps.decoders.hierarchy import Hierarchy, choose_size


def at_angles(*degrees):
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def test_every_level_of_eight_directions_is_as_worked_out_by_hand():
    hierarchy = finch(at_angles(0, 4, 15, 19, 60, 63, 80, 86))
    # Pairs at 2, 17, 61.5 and 83 degrees; then 2-17 (15 apart) and 61.5-83 (21.5 apart).
    assert [labels.tolist() for labels in hierarchy.levels] == [
        [0, 0, 1, 1, 2, 2, 3, 3],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert hierarchy.sizes == (4, 2, 1)
    assert hierarchy.natural == (2, 4)
    assert hierarchy.at(3).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]  # the nearest two pairs
    # Level 0 has four, so 7 begins with single points, and merges the nearest two.
    assert hierarchy.at(7).tolist() == [0, 1, 2, 3, 4, 4, 5, 6]


def test_points_that_share_a_neighbour_are_one_cluster():
    # 10 and -11 both have 0 as the nearest; 0's is 10.
    hierarchy = finch(at_angles(10, 0, -11, 90, 92))
    assert hierarchy.levels[0].tolist() == [0, 0, 0, 1, 1]


def test_lengths_do_not_count():
    lengths = np.array([1.0, 50.0, 3.0, 0.1])[:, None]
    assert finch(lengths * at_angles(0, 2, 70, 75)).levels[0].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(6))
def test_levels_and_every_number_of_clusters_are_those_of_plain_loops(seed, monkeypatch):
    monkeypatch.setattr(first_neighbours, "ROWS", 7)  # several blocks, the last ones not full
    monkeypatch.setattr(first_neighbours, "COLUMNS", 10)
    points = np.random.default_rng(seed).normal(size=(24, 3))
    hierarchy = finch(points)
    expected = plain_levels(points)
    assert [as_sets(labels) for labels in hierarchy.levels] == list(map(sets_of, expected))
    for k in range(1, 25):
        assert as_sets(hierarchy.at(k)) == sets_of(plain_at(points, k)), k


def test_equal_points_stay_together_and_are_counted_once():
    points = np.repeat(at_angles(0, 1, 50, 90), [5, 1, 4, 7], axis=0)
    shuffled = np.random.default_rng(0).permutation(len(points))
    hierarchy = finch(points[shuffled])
    for labels in (*hierarchy.levels, hierarchy.at(17), hierarchy.at(3)):
        for point in np.unique(points, axis=0):
            equal = (points[shuffled] == point).all(axis=1)
            assert len(set(labels[equal].tolist())) == 1
    assert hierarchy.at(17).max() + 1 == 4
    assert [hierarchy.at(k).max() + 1 for k in (1, 2, 3, 4)] == [1, 2, 3, 4]


def test_points_at_zero_are_alike_and_unlike_all_others():
    hierarchy = finch(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.1]]))
    assert hierarchy.levels[0].tolist() == [0, 1, 0, 1]
    assert finch(np.zeros((3, 2))).sizes == (1,)


def test_one_point_is_one_cluster_and_none_is_an_error():
    one = finch(np.ones((1, 2)))
    assert (one.sizes, one.natural, one.at(5).tolist()) == ((1,), (), [0])
    with pytest.raises(ValueError, match="no points"):
        finch(np.ones((0, 2)))


def test_the_level_before_the_widest_gap_is_chosen():
    levels = tuple(np.arange(60) * size // 60 for size in (40, 12, 5, 1))
    hierarchy = Hierarchy(levels, (0.001, 0.01, 0.02, 0.9), np.zeros((60, 1)))
    assert hierarchy.natural == (5, 12)
    assert choose_size(hierarchy, otherwise=7) == 5  # 0.02 -> 0.9; before 12: 0.01 -> 0.02
    few = Hierarchy(levels[:1], (0.001,), np.zeros((60, 1)))
    assert choose_size(few, otherwise=7) == 7


def test_kinds_are_found_and_are_as_many_as_asked_for():
    recordings, truths = in_order(noise=0.5)
    decoded = finch_decoder.decode(takes_of(recordings))
    assert agreement(truths, decoded.clusterings) > 0.9
    assert decoded.clusterings[0].n_clusters == 4
    assert decoded.natural == tuple(sorted(decoded.natural))
    assert all(2 <= size <= 30 for size in decoded.natural)


def test_without_a_number_a_natural_one_is_chosen():
    recordings, _ = recurring(4, noise=0.3)
    decoded = finch_decoder.decode(takes_of(recordings, n_clusters=None))
    assert decoded.clusterings[0].n_clusters in decoded.natural
