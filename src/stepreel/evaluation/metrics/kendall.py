"""Kendall's τ: how well nearest neighbours across two recordings keep their order in time.

Each moment of one recording is mapped to the nearest moment (Euclidean) of another. If both show
the same steps in the same order and the embedding is good, the positions it is mapped to increase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import kendalltau

from stepreel.types import Floats, Labels

BLOCK_ROWS = 2048


@dataclass(frozen=True)
class PairTau:
    """Both variants of τ for one ordered pair of recordings.

    tau_b     corrected for ties, as in published figures; NaN if all moments map to the same one
    tau_text  (concordant - discordant) / all pairs, with ties discordant, as the paper's text says
    """

    tau_b: float
    tau_text: float


@dataclass(frozen=True)
class TaskTau:
    """Means over all ordered pairs of a task's recordings; `undefined` pairs have no τ_b."""

    tau_b: float
    tau_text: float
    pairs: int
    undefined: int


def pair_tau(nearest: Labels) -> PairTau:
    """Return both τ of the sequence of moments that moments 0, 1, 2 … are mapped to.

    >>> pair_tau(np.array([0, 1, 2, 3])), pair_tau(np.array([0, 0, 1, 1])).tau_text
    (PairTau(tau_b=1.0, tau_text=1.0), 0.3333333333333333)
    """
    n = len(nearest)
    pairs = n * (n - 1) // 2
    if pairs == 0:
        return PairTau(float("nan"), float("nan"))
    _, counts = np.unique(nearest, return_counts=True)
    tied = int((counts * (counts - 1) // 2).sum())
    if tied == pairs:
        return PairTau(float("nan"), -1.0)
    tau_b = float(kendalltau(np.arange(n), nearest).statistic)
    # τ_b = (P - Q) / sqrt((P + Q) · pairs) when only one side has ties, and P + Q = pairs - tied.
    difference = round(tau_b * float(np.sqrt(float(pairs - tied) * pairs)))
    concordant = (pairs - tied + difference) // 2
    return PairTau(tau_b, (2 * concordant - pairs) / pairs)


@dataclass(frozen=True)
class DistinctRows:
    """The different rows of an embedding, in the order of their first moments.

    rows   (U, D)
    first  (U,) the first moment with each row: of equal ones, it counts as the nearest
    where  (T,) the row of every moment
    """

    rows: Floats
    first: Labels
    where: Labels

    @classmethod
    def of(cls, embedding: Floats) -> DistinctRows:
        """Find equal rows; between them, rounding would decide differently on each machine."""
        rows, first, where = np.unique(embedding, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(np.ascontiguousarray(rows[order]), first[order], rank[where.reshape(-1)])


def nearest_moments(first: DistinctRows, second: DistinctRows) -> tuple[Labels, Labels]:
    """Return for each moment of `first` the nearest moment of `second`, and vice versa.

    Of equal ones, the first is taken. On long, smooth recordings single precision may return a
    direct neighbour of the nearest moment, which does not change τ noticeably.
    """
    forward, backward = _nearest_rows(first.rows, second.rows)
    return second.first[forward][first.where], first.first[backward][second.where]


def _nearest_rows(first: Floats, second: Floats) -> tuple[Labels, Labels]:
    """Find nearest rows in both directions from the same products, in blocks of rows."""
    squares, second_squares = np.square(first).sum(axis=1), np.square(second).sum(axis=1)
    forward: Labels = np.zeros(len(first), np.int64)
    backward: Labels = np.zeros(len(second), np.int64)
    smallest = np.full(len(second), np.inf, np.float32)
    columns = np.arange(len(second))
    for start in range(0, len(first), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(first)))
        distances = first[rows] @ (-2 * second.T)
        distances += second_squares  # squared, without the row's own square: same in the whole row
        forward[rows] = distances.argmin(axis=1)
        distances += squares[rows, None]
        nearest = distances.argmin(axis=0)
        block_smallest = distances[nearest, columns]
        closer = block_smallest < smallest
        backward[closer] = nearest[closer] + start
        smallest[closer] = block_smallest[closer]
    return forward, backward


def task_tau(embeddings: Sequence[Floats]) -> TaskTau:
    """Average τ over all ordered pairs of recordings; count and drop those without a τ_b."""
    if len(embeddings) < 2:
        raise ValueError("Kendall's τ compares recordings; one alone has no τ")
    centre = np.concatenate(list(embeddings)).mean(axis=0)
    centred = [DistinctRows.of((rows - centre).astype(np.float32)) for rows in embeddings]
    taus = [
        pair_tau(nearest)
        for first, second in combinations(centred, 2)
        for nearest in nearest_moments(first, second)
    ]
    defined = [tau.tau_b for tau in taus if not np.isnan(tau.tau_b)]
    texts = [tau.tau_text for tau in taus if not np.isnan(tau.tau_text)]
    return TaskTau(
        float(np.mean(defined)) if defined else float("nan"),
        float(np.mean(texts)) if texts else float("nan"),
        pairs=len(taus),
        undefined=len(taus) - len(defined),
    )
