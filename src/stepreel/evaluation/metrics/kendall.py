"""Kendall's τ: how well nearest neighbours across two recordings keep their order in time.

Each moment of one recording is sent to the nearest moment (Euclidean) of another. If both show the
same steps in the same order and the embedding is good, the numbers it is sent to increase.
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
class Order:
    """Both variants of τ for one ordered pair, or means over pairs.

    tau_b     ties corrected for, as in published figures; NaN where all moments go to the same one
    tau_text  (concordant - discordant) / all pairs, with ties discordant, as the paper words it
    """

    tau_b: float
    tau_text: float


@dataclass(frozen=True)
class TaskOrder:
    """Means over all ordered pairs of a task's recordings; `undefined` pairs have no τ_b."""

    tau_b: float
    tau_text: float
    pairs: int
    undefined: int


def order_kept(nearest: Labels) -> Order:
    """Return both τ of the sequence of moments that moments 0, 1, 2 … are sent to.

    >>> order_kept(np.array([0, 1, 2, 3])), order_kept(np.array([0, 0, 1, 1])).tau_text
    (Order(tau_b=1.0, tau_text=1.0), 0.3333333333333333)
    """
    n = len(nearest)
    pairs = n * (n - 1) // 2
    if pairs == 0:
        return Order(float("nan"), float("nan"))
    _, counts = np.unique(nearest, return_counts=True)
    tied = int((counts * (counts - 1) // 2).sum())
    if tied == pairs:
        return Order(float("nan"), -1.0)
    tau_b = float(kendalltau(np.arange(n), nearest).statistic)
    # τ_b = (P - Q) / sqrt((P + Q) · pairs) when only one side has ties, and P + Q = pairs - tied.
    difference = round(tau_b * float(np.sqrt(float(pairs - tied) * pairs)))
    concordant = (pairs - tied + difference) // 2
    return Order(tau_b, (2 * concordant - pairs) / pairs)


@dataclass(frozen=True)
class Distinct:
    """The rows of a recording without repetition, in the order of their first moments.

    rows   (U, D)
    first  (U,) the moment each stands for: of equals, the first is the nearest
    where  (T,) the row of every moment
    """

    rows: Floats
    first: Labels
    where: Labels

    @classmethod
    def of(cls, embedding: Floats) -> Distinct:
        """Find equal rows; rounding would decide between them, and on each machine otherwise."""
        rows, first, where = np.unique(embedding, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(np.ascontiguousarray(rows[order]), first[order], rank[where.reshape(-1)])


def nearest_moments(one: Distinct, other: Distinct) -> tuple[Labels, Labels]:
    """Return for each moment of `one` the nearest moment of `other`, and the other way round.

    Of equals, the first is taken. Single precision may take a direct neighbour of the nearest for
    it on long, smooth recordings; τ does not notice.
    """
    there, back = _nearest_rows(one.rows, other.rows)
    return other.first[there][one.where], one.first[back][other.where]


def _nearest_rows(one: Floats, other: Floats) -> tuple[Labels, Labels]:
    """Find nearest rows both ways, from the same products, in blocks of rows."""
    squares, other_squares = np.square(one).sum(axis=1), np.square(other).sum(axis=1)
    there: Labels = np.zeros(len(one), np.int64)
    back: Labels = np.zeros(len(other), np.int64)
    smallest = np.full(len(other), np.inf, np.float32)
    columns = np.arange(len(other))
    for start in range(0, len(one), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(one)))
        distances = one[rows] @ (-2 * other.T)
        distances += other_squares  # squared, but for the row's own length, which decides nothing
        there[rows] = distances.argmin(axis=1)
        distances += squares[rows, None]
        nearest = distances.argmin(axis=0)
        reached = distances[nearest, columns]
        closer = reached < smallest
        back[closer] = nearest[closer] + start
        smallest[closer] = reached[closer]
    return there, back


def score_order(embeddings: Sequence[Floats]) -> TaskOrder:
    """Average τ over all ordered pairs of recordings; those without a τ_b are dropped, counted."""
    if len(embeddings) < 2:
        raise ValueError("Kendall's τ compares recordings; one alone has none")
    centre = np.concatenate(list(embeddings)).mean(axis=0)
    centred = [Distinct.of((one - centre).astype(np.float32)) for one in embeddings]
    orders = [
        order_kept(nearest)
        for one, other in combinations(centred, 2)
        for nearest in nearest_moments(one, other)
    ]
    defined = [one.tau_b for one in orders if not np.isnan(one.tau_b)]
    texts = [one.tau_text for one in orders if not np.isnan(one.tau_text)]
    return TaskOrder(
        float(np.mean(defined)) if defined else float("nan"),
        float(np.mean(texts)) if texts else float("nan"),
        pairs=len(orders),
        undefined=len(orders) - len(defined),
    )
