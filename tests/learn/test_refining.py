from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.tasks import in_order, recurring, takes_of

from stepreel.learn.refining import MUTUAL, learn_refiner, nearest_in_other_takes
from stepreel.steps.decoders.timed_points import fit_points


def points_of(recordings):
    return fit_points(takes_of(recordings))[1].thinned()


def test_without_a_round_nothing_is_added():
    points = points_of(recurring(3)[0])
    refiner = learn_refiner(points.features, points.lengths, n_near=4, rounds=0, seed=0)
    np.testing.assert_array_equal(refiner(points.features), points.features)


def test_pairs_that_attract_come_nearer():
    points = points_of(recurring(4, noise=2.0)[0])
    features, lengths = points.features, points.lengths
    refined = learn_refiner(features, lengths, n_near=4, rounds=9, seed=0)(features)
    nearest = nearest_in_other_takes(features, lengths)
    rows, columns = np.nonzero(nearest >= 0)
    others = nearest[rows, columns]

    def apart(x):  # mean squared distance of these pairs, compared with all pairs
        return ((x[rows] - x[others]) ** 2).sum(axis=1).mean() / (2 * x.var(axis=0).sum())

    assert apart(refined) < 0.95 * apart(features)


def test_the_same_seed_learns_the_same():
    points = points_of(in_order(3)[0])
    one, same, other = (
        learn_refiner(points.features, points.lengths, n_near=4, seed=seed).outer
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-4


def test_features_keep_their_spread():
    points = points_of(recurring(4)[0])
    refined = learn_refiner(points.features, points.lengths, n_near=4, rounds=3, seed=0)(
        points.features
    )
    assert np.linalg.matrix_rank(refined) == points.features.shape[1]
    assert refined.var(axis=0).min() > 0.25 * points.features.var(axis=0).min()


def test_nearest_moments_of_other_takes_are_mutual():
    # Take 0 passes 0, 1, …, 19; take 1 the same backwards; take 2 is far from both.
    line = np.arange(20.0)[:, None]
    features = np.concatenate([line, line[::-1], line + 1000])
    nearest = nearest_in_other_takes(features, [20, 20, 20])
    assert nearest[:20, 1].tolist() == list(range(39, 19, -1))
    assert nearest[20:40, 0].tolist() == list(range(19, -1, -1))
    assert (nearest[:20, 0] == -1).all()
    # What is nearest to all of take 2 is the end of take 0, which is nearest to its start only.
    assert (nearest[:20, 2] >= 0).sum() == MUTUAL + 1


@pytest.mark.parametrize("lengths", [[1, 30], [0, 30], [31]])
def test_short_empty_and_single_takes_are_learned_from(lengths):
    features = np.random.default_rng(0).normal(size=(sum(lengths), 3))
    assert np.isfinite(learn_refiner(features, lengths, n_near=4, seed=0)(features)).all()
