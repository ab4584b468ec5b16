from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from steps.decoders.tasks import agreement, recurring, takes_of

from stepreel.steps.decoders import procut
from stepreel.steps.decoders.procut import least_cost_labels, unit_of_cost


def cost_of(labels, costs, change):
    return costs[np.arange(len(costs)), labels].sum() + change * np.count_nonzero(np.diff(labels))


@pytest.mark.parametrize("n_moments", [1, 2, 5, 7])
@pytest.mark.parametrize("n_kinds", [1, 2, 3])
@pytest.mark.parametrize("change", [0.0, 0.3, 5.0])
def test_no_labelling_costs_less(n_moments, n_kinds, change):
    costs = np.random.default_rng(n_moments).random((n_moments, n_kinds))
    least = min(
        cost_of(np.array(labels), costs, change)
        for labels in product(range(n_kinds), repeat=n_moments)
    )
    assert cost_of(least_cost_labels(costs, change), costs, change) == pytest.approx(least)


def test_numbering_the_kinds_differently_changes_nothing_else():
    costs = np.random.default_rng(0).random((50, 4))
    order = np.array([2, 0, 3, 1])
    labels = least_cost_labels(costs, 0.7)
    assert order[least_cost_labels(costs[:, order], 0.7)].tolist() == labels.tolist()


def test_the_unit_is_how_much_farther_the_second_nearest_centre_is():
    # Squared distances to 0 and 4: 1 and 9; 0 and 16.
    assert unit_of_cost(np.array([[1.0], [0.0]]), np.array([[0.0], [4.0]])) == 12.0
    assert unit_of_cost(np.array([[1.0]]), np.array([[0.0]])) == 1.0
    assert unit_of_cost(np.array([[1.0]]), np.array([[0.0], [2.0]])) == 1.0  # all alike


def test_moments_flicker_less_than_with_k_means_and_kinds_are_found():
    recordings, truths = recurring(noise=3.0)
    takes = takes_of(recordings, **{"loss.window_seconds": 0.1})
    smooth = procut.decode(takes)
    changes = [np.count_nonzero(np.diff(c.labels)) for c in smooth.clusterings]
    assert max(changes) < 20
    assert agreement(truths, smooth.clusterings) > 0.8


def test_the_same_takes_get_the_same_labels_again():
    takes = takes_of(recurring(4, noise=3.0)[0])
    decoded = procut.decode(takes)
    again = procut.find_again(takes, decoded.kinds)
    for one, other in zip(decoded.clusterings, again.clusterings, strict=True):
        assert one.labels.tolist() == other.labels.tolist()


@pytest.mark.parametrize("unit", [np.zeros(1), -np.ones(1), np.ones(2), np.full(1, 1e30)])
def test_a_unit_of_cost_that_makes_no_sense_is_refused(unit):
    takes = takes_of(recurring(2)[0])
    kinds = procut.decode(takes).kinds
    with pytest.raises(ValueError, match="unit of cost"):
        procut.find_again(takes, {**kinds, "unit": unit.astype(np.float32)})
