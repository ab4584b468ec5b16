"""ILS-SUMM: its bookkeeping against plain recomputation, its results against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from stepreel.steps.key_steps import Segment
from stepreel.steps.samplers import ils
from stepreel.steps.samplers.base import Candidates
from stepreel.steps.samplers.ils import Limits, improve, search
from stepreel.steps.samplers.shown import Neighbours, Shown


def on_a_line(*places):
    points = np.array(places, float)[:, None]
    return cdist(points, points)


def total(distances, members):
    return distances[:, list(members)].min(axis=1).sum()


def count_limit(n, most):
    return Limits(np.ones(n), np.inf, most)


def test_the_middle_of_every_group_is_shown():
    distances = on_a_line(0, 1, 2, 10, 11, 12)
    assert sorted(search(distances, count_limit(6, 2), np.ones(6))) == [1, 4]


def test_a_budget_prefers_what_represents_more_for_its_time():
    # The middles would leave 4 in all, but last 17 s. Three steps of 8 s leave 4 as well, two 5.
    distances = on_a_line(0, 1, 2, 10, 11, 12)
    seconds = np.array([2.0, 9.0, 3.0, 6.0, 8.0, 3.0])
    assert sorted(search(distances, Limits(seconds, 10.0, most=6), seconds)) == [0, 2, 5]


def test_a_push_leaves_a_choice_that_no_swap_improves():
    # By hand: 2 costs 1, and the start. Adding anything is too dear, and swapping 2 for 0 or 1 too.
    distances = on_a_line(0, 1, 5)
    seconds = np.array([3.0, 3.0, 1.0])
    assert search(distances, Limits(seconds, 2.0, most=3), seconds) == [2]
    assert search(distances, Limits(seconds, 3.0, most=3), seconds) == [1]  # 1 + 0 + 4 is least


def test_one_step_is_the_one_nearest_to_all():
    distances = on_a_line(0, 1, 2, 3, 50)
    assert search(distances, count_limit(5, 1), np.ones(5)) == [2]


def test_equal_steps_need_no_more_than_one():
    assert len(search(np.zeros((4, 4)), count_limit(4, 3), np.ones(4))) == 1


def two_nearest(distances, members):
    """Return the distances to the nearest and second nearest member, by sorting."""
    ordered = np.sort(distances[:, members], axis=1)
    second = ordered[:, 1] if len(members) > 1 else distances.max(axis=1)
    return ordered[:, 0], second


@given(
    n=st.integers(2, 12), seed=st.integers(0, 99), moves=st.lists(st.integers(0, 99), max_size=12)
)
def test_nearest_and_second_nearest_stay_right_through_any_changes(n, seed, moves):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, size=(n, 2)).astype(float)  # with equal distances
    distances = cdist(points, points)
    shown = Shown(Neighbours(distances), [int(rng.integers(n))])
    for move in moves:
        others = [step for step in range(n) if step not in shown.members]
        if not others:
            break
        step = others[move % len(others)]
        if move % 3:
            shown.swap(move % len(shown.members), step)
        else:
            shown.add(step)
        nearest, second = two_nearest(distances, shown.members)
        np.testing.assert_array_equal(shown.nearest, nearest)
        np.testing.assert_array_equal(shown.second, second)
        places = np.array(shown.members)
        np.testing.assert_array_equal(distances[np.arange(n), places[shown.owner]], nearest)
        if len(places) > 1:
            np.testing.assert_array_equal(
                distances[np.arange(n), places[shown.second_owner]], second
            )
            assert (shown.owner != shown.second_owner).all()


@given(n=st.integers(2, 12), seed=st.integers(0, 99), n_shown=st.integers(1, 6))
def test_changes_are_what_recomputing_the_total_says(n, seed, n_shown):
    rng = np.random.default_rng(seed)
    points, costs = rng.normal(size=(n, 2)), rng.integers(1, 9, size=n).astype(float)
    distances, left = cdist(points, points), float(rng.integers(0, 5))
    members = [int(step) for step in rng.permutation(n)[: min(n_shown, n - 1)]]
    shown = Shown(Neighbours(distances), members)
    added = [total(distances, [*members, step]) - shown.total for step in range(n)]
    np.testing.assert_allclose(shown.changes_by_adding(), added, atol=1e-9)
    swaps = {
        (slot, step): total(distances, [*members[:slot], *members[slot + 1 :], step]) - shown.total
        for slot in range(len(members))
        for step in range(n)
        if step not in members and costs[step] - costs[members[slot]] <= left
    }
    best = min(swaps.values(), default=0.0)
    found = shown.best_to_swap(costs, left)
    if best < -1e-6:
        assert swaps[found] == pytest.approx(best)
    else:
        assert found is None or swaps[found] < 0


def instances(n_instances):
    """Make small instances, every second one with a budget of time."""
    rng = np.random.default_rng(0)
    for number in range(n_instances):
        n = int(rng.integers(2, 10))
        features = rng.normal(size=(n, int(rng.integers(1, 4))))
        seconds = rng.uniform(1, 10, size=n)
        limits = count_limit(n, int(rng.integers(1, n + 1)))
        if number % 2:
            limits = Limits(seconds, float(rng.uniform(seconds.min(), seconds.sum())), n)
        yield cdist(features, features), limits, seconds


def test_the_optimum_is_nearly_always_reached():
    """Guaranteed: limits kept, not worse than the first descent, always the same. Not: the best."""
    missed = []
    for distances, limits, seconds in instances(300):
        n = len(seconds)
        found = search(distances, limits, seconds)
        assert len(set(found)) == len(found) <= limits.most
        assert limits.costs[found].sum() <= limits.budget
        assert search(distances, limits, seconds) == found
        start = Shown(Neighbours(distances), [int(np.lexsort((seconds, limits.costs))[0])])
        improve(start, limits)
        assert total(distances, found) <= start.total + 1e-9
        best = min(
            total(distances, members)
            for size in range(1, limits.most + 1)
            for members in combinations(range(n), size)
            if limits.costs[list(members)].sum() <= limits.budget
        )
        assert total(distances, found) <= 1.1 * best + 1e-9
        missed.append(total(distances, found) > best + 1e-9)
    assert np.mean(missed) <= 0.02


def test_of_very_many_steps_the_clearest_are_compared(monkeypatch):
    monkeypatch.setattr(ils, "MOST_CANDIDATES", 4)
    segments = [Segment(0, np.array([n]), n, 0.1, 1.0, float(n % 2)) for n in range(8)]
    features = np.arange(8.0)[:, None]
    candidates = Candidates(segments, np.ones(8), lambda: features, top=1)
    assert ils.choose(candidates) == [3]  # the middle of 1, 3, 5 and 7, the earlier of two
