"""A shared clock: each step comes once, in one order, at about the same share of every take.

Takes are averaged on cells of relative time. Borders are placed where this mean changes, as far as
it can be told from what takes differ by; without any change they are equally far apart. All takes
have the same borders, in relative time.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.decoders.base import Again, Decoded, Decoder, Kinds, Takes, distance_to_middle
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.timed_points import TimedPoints, Values, fit_points, share_passed
from stepreel.types import Clustering, Labels

CELLS_PER_STEP = 10
MOST_CELLS = 1000
DIMENSIONS = 12  # of the mean of all takes
LENGTH_DEVIATION = 0.35  # of the logarithm of a step's length, compared with an equal part
TRUST = 0.2  # in the features: takes are less independent than their number says


class SharedClock(NamedTuple):
    """Where the steps of all takes are.

    borders  (K + 1,) share of a take at which steps begin and the last one ends
    steps    (cells, K) probability that a cell is in a step
    """

    borders: Values
    steps: Values


@on_few_moments
def decode(takes: Takes) -> Decoded:
    """Place the borders of all takes together."""
    _, points = fit_points(takes)
    return decode_points(takes, points)


def decode_points(takes: Takes, points: TimedPoints) -> Decoded:
    """Do the same with points that are known already."""
    clock = shared_clock(points, takes.n_clusters)
    return _decoded(takes, clock, again=partial(_again, takes, points))


def find_again(takes: Takes, kinds: Kinds) -> Decoded:
    """Cut later takes at the same shares."""
    clock = SharedClock(kinds["borders"].astype(np.float64), kinds["steps"].astype(np.float64))
    if clock.borders.ndim != 1 or clock.steps.shape[1:] != (clock.borders.size - 1,):
        raise ValueError(f"borders {clock.borders.shape}, but probabilities {clock.steps.shape}")
    if not np.allclose(clock.borders[[0, -1]], (0, 1)) or (np.diff(clock.borders) < 0).any():
        raise ValueError("borders do not lead from 0 to 1")
    return _decoded(takes, clock)


def shared_clock(points: TimedPoints, n_steps: int) -> SharedClock:
    """Return the expected borders of `n_steps` segments of the mean take."""
    n_cells = max(n_steps, min(CELLS_PER_STEP * n_steps, MOST_CELLS))
    cells = take_cells(points, n_cells)  # (takes, cells, D)
    scores = _segment_scores(_scaled_mean(cells), n_cells / n_steps)
    # reached[k, b]: k segments end before cell b; left[k, b]: the others fill the rest
    reached = np.full((n_steps + 1, n_cells + 1), -np.inf)
    left = reached.copy()
    reached[0, 0] = left[n_steps, n_cells] = 0.0
    for k in range(n_steps):
        reached[k + 1] = _log_sum(reached[k][:, None] + scores, axis=0)
        left[n_steps - k - 1] = _log_sum(scores + left[n_steps - k], axis=1)
    borders = np.exp(reached + left - reached[n_steps, n_cells])  # (K + 1, cells + 1)
    borders /= borders.sum(axis=1, keepdims=True)
    begun = borders.cumsum(axis=1)[:, :-1]  # whether segment k begins at this cell or earlier
    return SharedClock(
        borders=(borders * np.arange(n_cells + 1)).sum(axis=1) / n_cells,
        steps=(begun[:-1] - begun[1:]).T,
    )


def take_cells(points: TimedPoints, n_cells: int) -> Values:
    """Average the features of every take on cells of relative time (takes, cells, D)."""
    cell = np.minimum((points.passed * n_cells).astype(np.int64), n_cells - 1)
    place = points.take_of() * n_cells + cell
    n_places = len(points.lengths) * n_cells
    counts = np.bincount(place[points.known], minlength=n_places)
    sums = np.zeros((n_places, points.features.shape[1]))
    np.add.at(sums, place[points.known], points.features[points.known])
    means = (sums / np.maximum(counts, 1)[:, None]).reshape(len(points.lengths), n_cells, -1)
    for take, has_any in zip(means, counts.reshape(-1, n_cells) > 0, strict=True):
        filled = np.flatnonzero(has_any)
        if 0 < len(filled) < n_cells:  # fewer moments than cells, or a gap: the nearest cell
            middles = (filled[1:] + filled[:-1]) / 2
            take[:] = take[filled[np.searchsorted(middles, np.arange(n_cells))]]
    return means


def _scaled_mean(cells: Values) -> Values:
    """Return the main directions of the mean take, in units of how well its cells are known."""
    n_takes = len(cells)
    mean = cells.mean(axis=0)
    centred = mean - mean.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    chosen = directions[:DIMENSIONS].T
    if n_takes == 1:  # nothing tells what would differ in another take
        return np.zeros((len(mean), 1))
    differences = (cells - mean) @ chosen
    variance = differences.var(axis=(0, 1)) * n_takes / (n_takes - 1) + 1e-9
    products = (differences[:, 1:] * differences[:, :-1]).sum(axis=(0, 1))
    correlation = np.clip(products / np.maximum((differences**2).sum(axis=(0, 1)), 1e-12), 0, 0.98)
    cells_alike = (1 + correlation) / (1 - correlation)
    scaled: Values = (centred @ chosen) * np.sqrt(TRUST * n_takes / (variance * cells_alike))
    return scaled


def _segment_scores(mean: Values, usual: float) -> Values:
    """Return [a, b]: log-probability of one segment from cell a to cell b, -inf unless a < b."""
    n_cells = len(mean)
    sums = np.concatenate([np.zeros((1, mean.shape[1])), mean.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (mean**2).sum(axis=1).cumsum()])
    place = np.arange(n_cells + 1)
    length = place[None, :] - place[:, None]
    between = (sums**2).sum(axis=1)
    products = between[None, :] + between[:, None] - 2 * sums @ sums.T
    scatter = squares[None, :] - squares[:, None] - products / np.maximum(length, 1)
    log_length = np.log(np.maximum(length, 1) / usual)
    scores = -0.5 * scatter - 0.5 * (log_length / LENGTH_DEVIATION) ** 2 - log_length
    return np.where(length > 0, scores, -np.inf)


def _log_sum(values: Values, axis: int) -> Values:
    from scipy.special import logsumexp

    total: Values = logsumexp(values, axis=axis)
    return total


def _decoded(takes: Takes, clock: SharedClock, again: Again | None = None) -> Decoded:
    arrays = {"borders": clock.borders, "steps": clock.steps}
    kinds = {name: array.astype(np.float32) for name, array in arrays.items()}
    return Decoded(clusterings_of(takes, clock), kinds, again=again, used="clock")


def clusterings_of(takes: Takes, clock: SharedClock) -> list[Clustering]:
    """Cut all takes at the borders of a clock."""
    clusterings = []
    n_cells, n_steps = clock.steps.shape
    for recording in takes.recordings:
        passed = share_passed(len(recording.times))
        labels: Labels = np.searchsorted(clock.borders[1:-1], passed, side="right")
        cell = np.minimum((passed * n_cells).astype(np.int64), n_cells - 1)
        clusterings.append(
            Clustering(
                recording.times,
                labels,
                distance_to_middle(labels),
                clock.steps[cell, labels].clip(0, 1).astype(np.float32),
                ~np.any([track.valid for track in recording.tracks.values()], axis=0),
                n_clusters=n_steps,
            )
        )
    return clusterings


def _again(takes: Takes, points: TimedPoints, seed: int) -> list[Clustering]:
    """Place the borders by a random half of the columns."""
    width = points.features.shape[1]
    half: NDArray[np.int64] = np.random.default_rng(seed).permutation(width)[: max(1, width // 2)]
    return clusterings_of(takes, shared_clock(points.columns(half), takes.n_clusters))


CLOCK = Decoder(decode, find_again, title="the same borders in all takes, in relative time")
