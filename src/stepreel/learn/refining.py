"""Learn features that moments of one step share, within takes and across them. No labels.

The paper's loss pushes any two moments that are more than σ apart away from each other, so a step
longer than σ is torn, and nothing ties one take to another. Here nothing is pushed apart. Moments
attract each other if they are at most σ apart, or if they are in two takes and each is the
other's nearest. What keeps all moments from becoming alike is that features have to stay
uncorrelated, each with a variance of 1. The nearest moments are found anew before every round, in
what was learned so far.

Features go in and come out in the same number: a small network adds to them, and starts from
adding nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stepreel.system.cores import one_thread

Values = NDArray[np.float64]
Indices = NDArray[np.int64]

STEPS_PER_ROUND = 100
BATCH = 512
HIDDEN = 64
LEARNING_RATE = 1e-3
MUTUAL = 4  # moments: nearest moments of two takes may miss each other by as many
UNCORRELATED = 1.0  # weight of staying uncorrelated, next to the attraction of pairs


@dataclass(frozen=True)
class Refiner:
    """What was learned: x → x + relu(x·inner + bias)·outer."""

    inner: Values
    bias: Values
    outer: Values

    def __call__(self, features: Values) -> Values:
        """Refine features (T, D)."""
        added: Values = np.maximum(features @ self.inner + self.bias, 0.0) @ self.outer
        return features + added

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return it as arrays for a model."""
        return {field.name: getattr(self, field.name).astype(np.float32) for field in fields(self)}


def learn_refiner(
    features: Values, lengths: Sequence[int], *, n_near: int, rounds: int = 1, seed: int
) -> Refiner:
    """Learn from the features (T, D) of all takes, one after the other.

    lengths  moments of every take
    n_near   moments on either side that are within σ, and attract each other
    """
    with one_thread("openmp"):  # batches are small
        return _learn(features, lengths, n_near, rounds, seed)


def _learn(
    features: Values, lengths: Sequence[int], n_near: int, rounds: int, seed: int
) -> Refiner:
    generator = torch.Generator().manual_seed(seed)
    weights = _first_weights(features.shape[1], generator)
    x = torch.from_numpy(features.astype(np.float32))
    take_of = np.repeat(np.arange(len(lengths)), lengths)
    optimiser = torch.optim.Adam(weights, lr=LEARNING_RATE)
    for _ in range(rounds):
        across = nearest_in_other_takes(_refined(x, weights).detach().numpy(), lengths)
        for anchors, others in _batches(take_of, across, n_near, generator):
            optimiser.zero_grad()
            loss = _loss(_refined(x[anchors], weights), _refined(x[others], weights))
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return Refiner(*(weight.detach().numpy().astype(np.float64) for weight in weights))


def _first_weights(width: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return weights with which the network adds nothing yet."""
    inner = torch.randn(width, HIDDEN, generator=generator) / width**0.5
    weights = inner, torch.zeros(HIDDEN), torch.zeros(HIDDEN, width)
    for weight in weights:
        weight.requires_grad_()
    return weights


def _refined(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    inner, bias, outer = weights
    return x + torch.relu(x @ inner + bias) @ outer


def _loss(anchors: Tensor, others: Tensor) -> Tensor:
    """Return the mean squared distance of pairs, and how far features are from uncorrelated."""
    width = anchors.shape[1]
    attraction = (anchors - others).square().mean()
    both = torch.cat([anchors, others])
    both = both - both.mean(dim=0)
    covariance = both.mT @ both / len(both)
    apart = (covariance - torch.eye(width)).square().sum() / width
    return attraction + UNCORRELATED * apart


def nearest_in_other_takes(features: NDArray[np.floating], lengths: Sequence[int]) -> Indices:
    """Return (T, takes): the moment of every other take that is nearest, if it is mutual; or -1.

    Mutual: the nearest moment there has its own nearest here at most MUTUAL moments away.
    """
    ends = np.cumsum(lengths)
    starts = ends - lengths
    nearest = np.full((len(features), len(lengths)), -1, np.int64)
    squares = np.square(features).sum(axis=1)
    for one, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for other in range(one + 1, len(lengths)):
            there = slice(starts[other], ends[other])
            if start == end or there.start == there.stop:
                continue
            distances = squares[there] - 2 * features[start:end] @ features[there].T
            distances += squares[start:end, None]
            to, back = distances.argmin(axis=1), distances.argmin(axis=0)
            here = np.arange(end - start)
            mutual = np.abs(back[to] - here) <= MUTUAL
            nearest[start:end, other] = np.where(mutual, to + there.start, -1)
            mutual = np.abs(to[back] - np.arange(len(back))) <= MUTUAL
            nearest[there, one] = np.where(mutual, back + start, -1)
    return nearest


def _batches(
    take_of: Indices, across: Indices, n_near: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield pairs that attract: half of them near in time, half in different takes."""
    rng = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator)))
    rows, columns = np.nonzero(across >= 0)
    for _ in range(STEPS_PER_ROUND):
        anchors = rng.integers(len(take_of), size=BATCH)
        shifts = rng.integers(min(1, n_near), n_near + 1, size=BATCH) * rng.choice(
            [-1, 1], size=BATCH
        )
        others = np.clip(anchors + shifts, 0, len(take_of) - 1)
        others = np.where(take_of[others] == take_of[anchors], others, anchors)
        if len(rows):
            chosen = rng.integers(len(rows), size=BATCH)
            anchors = np.concatenate([anchors, rows[chosen]])
            others = np.concatenate([others, across[rows[chosen], columns[chosen]]])
        yield torch.from_numpy(anchors), torch.from_numpy(others)
