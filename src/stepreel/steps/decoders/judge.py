"""Tell without labels what kind of task it is: whether steps recur, or come at their own time.

Two questions, each answered on takes that were left out:

* `explained_elsewhere`: how well do kinds found in some of the cues, and in time, tell what the
  other cues show? The more time weighs in finding them, the nearer they are to equal parts. Where
  that loses nothing, cutting by time is all that the features support.
* `order_over_time`: is the next kind of step better told from the current one, or from how much
  time has passed? Steps that recur have an order but no time of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.clustering import fit_k_means
from stepreel.steps.decoders.hmm import k_means
from stepreel.steps.decoders.timed_points import TimedPoints, Values
from stepreel.system.cores import on_all_cores
from stepreel.types import Labels, Mask

TIME_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 3.0, np.inf)  # inf: equal parts
CLEARLY = 3.0  # standard errors: a weight that loses as much is worse
SURELY = 2.0  # standard errors: a weight that explains as much explains something
FOLDS = 4
REPETITIONS = 3  # with other starts, and other halves of the columns; means are taken
FEWEST_FOR_ORDER = 8  # takes: with fewer, what follows what is not known
PRIOR_COUNT = 0.5  # of every kind, when the next one is predicted


class Difference(NamedTuple):
    """A mean over takes, and its standard error."""

    mean: float
    error: float


Seen = Callable[[TimedPoints, Mask, int], TimedPoints]
"""Called as seen_as(view, is_known, seed): what kinds are found in, instead of the view itself."""


def explained_elsewhere(
    points: TimedPoints,
    n_clusters: int,
    *,
    seed: int,
    seen_as: Seen | None = None,
    weights: Sequence[float] = TIME_WEIGHTS,
    repetitions: int = REPETITIONS,
) -> Values:
    """Return (weights, takes): the share of unseen features that kinds found elsewhere explain.

    For every weight of time, kinds are found in one part of the columns (a view) of most takes, and
    the mean of the other columns is taken per kind. In a take that was left out, kinds are told by
    the first part, and the second part is compared with these means: 1 - squared error / variance.
    """
    points = points.thinned()
    parts = [(seed + n, seen) for n in range(repetitions) for seen in _views(points, seed + n)]

    def explained(part: tuple[int, NDArray[np.int64]]) -> Values:
        own_seed, seen = part
        return _explained(points, seen, n_clusters, weights, seed=own_seed, seen_as=seen_as)

    found = on_all_cores(explained, parts)
    shares: Values = np.mean(found, axis=0)
    return shares


def _explained(
    points: TimedPoints,
    seen: NDArray[np.int64],
    n_clusters: int,
    weights: Sequence[float],
    *,
    seed: int,
    seen_as: Seen | None,
) -> Values:
    """Return (weights, takes): the share of the columns not `seen` that kinds explain."""
    take_of, n_takes = points.take_of(), len(points.lengths)
    fold_of = np.arange(n_takes) % min(FOLDS, n_takes)
    view, hidden = points.columns(seen), np.delete(points.features, seen, axis=1)
    errors = np.zeros((len(weights), len(hidden)))
    for fold in range(fold_of.max() + 1):
        is_left_out = (fold_of == fold)[take_of]
        looked_at = view if seen_as is None else seen_as(view, ~is_left_out, seed)
        for own, weight in zip(errors, weights, strict=True):
            labels = _told_kinds(looked_at, n_clusters, weight, ~is_left_out, seed=seed)
            own[is_left_out] = _errors(hidden, labels, ~is_left_out, n_clusters)[is_left_out]
    totals = np.bincount(take_of, weights=(hidden**2).sum(axis=1), minlength=n_takes)
    left = np.array([np.bincount(take_of, weights=own, minlength=n_takes) for own in errors])
    return np.where(totals > 0, 1 - left / np.maximum(totals, 1e-12), 0.0)


def _views(points: TimedPoints, seed: int) -> list[NDArray[np.int64]]:
    """Return the columns of every view: one cue each, or two halves of the only cue."""
    if len(points.widths) > 1:
        ends = np.cumsum((0, *points.widths))
        return [np.arange(ends[n], ends[n + 1]) for n in range(len(points.widths))]
    width = points.features.shape[1]
    if width == 1:
        return [np.zeros(0, np.int64)]
    order = np.random.default_rng(seed).permutation(width)
    return [np.sort(order[: width // 2]), np.sort(order[width // 2 :])]


def _told_kinds(
    view: TimedPoints, n_clusters: int, weight: float, is_known: Mask, *, seed: int
) -> Labels:
    """Find kinds in the takes that are known; tell them at all moments."""
    if not np.isfinite(weight) or view.features.shape[1] == 0 or not is_known.any():
        return np.minimum((view.passed * n_clusters).astype(np.int64), n_clusters - 1)
    values = view.with_time(weight)
    model = fit_k_means(values[is_known], n_clusters, seed=seed, n_init=1)
    labels: Labels = model.predict(values).astype(np.int64)
    return labels


def _errors(hidden: Values, labels: Labels, known: Mask, n_clusters: int) -> Values:
    """Return (T,) squared distances to the mean of the same kind in the takes that are known."""
    counts = np.bincount(labels[known], minlength=n_clusters)
    means = np.zeros((n_clusters, hidden.shape[1]))
    np.add.at(means, labels[known], hidden[known])
    means /= np.maximum(counts, 1)[:, None]
    errors: Values = ((hidden - means[labels]) ** 2).sum(axis=1)
    return errors


def best_time_weight(shares: Values) -> float:
    """Return the largest weight of time that explains no less than the best one does, if it does.

    "No less": the difference, take by take, is less than CLEARLY standard errors, or as many more
    as it takes to be as sure with few takes. With two or three takes the answer is equal parts.
    """
    n_takes = shares.shape[1]
    best = shares[shares.mean(axis=1).argmax()]
    if not explains_anything(shares):
        return float(TIME_WEIGHTS[-1])
    allowed = as_sure(CLEARLY, n_takes)
    for weight, own in zip(TIME_WEIGHTS[::-1], shares[::-1], strict=True):
        lost = difference(best - own)
        if lost.mean <= allowed * lost.error + 1e-12:
            return float(weight)
    raise AssertionError("the best weight is no worse than itself")


def explains_anything(shares: Values) -> bool:
    """Tell whether the best weight surely explains more than nothing."""
    return is_surely_more(shares[shares.mean(axis=1).argmax()])


def is_surely_more(shares: Values) -> bool:
    """Tell whether one share per take is surely more than nothing, however few takes there are."""
    gained = difference(shares)
    return len(shares) > 1 and gained.mean > as_sure(SURELY, len(shares)) * gained.error


def as_sure(errors: float, n_takes: int) -> float:
    """Return how many standard errors are as sure as that many are with very many takes."""
    from scipy.stats import norm, t

    return float(t.ppf(norm.cdf(errors), n_takes - 1))


def order_over_time(points: TimedPoints, n_clusters: int, *, seed: int) -> Difference:
    """Return how many bits per step order tells more than time; error infinite with few takes."""
    if len(points.lengths) < FEWEST_FOR_ORDER:
        return Difference(0.0, np.inf)
    seeds = [seed + number for number in range(REPETITIONS)]
    gains = on_all_cores(lambda own: _order_gains(points, n_clusters, seed=own), seeds)
    return difference(np.mean(gains, axis=0))


def _order_gains(points: TimedPoints, n_clusters: int, *, seed: int) -> Values:
    """Return (takes,): how many bits per step order tells more than time, in each take."""
    labels = k_means(points.features, points.fitted, n_clusters, seed=seed)
    takes = [
        _steps_of(own, passed)
        for own, passed in zip(points.split(labels), points.split(points.passed), strict=True)
    ]
    gains = np.zeros(len(takes))
    for take, steps in enumerate(takes):
        others = np.concatenate([x for n, x in enumerate(takes) if n != take])
        gains[take] = _order_gain(steps, others, n_clusters)
    return gains


def _steps_of(labels: Labels, passed: Values) -> Values:
    """Return (n, 3): kind, next kind and time of every change; runs of one moment are noise."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1])
    lengths = np.diff(np.append(starts, len(labels)))
    starts = starts[lengths > 1]
    kinds = labels[starts]
    steps = np.stack([kinds[:-1], kinds[1:], passed[starts[1:]]], axis=1).astype(np.float64)
    changed: Values = steps[steps[:, 0] != steps[:, 1]]
    return changed


def _order_gain(steps: Values, others: Values, n_clusters: int) -> float:
    """Return the mean of log2 p(next | current) - log2 p(next | time), told by other takes."""
    if not len(steps) or not len(others):
        return 0.0
    current, following, times = others[:, 0].astype(int), others[:, 1].astype(int), others[:, 2]
    usual = np.bincount(following, minlength=n_clusters) + PRIOR_COUNT
    prior = PRIOR_COUNT * n_clusters * usual / usual.sum()
    gains = []
    for kind, after, time in steps:
        by_order = np.bincount(following[current == kind], minlength=n_clusters) + prior
        nearness = np.exp(-0.5 * ((times - time) / (0.5 / n_clusters)) ** 2)
        by_time = np.bincount(following, weights=nearness, minlength=n_clusters) + prior
        by_time[int(kind)] = 0.0  # a step is not followed by its own kind
        share = by_order[int(after)] / by_order.sum(), by_time[int(after)] / by_time.sum()
        gains.append(np.log2(share[0] / share[1]))
    return float(np.mean(gains))


def difference(values: Values) -> Difference:
    """Return mean and standard error; infinite for a single value.

    >>> difference(np.array([1.0, 3.0]))
    Difference(mean=2.0, error=1.0)
    """
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf
    return Difference(float(values.mean()), error)
