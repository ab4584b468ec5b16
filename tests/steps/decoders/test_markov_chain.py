from __future__ import annotations

import itertools

import numpy as np
import pytest

from stepreel.steps.decoders import markov_chain
from stepreel.steps.decoders.markov_chain import Chain, most_likely_states, posterior


def random_case(seed, lengths, n_states):
    rng = np.random.default_rng(seed)
    chain = Chain(rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states))
    return rng.normal(size=(sum(lengths), n_states)) * 2, chain


def every_path(log_likelihood, chain):
    """Yield every sequence of states of one take with its log-probability."""
    n_moments, n_states = log_likelihood.shape
    for path in itertools.product(range(n_states), repeat=n_moments):
        total = np.log(chain.start[path[0]]) + log_likelihood[range(n_moments), path].sum()
        total += sum(np.log(chain.transition[a, b]) for a, b in itertools.pairwise(path))
        yield path, total


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("lengths", "n_states"), [([6], 3), ([3, 1, 4], 2), ([1], 3), ([2, 5], 3)])
def test_posterior_and_best_path_are_those_of_all_paths_tried_one_by_one(seed, lengths, n_states):
    log_likelihood, chain = random_case(seed, lengths, n_states)
    states, moves, best = [], np.zeros((n_states, n_states)), []
    for take in np.split(log_likelihood, np.cumsum(lengths)[:-1]):
        paths, totals = zip(*every_path(take, chain), strict=True)
        weights = np.exp(np.array(totals) - max(totals))
        weights /= weights.sum()
        share = np.zeros(take.shape)
        for path, weight in zip(paths, weights, strict=True):
            share[range(len(path)), path] += weight
            for a, b in itertools.pairwise(path):
                moves[a, b] += weight
        states.append(share)
        best += paths[int(np.argmax(totals))]
    found = posterior(log_likelihood, lengths, chain)
    assert found.states == pytest.approx(np.concatenate(states), abs=1e-9)
    assert found.transitions == pytest.approx(moves, abs=1e-9)
    assert most_likely_states(log_likelihood, lengths, chain).tolist() == list(best)


@pytest.mark.parametrize("lengths", [[500], [120, 1, 379], [499, 1]])
def test_blocks_of_any_size_give_the_same(monkeypatch, lengths):
    log_likelihood, chain = random_case(3, lengths, 4)
    in_blocks = posterior(log_likelihood, lengths, chain)
    path = most_likely_states(log_likelihood, lengths, chain)
    monkeypatch.setattr(markov_chain, "MOST_STATES_IN_BLOCKS", 0)  # one block
    at_once = posterior(log_likelihood, lengths, chain)
    assert in_blocks.states == pytest.approx(at_once.states, abs=1e-9)
    assert in_blocks.transitions == pytest.approx(at_once.transitions, abs=1e-6)
    assert path.tolist() == most_likely_states(log_likelihood, lengths, chain).tolist()


def test_states_that_cannot_follow_each_other_never_do():
    chain = Chain(np.array([1.0, 0.0, 0.0]), np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1.0]]))
    log_likelihood = np.random.default_rng(0).normal(size=(400, 3)) * 3
    path = most_likely_states(log_likelihood, [200, 200], chain)
    assert [path[0], path[200]] == [0, 0]
    assert set(np.diff(path[:200])) | set(np.diff(path[200:])) <= {0, 1}
    assert posterior(log_likelihood, [200, 200], chain).states[0] == pytest.approx([1, 0, 0])


def test_likelihoods_far_apart_do_not_underflow():
    chain = Chain(np.array([0.5, 0.5]), np.array([[0.99, 0.01], [0.01, 0.99]]))
    log_likelihood = np.where(np.arange(900)[:, None] // 300 % 2 == [0, 1], 0.0, -5000.0)
    found = posterior(log_likelihood, [900], chain)
    assert np.isfinite(found.states).all()
    assert found.states.argmax(axis=1).tolist() == [0] * 300 + [1] * 300 + [0] * 300
    assert found.transitions.sum() == pytest.approx(899)


def plain_viterbi(log_likelihood, chain):
    best, came_from = np.log(chain.start) + log_likelihood[0], []
    for row in log_likelihood[1:]:
        paths = best[:, None] + np.log(chain.transition)
        came_from.append(paths.argmax(axis=0))
        best = paths.max(axis=0) + row
    path = [int(best.argmax())]
    for back in reversed(came_from):
        path.append(int(back[path[-1]]))
    return path[::-1]


@pytest.mark.parametrize("n_moments", [21, 50, 97, 150, 199])
def test_the_end_is_exact_where_moments_do_not_fill_the_blocks(n_moments):
    # States are left with different ease, and what is observed says little.
    chain = Chain(
        np.ones(3) / 3, np.array([[0.99, 0.005, 0.005], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    )
    for seed in range(20):
        log_likelihood = 0.5 * np.random.default_rng(seed).normal(size=(n_moments, 3))
        path = most_likely_states(log_likelihood, [n_moments], chain)
        assert path.tolist() == plain_viterbi(log_likelihood, chain)
