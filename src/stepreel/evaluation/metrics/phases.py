"""Phase classification: how much a few labels are worth once recordings are embedded.

A plain support vector machine (scikit-learn's defaults) learns phases from frozen embeddings of
training recordings, and names every moment of the others. Encoder and machine see the training
split only; the machine sees the labels of a share of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.types import Floats, Labels

SHARES = (0.1, 0.5, 1.0)
N_FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """Positions of the recordings to learn from, and of those to be classified."""

    train: list[int]
    test: list[int]


def make_folds(splits: Sequence[str], seed: int) -> list[Fold]:
    """Return the official split where every recording is in one, otherwise folds by recording.

    >>> make_folds(["train", "test", "train"], 0)
    [Fold(train=[0, 2], test=[1])]
    """
    n = len(splits)
    train = [number for number, split in enumerate(splits) if split == "train"]
    test = [number for number, split in enumerate(splits) if split == "test"]
    if train and test and len(train) + len(test) == n:
        return [Fold(train, test)]
    if n < 2:
        raise ValueError("phase classification needs two recordings: one to learn from, one to try")
    order = np.random.default_rng(seed).permutation(n)
    parts = [sorted(int(i) for i in part) for part in np.array_split(order, min(N_FOLDS, n))]
    return [Fold(sorted(set(range(n)) - set(part)), part) for part in parts]


def labelled_share(train: Sequence[int], share: float, seed: int) -> list[int]:
    """Return the first max(1, int(share · n)) training recordings of a seeded order.

    >>> len(labelled_share([0, 1, 2, 3, 4], 0.5, 0)), len(labelled_share([0, 1], 0.1, 0))
    (2, 1)
    """
    order = np.random.default_rng(seed).permutation(len(train))
    return [train[i] for i in order[: max(1, int(share * len(train)))]]


@dataclass(frozen=True)
class Guesses:
    """How many moments were classified, and how many of those rightly."""

    right: int
    all: int


def classify(
    features: Sequence[Floats],
    truth: Sequence[Labels],
    labelled: Sequence[int],
    test: Sequence[int],
    *,
    with_background: bool = True,
) -> Guesses:
    """Learn phases from the `labelled` recordings and count right guesses in the `test` ones.

    Without background, its moments are dropped on both sides.
    """
    from sklearn.svm import SVC

    def gather(numbers: Sequence[int]) -> tuple[Floats, Labels]:
        x = np.concatenate([features[number] for number in numbers])
        y = np.concatenate([truth[number] for number in numbers])
        kept = np.ones(len(y), bool) if with_background else y != BACKGROUND
        return x[kept], y[kept]

    known, phases = gather(labelled)
    asked, answers = gather(test)
    if len(answers) == 0:
        return Guesses(0, 0)
    if len(np.unique(phases)) < 2:  # a machine needs two classes; with one, the answer is clear
        only = phases[0] if len(phases) else BACKGROUND
        return Guesses(int(np.sum(answers == only)), len(answers))
    guessed = SVC().fit(known, phases).predict(asked)
    return Guesses(int(np.sum(guessed == answers)), len(answers))
