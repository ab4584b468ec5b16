from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepreel.config import KeyStepSettings
from stepreel.steps.decoders.kmeans import trimmed
from stepreel.steps.key_steps import cut_segments, pick_key_steps
from stepreel.types import Clustering


def certainty(distances, others):
    others = distances + 1 if others is None else np.asarray(others, np.float32)
    share = np.divide(distances, others, out=np.ones_like(distances), where=others > 0)
    return np.clip(1 - share, 0, 1)


def clustering(times, labels, distances, others=None, n_clusters=None, excluded=None):
    labels = np.asarray(labels)
    distances = np.asarray(distances, np.float32)
    return Clustering(
        np.asarray(times, float),
        labels,
        distances,
        certainty(distances, others),
        np.zeros(len(labels), bool) if excluded is None else np.asarray(excluded),
        n_clusters or int(labels.max()) + 1,
    )


def test_a_cluster_visited_twice_gives_two_key_steps_in_order():
    key_steps = pick_key_steps(
        clustering(
            times=[0, 1, 2, 10, 11, 12, 20, 21],
            labels=[0, 0, 0, 1, 1, 1, 0, 0],
            distances=[0.3, 0.1, 0.2, 0.5, 0.4, 0.6, 0.2, 0.1],
        ),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=1.0,
    )
    assert [(s.nearest, s.cluster) for s in key_steps.segments] == [(1, 0), (4, 1), (7, 0)]
    assert key_steps.step_of.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_the_farthest_tenth_of_each_cluster_is_trimmed():
    times = np.arange(20.0)
    distances = np.concatenate([np.arange(10), np.arange(10)[::-1]])
    far = trimmed(clustering(times, [0] * 10 + [1] * 10, distances), 0.1)
    assert np.flatnonzero(far).tolist() == [9, 10]


def test_excluded_moments_count_towards_the_trimmed_fraction():
    excluded = np.isin(np.arange(20), [0, 12, 13])
    distances = np.concatenate([np.arange(10), np.arange(10)])
    far = trimmed(
        clustering(np.arange(20.0), [0] * 10 + [1] * 10, distances, excluded=excluded), 0.2
    )
    # Two of ten are trimmed: one more besides moment 0, none besides 12 and 13.
    assert np.flatnonzero(far).tolist() == [9]


def test_a_recording_without_usable_moments_has_no_steps():
    key_steps = pick_key_steps(
        clustering([0, 1, 2], [0, 0, 0], [1, 1, 1], excluded=[True] * 3),
        KeyStepSettings(),
        moment_seconds=1.0,
    )
    assert key_steps.segments == []


def test_a_small_cluster_keeps_at_least_one_moment():
    assert not trimmed(clustering([0, 1], [0, 1], [0.5, 0.5]), 0.9).any()


def test_a_gap_of_exactly_the_limit_does_not_split():
    segments = cut_segments(clustering([0, 2, 4.1, 5], [0, 0, 0, 0], [1, 2, 3, 0]), 2.0)
    assert [s.members.tolist() for s in segments] == [[0, 1], [2, 3]]


def test_a_step_that_another_interrupts_becomes_two_visits():
    key_steps = pick_key_steps(
        clustering([0, 1, 2, 3], [0, 1, 0, 1], [0.1, 0.1, 0.2, 0.2]),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=1.0,
    )
    visits = [(s.cluster, s.members.tolist()) for s in key_steps.segments]
    assert visits == [(0, [0]), (1, [1]), (0, [2]), (1, [3])]


@settings(deadline=None)
@given(
    labels=st.lists(st.integers(0, 3), min_size=1, max_size=80),
    excluded=st.lists(st.booleans(), min_size=80, max_size=80),
    shortest=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
def test_shown_steps_never_overlap(labels, excluded, shortest):
    n = len(labels)
    made = clustering(
        np.arange(n) / 4, labels, np.linspace(0.1, 1, n), n_clusters=4, excluded=excluded[:n]
    )
    choice = KeyStepSettings(min_step_seconds=shortest, split_gap_seconds=1.0)
    key_steps = pick_key_steps(made, choice, moment_seconds=0.25)
    for before, after in pairwise(key_steps.segments):
        assert before.members[-1] < after.members[0]
    for position, segment in enumerate(key_steps.segments):
        assert (np.asarray(labels)[segment.members] == segment.cluster).all()
        assert (key_steps.step_of[segment.members] == position).all()
        assert segment.nearest in segment.members
        long_enough = 0.25 * len(segment.members) >= shortest
        assert long_enough or len(key_steps.segments) == 1


def test_flicker_at_a_border_belongs_to_the_longer_step():
    labels = [0] * 8 + [1, 0, 1] + [1] * 8  # one moment of each on the wrong side
    key_steps = pick_key_steps(
        clustering(np.arange(19) / 4, labels, np.ones(19)),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=0.25,
    )
    extents = [(s.cluster, s.members[0], s.members[-1]) for s in key_steps.segments]
    assert extents == [(0, 0, 9), (1, 10, 18)]


def test_segments_shorter_than_a_second_are_dropped():
    labels = [0, 0, 0, 1, 0, 0, 0, 0]
    key_steps = pick_key_steps(
        clustering(np.arange(8) / 4, labels, np.ones(8)),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=0.25,
    )
    assert [s.cluster for s in key_steps.segments] == [0]
    assert key_steps.step_of.tolist() == [0, 0, 0, -1, 0, 0, 0, 0]


def test_if_all_segments_are_too_short_the_longest_is_kept():
    key_steps = pick_key_steps(
        clustering([0.0, 0.25, 0.5], [0, 1, 1], [0, 0, 0]),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=0.25,
    )
    assert [s.cluster for s in key_steps.segments] == [1]


def test_two_kinds_that_alternate_become_one_step_and_not_none():
    labels = np.tile([0, 1], 120)
    key_steps = pick_key_steps(
        clustering(np.arange(240) / 4, labels, np.where(labels, 0.2, 0.1), others=np.ones(240)),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=0.25,
    )
    (step,) = key_steps.segments
    assert step.cluster == 0  # its moments are more certain
    assert len(step.members) == 120


def test_a_long_recording_shows_every_kind_and_every_visit():
    labels = np.tile(np.repeat(np.arange(7), 12), 15)  # 3 s each, 105 visits
    distances = np.tile(np.repeat(np.arange(1.0, 8.0), 12), 15)  # the last kind is the least clear
    key_steps = pick_key_steps(
        clustering(np.arange(len(labels)) / 4, labels, distances),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=0.25,
    )
    assert len(key_steps.segments) == 105
    assert key_steps.hidden == []
    assert {segment.cluster for segment in key_steps.segments} == set(range(7))
    assert (key_steps.step_of >= 0).all()


def test_the_margin_is_the_mean_share_to_the_next_cluster():
    key_steps = pick_key_steps(
        clustering([0, 1], [0, 0], [0.0, 0.5], others=[1.0, 1.0]),
        KeyStepSettings(background_ratio=0.0),
        moment_seconds=1.0,
    )
    assert key_steps.segments[0].margin == pytest.approx(0.75)


def test_the_margin_is_one_for_a_single_cluster_and_zero_for_coinciding_ones():
    alone = clustering([0, 1], [0, 0], [0.2, 0.3], others=[np.inf, np.inf])
    same = clustering([0, 1], [0, 0], [0.0, 0.0], others=[0.0, 0.0])
    choice = KeyStepSettings(background_ratio=0.0)
    margins = [
        pick_key_steps(c, choice, moment_seconds=1.0).segments[0].margin for c in (alone, same)
    ]
    assert margins == [1.0, 0.0]
