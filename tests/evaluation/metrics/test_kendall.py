from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from stepreel.evaluation.metrics.kendall import (
    BLOCK_ROWS,
    DistinctRows,
    nearest_moments,
    pair_tau,
    task_tau,
)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=12))
def test_both_variants_are_those_of_counting_pairs(nearest):
    nearest = np.array(nearest)
    order = pair_tau(nearest)
    pairs = list(combinations(range(len(nearest)), 2))
    concordant = sum((j - i) * (nearest[j] - nearest[i]) > 0 for i, j in pairs)
    assert order.tau_text == pytest.approx((2 * concordant - len(pairs)) / len(pairs))
    if len(np.unique(nearest)) == 1:
        assert np.isnan(order.tau_b)
    else:
        assert order.tau_b == pytest.approx(kendalltau(range(len(nearest)), nearest).statistic)


def test_nearest_moments_are_those_of_plain_search():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(BLOCK_ROWS + 30, 4)), rng.normal(size=(50, 4))
    there, back = nearest_moments(*(DistinctRows.of(x.astype(np.float32)) for x in (one, other)))
    distances = np.linalg.norm(one[:, None] - other, axis=2)
    assert np.array_equal(there, distances.argmin(axis=1))
    assert np.array_equal(back, distances.argmin(axis=0))


def test_of_equal_moments_the_first_is_the_nearest():
    # Products of equal rows differ in their last bits, by their place and the number of threads.
    rng = np.random.default_rng(0)
    one = rng.normal(size=(300, 64)).astype(np.float32)
    other = np.repeat(one[:40] * 1.01, 7, axis=0)[rng.permutation(280)]
    there, back = nearest_moments(DistinctRows.of(one), DistinctRows.of(other))
    distances = np.linalg.norm(one[:, None].astype(float) - other, axis=2)
    assert np.array_equal(there, distances.argmin(axis=1))
    assert np.array_equal(back, distances.argmin(axis=0))


@pytest.mark.parametrize("width", [7, 22, 64, 128])
def test_a_recording_that_never_changes_has_no_order(width):
    rng = np.random.default_rng(0)
    moving = rng.normal(size=(310, width)).astype(np.float32)
    still = np.tile(rng.normal(size=width).astype(np.float32), (290, 1))
    order = task_tau([moving, still])
    assert (order.pairs, order.undefined, order.tau_text) == (2, 2, -1)


def test_recordings_of_the_same_course_keep_the_order():
    rise = np.linspace(0, 1, 20, dtype=np.float32)[:, None]
    order = task_tau([rise, rise**2, rise[:10] * 2])
    assert order.tau_b > 0.9
    assert (order.pairs, order.undefined) == (6, 0)
    assert task_tau([rise, rise[::-1]]).tau_b == pytest.approx(-1)


def test_pairs_without_a_tau_are_dropped_and_counted():
    rise, flat = np.arange(5, dtype=np.float32)[:, None], np.full((5, 1), 9, np.float32)
    order = task_tau([rise, flat])
    # All moments of either go to the first or last of the other: no order to keep.
    assert (order.pairs, order.undefined) == (2, 2)
    assert np.isnan(order.tau_b)
    assert order.tau_text == -1


def test_one_recording_has_no_order_to_keep():
    with pytest.raises(ValueError, match="one alone"):
        task_tau([np.zeros((3, 2), np.float32)])
