"""A hidden Markov model on context features: moments are grouped by what they show.

The states are the kinds of steps. All share one covariance, so that directions in which moments of
one kind vary anyway count little. How long a kind lasts, and what follows it, is learned. The most
likely sequence of states in which no visit is too short to be shown is found exactly. Relative time
can be one more feature: the more it weighs, the nearer the result is to cutting every take by the
clock. Nothing is trained before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stepreel.features.context import ContextBasis
from stepreel.steps.clustering import fit_k_means, own_and_certainty
from stepreel.steps.decoders.base import (
    Decoded,
    Decoder,
    Kinds,
    Takes,
    numbered_by_appearance,
)
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.least_durations import most_likely_visits
from stepreel.steps.decoders.markov_chain import Chain, posterior
from stepreel.steps.decoders.timed_points import (
    TimedPoints,
    Values,
    basis_arrays,
    fit_points,
    points_in,
)
from stepreel.steps.key_steps import shortest_step
from stepreel.types import Clustering, Labels

ROUNDS = 6  # of expectation and maximisation
SHRINKAGE = 0.5  # of the covariance towards its diagonal: there are few takes
LARGEST = 1e9  # number in a model: features are z-scored
PRIOR_MOVES = 1.0  # added to the number of moves between any two states


@dataclass(frozen=True)
class States:
    """The kinds of steps as states of a hidden Markov model.

    means       (K, D); the last column is time if it has a weight
    covariance  (D, D) shared by all states
    """

    means: Values
    covariance: Values
    chain: Chain
    time_weight: float

    def squared_distances(self, points: Values) -> Values:
        """Return (T, K) how far every moment is from every state, as the covariance measures it."""
        whitening = np.linalg.cholesky(np.linalg.inv(self.covariance))
        x, means = points @ whitening, self.means @ whitening
        squares = (x**2).sum(axis=1)[:, None] - 2 * x @ means.T + (means**2).sum(axis=1)
        distances: Values = np.maximum(squares, 0.0)
        return distances

    def columns(self, chosen: NDArray[np.int64]) -> States:
        """Return the states as some of the features show them; time is kept."""
        scale = np.ones(len(chosen))
        if self.time_weight:
            # Time weighs as much as all features together, and these are fewer now.
            width = self.means.shape[1] - 1
            scale = np.append(scale, np.sqrt(len(chosen) / width))
            chosen = np.append(chosen, width)
        return States(
            self.means[:, chosen] * scale,
            self.covariance[np.ix_(chosen, chosen)] * np.outer(scale, scale),
            self.chain,
            self.time_weight,
        )

    def reordered(self, order: NDArray[np.int64]) -> States:
        """Return the states in another order."""
        chain = Chain(self.chain.start[order], self.chain.transition[np.ix_(order, order)])
        return States(self.means[order], self.covariance, chain, self.time_weight)


@on_few_moments
def decode(takes: Takes) -> Decoded:
    """Fit the states to all takes; find the most likely state of every moment."""
    return decode_points(takes, *fit_points(takes), time_weight=0.0)


def decode_points(
    takes: Takes, basis: ContextBasis, points: TimedPoints, *, time_weight: float
) -> Decoded:
    """Do the same with points that are known already, and with time as one more feature."""
    states = fit_states(points, takes.n_clusters, seed=takes.seed, time_weight=time_weight)
    labels = label(takes, points, states)
    numbers = numbered_by_appearance(points.split(labels), len(states.means))
    states = states.reordered(np.argsort(numbers))
    kinds = {**basis_arrays(basis), **_arrays(states)}
    again = partial(_fitted_again, takes, points, time_weight)
    clusterings = clusterings_of(takes, points, states, numbers[labels])
    return Decoded(clusterings, kinds, again=again, used="hmm")


@on_few_moments
def find_again(takes: Takes, kinds: Kinds) -> Decoded:
    """Find the states of a model in later takes."""
    return find_in_points(takes, points_in(takes, kinds), kinds)


def find_in_points(takes: Takes, points: TimedPoints, kinds: Kinds) -> Decoded:
    """Do the same in points that are known already."""
    states = _states_from(kinds)
    again = partial(_found_again, takes, points, states)
    return Decoded(clusterings_of(takes, points, states), kinds, again=again, used="hmm")


def fit_states(
    points: TimedPoints, n_states: int, *, seed: int, time_weight: float = 0.0
) -> States:
    """Start from k-means, then maximise the likelihood by a few rounds of EM."""
    values = points.with_time(time_weight)
    labels = k_means(values, points.fitted, n_states, seed=seed)
    n_states = int(labels.max()) + 1
    weights = np.eye(n_states)[labels] * points.known[:, None]
    moves = PRIOR_MOVES + _moves_of(labels, points, n_states)
    starts: Values = PRIOR_MOVES + weights[_first_moments(points)].sum(axis=0)
    for _ in range(ROUNDS):
        states = _maximise(values, weights, moves, starts, time_weight)
        found = posterior(_log_likelihood(values, points, states), points.lengths, states.chain)
        weights = found.states * points.known[:, None]
        moves = PRIOR_MOVES + found.transitions
        starts = PRIOR_MOVES + found.states[_first_moments(points)].sum(axis=0)
    return _maximise(values, weights, moves, starts, time_weight)


def k_means(values: Values, fitted: NDArray[np.bool_], n_clusters: int, *, seed: int) -> Labels:
    """Cluster the moments that are fitted to; label all of them."""
    model = fit_k_means(values[fitted], n_clusters, seed=seed)
    labels: Labels = model.predict(values).astype(np.int64)
    return labels


def label(takes: Takes, points: TimedPoints, states: States) -> Labels:
    """Return the most likely state of every moment."""
    values = points.with_time(states.time_weight)
    log_likelihood = _log_likelihood(values, points, states)
    choice = takes.settings.key_steps
    shortest = [
        max(1, shortest_step(choice, moment_seconds=take.moment_seconds))
        for take in takes.recordings
    ]
    return most_likely_visits(log_likelihood, points.lengths, states.chain, shortest)


def clusterings_of(
    takes: Takes, points: TimedPoints, states: States, labels: Labels | None = None
) -> list[Clustering]:
    """Label all takes, and say how typical and how certain every moment is."""
    labels = label(takes, points, states) if labels is None else labels
    distances = np.sqrt(states.squared_distances(points.with_time(states.time_weight)))
    own, certainty = own_and_certainty(distances.astype(np.float32), labels)
    arrays = (points.split(labels), points.split(own), points.split(certainty))
    parts = zip(takes.recordings, *arrays, points.split(~points.known), strict=True)
    return [
        Clustering(recording.times, own_labels, far, sure, excluded, n_clusters=len(states.means))
        for recording, own_labels, far, sure, excluded in parts
    ]


def _log_likelihood(values: Values, points: TimedPoints, states: States) -> Values:
    """Return (T, K), up to a constant; moments at which nothing is known fit all states alike."""
    return np.where(points.known[:, None], -0.5 * states.squared_distances(values), 0.0)


def _maximise(
    values: Values, weights: Values, moves: Values, starts: Values, time_weight: float
) -> States:
    totals = weights.sum(axis=0)
    means = (weights.T @ values) / np.maximum(totals, 1e-9)[:, None]
    # The scatter within states is all scatter less that of the means.
    scatter = (values * weights.sum(axis=1)[:, None]).T @ values - (
        means * totals[:, None]
    ).T @ means
    covariance = scatter / max(float(totals.sum()), 1e-9)
    diagonal = np.maximum(np.diag(covariance), 0.0)
    covariance = (1 - SHRINKAGE) * covariance + SHRINKAGE * np.diag(diagonal)
    covariance += 1e-6 * np.eye(len(covariance))
    chain = Chain(starts / starts.sum(), moves / moves.sum(axis=1, keepdims=True))
    return States(means, covariance, chain, time_weight)


def _first_moments(points: TimedPoints) -> NDArray[np.int64]:
    return np.cumsum((0, *points.lengths[:-1]))


def _moves_of(labels: Labels, points: TimedPoints, n_states: int) -> Values:
    within = np.diff(points.take_of()) == 0
    moves = labels[:-1][within] * n_states + labels[1:][within]
    return np.bincount(moves, minlength=n_states**2).reshape(n_states, n_states).astype(np.float64)


def _half_of_columns(points: TimedPoints, seed: int) -> NDArray[np.int64]:
    width = points.features.shape[1]
    return np.sort(np.random.default_rng(seed).permutation(width)[: max(1, width // 2)])


def _fitted_again(
    takes: Takes, points: TimedPoints, time_weight: float, seed: int
) -> list[Clustering]:
    """Fit to a random half of the columns."""
    half = points.columns(_half_of_columns(points, seed))
    states = fit_states(half, takes.n_clusters, seed=seed, time_weight=time_weight)
    return clusterings_of(takes, half, states)


def _found_again(takes: Takes, points: TimedPoints, states: States, seed: int) -> list[Clustering]:
    """Find the same states in a random half of the columns."""
    chosen = _half_of_columns(points, seed)
    return clusterings_of(takes, points.columns(chosen), states.columns(chosen))


def _arrays(states: States) -> dict[str, NDArray[np.float32]]:
    arrays = {
        "means": states.means,
        "covariance": states.covariance,
        "start": states.chain.start,
        "transition": states.chain.transition,
        "time_weight": np.array([states.time_weight]),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def _states_from(kinds: Kinds) -> States:
    arrays = {name: kinds[name].astype(np.float64) for name in ("means", "covariance")}
    start, transition = (kinds[name].astype(np.float64) for name in ("start", "transition"))
    k = len(arrays["means"])
    if start.shape != (k,) or transition.shape != (k, k):
        raise ValueError(f"{k} states, but moves between {transition.shape}")
    if min(start.min(), transition.min()) < 0 or not start.sum() * transition.sum(axis=1).min() > 0:
        raise ValueError("moves between states need positive probabilities")
    chain = Chain(start / start.sum(), transition / transition.sum(axis=1, keepdims=True))
    weight = kinds["time_weight"].reshape(-1)
    if len(weight) != 1 or weight[0] < 0:
        raise ValueError(f"a weight of time of {weight.tolist()}")
    numbers = np.concatenate([arrays["means"].ravel(), arrays["covariance"].ravel(), weight])
    if np.abs(numbers).max() > LARGEST:
        raise ValueError(f"means, covariance or time beyond {LARGEST:g}")
    return States(**arrays, chain=chain, time_weight=float(weight[0]))


HMM = Decoder(decode, find_again, title="a hidden Markov model on what moments show")
