from __future__ import annotations

import itertools

import numpy as np
import pytest

from stepreel.steps.decoders.least_durations import most_likely_visits
from stepreel.steps.decoders.markov_chain import Chain, most_likely_states


def a_chain(n_states, rng):
    moves = rng.random((n_states, n_states)) + 2 * np.eye(n_states)
    start = rng.random(n_states)
    return Chain(start / start.sum(), moves / moves.sum(axis=1, keepdims=True))


def score(path, log_likelihood, chain):
    total = np.log(chain.start[path[0]]) + log_likelihood[np.arange(len(path)), path].sum()
    return total + np.log(chain.transition[path[:-1], path[1:]]).sum()


def runs(labels):
    return [len(list(run)) for _, run in itertools.groupby(labels)]


@pytest.mark.parametrize("seed", range(20))
def test_no_other_path_with_long_enough_visits_is_more_likely(seed):
    rng = np.random.default_rng(seed)
    chain = a_chain(3, rng)
    lengths, shortest = [7, 4, 2, 6], [2, 3, 3, 1]
    observed = 3 * rng.normal(size=(sum(lengths), 3))
    labels = most_likely_visits(observed, lengths, chain, shortest)
    for own, values, visit in zip(
        np.split(labels, np.cumsum(lengths)[:-1]),
        np.split(observed, np.cumsum(lengths)[:-1]),
        shortest,
        strict=True,
    ):
        paths = map(np.array, itertools.product(range(3), repeat=len(own)))
        allowed = [path for path in paths if min(runs(path)) >= min(visit, len(own))]
        best = max(allowed, key=lambda path: score(path, values, chain))
        assert own.tolist() == best.tolist()


def test_moments_of_a_visit_that_is_too_short_go_to_the_neighbours():
    favourite = np.array([0] * 6 + [2] * 2 + [1] * 6)
    observed = np.where(np.arange(3) == favourite[:, None], 0.0, -5.0)
    observed[6, 0] = observed[7, 1] = -1.0
    chain = Chain(np.full(3, 1 / 3), np.full((3, 3), 0.05) + 0.85 * np.eye(3))
    labels = most_likely_visits(observed, [14], chain, [3])
    assert labels.tolist() == [0] * 7 + [1] * 7


def test_without_a_shortest_visit_it_is_viterbi():
    rng = np.random.default_rng(0)
    observed, chain = rng.normal(size=(50, 4)), a_chain(4, rng)
    assert np.array_equal(
        most_likely_visits(observed, [30, 20], chain, [1, 1]),
        most_likely_states(observed, [30, 20], chain),
    )


def test_moves_that_cannot_happen_do_not():
    chain = Chain(np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]]))
    observed = np.array([[0.0, 9.0]] * 3 + [[9.0, 0.0]] * 3)
    assert most_likely_visits(observed, [6], chain, [2]).tolist() == [0] * 6
