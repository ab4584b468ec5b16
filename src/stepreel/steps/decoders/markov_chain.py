"""Exact inference in a hidden Markov chain over all takes of a task, without a loop over moments.

All takes are one chain that starts anew at the first moment of each. It is cut into about √T blocks
of about √T moments. What a block does to any state before it is a K × K matrix, and all blocks are
worked through side by side, one moment of each at a time. That takes a few passes of √T operations.
Memory grows with the number of moments only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepreel.types import Labels, Mask

MOST_STATES_IN_BLOCKS = 24  # with more, K³ operations per moment cost more than a loop

Values = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Chain:
    """How the hidden state moves from moment to moment.

    start       (K,) probability of every state at the first moment of a take
    transition  (K, K) probability of the state in the column after the one in the row
    """

    start: Values
    transition: Values


class Posterior(NamedTuple):
    """What is known of the hidden states.

    states       (T, K) probability of every state at every moment
    transitions  (K, K) expected number of moves between states
    """

    states: Values
    transitions: Values


class _Blocks:
    """The moments of all takes as (blocks, length, …), filled up at the end."""

    def __init__(self, lengths: Sequence[int], n_states: int) -> None:
        self.n_moments = sum(lengths)
        n_blocks = max(1, round(self.n_moments**0.5))
        if n_states > MOST_STATES_IN_BLOCKS:
            n_blocks = 1
        self.length = -(-self.n_moments // n_blocks)
        self.count = -(-self.n_moments // self.length)
        starts = np.zeros(self.n_moments, np.bool_)
        starts[np.cumsum([0, *lengths[:-1]])] = True
        # What is filled up starts anew, too: otherwise the best path would pay for moves there.
        self.starts: Mask = self.fill(starts, 1)

    def fill(self, values: NDArray[T], fill: float) -> NDArray[T]:
        """Return (T, …) as (blocks, length, …); what is left over at the end gets `fill`."""
        left = self.count * self.length - self.n_moments
        padding = [(0, left)] + [(0, 0)] * (values.ndim - 1)
        padded = np.pad(values, padding, constant_values=fill)
        return padded.reshape(self.count, self.length, *values.shape[1:])

    def flatten(self, values: NDArray[T]) -> NDArray[T]:
        """Return (blocks, length, …) as (T, …)."""
        return values.reshape(-1, *values.shape[2:])[: self.n_moments]


def posterior(log_likelihood: Values, lengths: Sequence[int], chain: Chain) -> Posterior:
    """Compute the probability of every state at every moment, given all moments of its take.

    log_likelihood  (T, K) of what was observed, of all takes one after the other
    lengths         number of moments of every take
    """
    blocks = _Blocks(lengths, log_likelihood.shape[1])
    scaled = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    observed = blocks.fill(scaled, 1)
    products = _block_products(observed, blocks, chain)
    forward = _forward(observed, blocks, chain, products)
    backward = _backward(observed, blocks, chain, products)
    states = blocks.flatten(forward * backward)
    states /= states.sum(axis=1, keepdims=True)
    return Posterior(states, _moves(observed, forward, backward, blocks, chain))


def _block_products(observed: Values, blocks: _Blocks, chain: Chain) -> Values:
    """Return (blocks, K, K): what a block does to the distribution before it, scaled."""
    n_states = observed.shape[2]
    product = np.tile(np.eye(n_states), (blocks.count, 1, 1))
    if blocks.count == 1:
        return product  # nothing comes before the only block
    for position in range(blocks.length):
        moved = product @ chain.transition
        restart = product.sum(axis=2, keepdims=True) * chain.start
        is_start = blocks.starts[:, position, None, None]
        product = np.where(is_start, restart, moved) * observed[:, position, None, :]
        product /= np.maximum(product.max(axis=(1, 2), keepdims=True), 1e-300)
    return product


def _forward(observed: Values, blocks: _Blocks, chain: Chain, products: Values) -> Values:
    """Return (blocks, length, K): the state given all moments of the take so far, normalised."""
    before = np.ones((blocks.count, observed.shape[2]))
    for number in range(1, blocks.count):
        before[number] = before[number - 1] @ products[number - 1]
        before[number] /= before[number].sum()
    messages = np.empty_like(observed)
    for position in range(blocks.length):
        moved = before @ chain.transition
        is_start = blocks.starts[:, position, None]
        before = np.where(is_start, chain.start, moved) * observed[:, position]
        before /= np.maximum(before.sum(axis=1, keepdims=True), 1e-300)
        messages[:, position] = before
    return messages


def _backward(observed: Values, blocks: _Blocks, chain: Chain, products: Values) -> Values:
    """Return (blocks, length, K): how well a state explains the take's later moments, scaled."""
    after = np.ones((blocks.count, observed.shape[2]))
    for number in range(blocks.count - 2, -1, -1):
        after[number] = products[number + 1] @ after[number + 1]
        after[number] /= after[number].max()
    messages = np.empty_like(observed)
    for position in range(blocks.length - 1, -1, -1):
        messages[:, position] = after
        moved = (observed[:, position] * after) @ chain.transition.T
        after = np.where(blocks.starts[:, position, None], 1.0, moved)
        after /= np.maximum(after.max(axis=1, keepdims=True), 1e-300)
    return messages


def _moves(
    observed: Values, forward: Values, backward: Values, blocks: _Blocks, chain: Chain
) -> Values:
    """Return (K, K): the expected number of moves; there is none from one take to the next."""
    n_moments = blocks.n_moments
    within = ~blocks.flatten(blocks.starts)[1:]
    came_from = blocks.flatten(forward)[: n_moments - 1][within]
    explains = blocks.flatten(observed * backward)[1:][within]
    total = np.einsum("ti,ij,tj->t", came_from, chain.transition, explains, optimize=True)
    weighted = came_from / np.maximum(total, 1e-300)[:, None]
    moves: Values = chain.transition * (weighted.T @ explains)
    return moves


def most_likely_states(log_likelihood: Values, lengths: Sequence[int], chain: Chain) -> Labels:
    """Return the most likely sequence of states of all takes (Viterbi's algorithm, exact)."""
    blocks = _Blocks(lengths, log_likelihood.shape[1])
    observed = blocks.fill(log_likelihood, 0)
    with np.errstate(divide="ignore"):
        start, transition = np.log(chain.start), np.log(chain.transition)
    best = _best_before(observed, blocks, start, transition)
    came_from = np.empty(observed.shape, np.int16)
    for position in range(blocks.length):
        is_start = blocks.starts[:, position, None]
        paths = best[:, :, None] + transition
        came_from[:, position] = np.where(
            is_start, best.argmax(axis=1)[:, None], paths.argmax(axis=1)
        )
        moved = np.where(is_start, best.max(axis=1, keepdims=True) + start, paths.max(axis=1))
        best = moved + observed[:, position]
    ends = _ends_of_blocks(best, came_from)
    states = np.empty(observed.shape[:2], np.int64)
    numbers = np.arange(blocks.count)
    for position in range(blocks.length - 1, -1, -1):
        states[:, position] = ends
        ends = came_from[numbers, position, ends]
    return blocks.flatten(states)


def _best_before(observed: Values, blocks: _Blocks, start: Values, transition: Values) -> Values:
    """Return (blocks, K): the best log-probability of ending in a state before each block."""
    n_states = observed.shape[2]
    before = np.zeros((blocks.count, n_states))
    if blocks.count == 1:
        return before
    product = np.where(np.eye(n_states, dtype=np.bool_), 0.0, -np.inf)
    product = np.tile(product, (blocks.count, 1, 1))
    for position in range(blocks.length):
        moved = (product[:, :, :, None] + transition).max(axis=2)
        restart = product.max(axis=2, keepdims=True) + start
        is_start = blocks.starts[:, position, None, None]
        product = np.where(is_start, restart, moved) + observed[:, position, None, :]
    for number in range(1, blocks.count):
        before[number] = (before[number - 1][:, None] + product[number - 1]).max(axis=0)
    return before


def _ends_of_blocks(best: Values, came_from: NDArray[np.int16]) -> Labels:
    """Return (blocks,): the last state of every block, found from the last block to the first."""
    count, length, n_states = came_from.shape
    before = np.tile(np.arange(n_states), (count, 1))  # last state of the block before, by own end
    for position in range(length - 1, -1, -1):
        before = np.take_along_axis(came_from[:, position], before, axis=1).astype(np.int64)
    ends = np.empty(count, np.int64)
    ends[-1] = best[-1].argmax()
    for number in range(count - 2, -1, -1):
        ends[number] = before[number + 1, ends[number + 1]]
    return ends
