"""Phase classification: how much a few labels tell once recordings are embedded.

A support vector machine (scikit-learn's defaults) learns phases from frozen embeddings of training
recordings, and classifies every moment of the others. Encoder and classifier see the training split
only; the classifier sees the labels of a share of it.
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
    """Positions of the recordings to train on, and of those to classify."""

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
        raise ValueError(
            "phase classification needs two recordings: one to train on, one to test on"
        )
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
class PhaseCounts:
    """How many moments were classified, and how many of those correctly."""

    correct: int
    total: int


def classify(
    features: Sequence[Floats],
    truth: Sequence[Labels],
    labelled: Sequence[int],
    test: Sequence[int],
    *,
    with_background: bool = True,
) -> PhaseCounts:
    """Learn phases from the `labelled` recordings and count correct moments in the `test` ones.

    Without background, its moments are dropped on both sides.
    """
    from sklearn.svm import SVC

    def gather(numbers: Sequence[int]) -> tuple[Floats, Labels]:
        x = np.concatenate([features[number] for number in numbers])
        y = np.concatenate([truth[number] for number in numbers])
        kept = np.ones(len(y), bool) if with_background else y != BACKGROUND
        return x[kept], y[kept]

    train_features, train_phases = gather(labelled)
    test_features, test_phases = gather(test)
    if len(test_phases) == 0:
        return PhaseCounts(0, 0)
    if len(np.unique(train_phases)) < 2:  # SVC needs two classes; with one, the answer is clear
        only = train_phases[0] if len(train_phases) else BACKGROUND
        return PhaseCounts(int(np.sum(test_phases == only)), len(test_phases))
    predicted = SVC().fit(train_features, train_phases).predict(test_features)
    return PhaseCounts(int(np.sum(predicted == test_phases)), len(test_phases))
