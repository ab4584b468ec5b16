from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.plain_finch import as_sets, plain_at, plain_levels, sets_of
from steps.decoders.tasks import agreement, in_order, takes_of

from stepreel.steps.decoders import tw_finch as decoder
from stepreel.steps.decoders.finch import finch
from stepreel.steps.decoders.tw_finch import tw_finch


def test_alike_moments_far_apart_in_time_are_two_clusters():
    points = np.array([[1, 0.01], [1, 0.021], [0.5, 1], [0.6, 1], [1, 0.03], [1, 0.042]])
    passed = np.arange(6) / 6
    assert tw_finch(points, passed).levels[0].tolist() == [0, 0, 1, 1, 2, 2]
    assert finch(points).levels[0].tolist() == [0, 0, 1, 1, 0, 0]


def test_moments_that_look_the_same_are_linked_by_time_alone():
    passed = np.array([0.0, 0.125, 0.5, 0.625])
    assert tw_finch(np.ones((4, 2)), passed).levels[0].tolist() == [0, 0, 1, 1]


def test_moments_of_two_takes_at_the_same_time_still_differ_by_what_they_show():
    points = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    passed = np.array([0.0, 0.5, 0.0, 0.5])  # two takes of two moments
    assert tw_finch(points, passed, n_takes=2).levels[0].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("n_takes", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_levels_and_every_number_of_clusters_are_those_of_plain_loops(seed, n_takes):
    rng = np.random.default_rng(seed)
    points, passed = rng.normal(size=(20, 3)), rng.random(20)
    hierarchy = tw_finch(points, passed, n_takes=n_takes)
    expected = plain_levels(points, passed, n_takes)
    assert [as_sets(labels) for labels in hierarchy.levels] == list(map(sets_of, expected))
    for k in range(1, 21):
        assert as_sets(hierarchy.at(k)) == sets_of(plain_at(points, k, passed, n_takes)), k


def test_steps_in_one_order_are_found_at_their_time():
    recordings, truths = in_order(noise=0.5)
    decoded = decoder.decode(takes_of(recordings))
    assert agreement(truths, decoded.clusterings) > 0.9


def test_clusters_of_moments_that_say_little_keep_together_in_time():
    points, passed = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) / 200

    def spread(labels):
        return np.mean([passed[labels == one].std() for one in range(5)])

    assert spread(tw_finch(points, passed).at(5)) < 0.6 * spread(finch(points).at(5))
