"""The most likely sequence of hidden states in which no visit is shorter than a step can be.

Plain Viterbi leaves slivers at unclear borders, which a storyboard cannot show. Dropping them would
leave holes; here their moments go to the neighbours that explain them best.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.decoders.markov_chain import Chain, Values, most_likely_states
from stepreel.types import Labels

STAYED = -1


def most_likely_visits(
    log_likelihood: Values, lengths: Sequence[int], chain: Chain, shortest: Sequence[int]
) -> Labels:
    """Return the most likely state of every moment of all takes (exact).

    log_likelihood  (T, K) of what was observed, of all takes one after the other
    lengths         number of moments of every take
    shortest        of every take: moments that a visit has at least; a shorter take is one visit
    """
    if max(shortest) <= 1:
        return most_likely_states(log_likelihood, lengths, chain)
    starts = np.cumsum([0, *lengths[:-1]])
    visits = np.minimum(shortest, lengths)
    best, came_from = _best_paths(log_likelihood, starts, np.asarray(lengths), visits, chain)
    labels = np.empty(len(log_likelihood), np.int64)
    for start, length, visit in zip(starts, lengths, visits, strict=True):
        own = slice(start, start + length)
        labels[own] = _trace(best[start + length - 1], came_from[own], int(visit))
    return labels


def _best_paths(
    log_likelihood: Values,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    visits: NDArray[np.int64],
    chain: Chain,
) -> tuple[Values, NDArray[np.int16]]:
    """Return (T, K) the best log-probability of being in a visit that is long enough by then.

    And (T, K) the state before a visit that is just long enough, STAYED if it has lasted longer.
    All takes advance together, one moment at a time; the longest takes come first.
    """
    with np.errstate(divide="ignore"):
        begin, moves = np.log(chain.start), np.log(chain.transition)
    stay = np.diag(moves).copy()
    np.fill_diagonal(moves, -np.inf)
    sums = np.concatenate([np.zeros((1, len(stay))), log_likelihood.cumsum(axis=0)])
    best = np.full(log_likelihood.shape, -np.inf)
    came_from = np.full(log_likelihood.shape, STAYED, np.int16)
    order = np.argsort(-lengths, kind="stable")
    starts, lengths, visits = starts[order], lengths[order], visits[order]
    n_active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    for position in range(visits.min() - 1, lengths[0]):
        active = slice(0, n_active[position])
        rows, visit = starts[active] + position, visits[active]
        first = visit == position + 1
        if first.any():
            best[rows[first]] = begin + sums[rows[first] + 1] - sums[starts[active][first]]
            best[rows[first]] += (visit[first, None] - 1) * stay
        if position < visit.min():
            continue
        later = visit <= position
        if not later.all():
            rows, visit = rows[later], visit[later]
        paths = best[rows - visit][:, :, None] + moves
        before = paths.argmax(axis=1)
        entered = np.take_along_axis(paths, before[:, None], axis=1)[:, 0]
        entered += sums[rows + 1] - sums[rows + 1 - visit] + (visit[:, None] - 1) * stay
        stayed = best[rows - 1] + stay + log_likelihood[rows]
        is_new = entered > stayed
        best[rows] = np.where(is_new, entered, stayed)
        came_from[rows] = np.where(is_new, before, STAYED)
    return best, came_from


def _trace(last: Values, came_from: NDArray[np.int16], visit: int) -> Labels:
    """Follow the best path of one take back from its end."""
    labels = np.empty(len(came_from), np.int64)
    state, end = int(last.argmax()), len(came_from)
    while end:
        begun = np.flatnonzero(came_from[visit - 1 : end, state] != STAYED)
        border = int(begun[-1]) if len(begun) else 0  # the visit that is long enough there
        labels[border:end] = state
        state, end = int(came_from[border + visit - 1, state]), border
    return labels
