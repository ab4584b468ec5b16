"""Blind baselines: what is scored without looking at the recordings. They need lengths alone.

Null baselines that cluster raw features are in `clustered`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stepreel.evaluation.methods.base import Method, MethodRun, Prediction, RecordingTimes
from stepreel.types import Labels


def random_labels(lengths: Sequence[int], n_clusters: int, seed: int) -> list[Labels]:
    """Draw a cluster for every moment, all K equally likely."""
    rng = np.random.default_rng(seed)
    return [rng.integers(n_clusters, size=n) for n in lengths]


def equal_split(n_moments: int, n_clusters: int) -> Labels:
    """Cut a recording into `n_clusters` parts of equal length: floor(i·K/n).

    >>> equal_split(6, 3)
    array([0, 0, 1, 1, 2, 2])
    """
    return np.arange(n_moments) * n_clusters // n_moments


def equal_splits(lengths: Sequence[int], n_clusters: int, seed: int = 0) -> list[Labels]:
    """Cut every recording by itself into K equal parts."""
    return [equal_split(n, n_clusters) for n in lengths]


def concatenated_split(lengths: Sequence[int], n_clusters: int, seed: int = 0) -> list[Labels]:
    """Cut all recordings, concatenated in the order given, into equal parts.

    The "Uniform" of published tables: floor(i·(K-1)/(n-1)), that is K-1 equal parts and one last
    moment. It hardly cuts inside a recording, which is why it scores so much below `equal_splits`.

    >>> concatenated_split([4, 3], 3)
    [array([0, 0, 0, 1]), array([1, 1, 2])]
    """
    n = sum(lengths)
    labels = np.arange(n) * (n_clusters - 1) // max(n - 1, 1)
    return np.split(labels, np.cumsum(lengths)[:-1])


def one_cluster(lengths: Sequence[int], n_clusters: int, seed: int = 0) -> list[Labels]:
    """Put everything into one cluster; the other K-1 are empty."""
    return [np.zeros(n, np.int64) for n in lengths]


LabelLengths = Callable[[Sequence[int], int, int], list[Labels]]
"""Called with the recordings' lengths in moments, K and a seed"""

BASELINES: dict[str, LabelLengths] = {
    "random": random_labels,
    "equal-split": equal_splits,
    "concatenated-split": concatenated_split,
    "one-cluster": one_cluster,
}


def _blind(name: str, title: str, *, uses_seed: bool = False) -> Method:
    def predict(recordings: Sequence[RecordingTimes], run: MethodRun) -> Prediction:
        lengths = [len(recording.times) for recording in recordings]
        together = BASELINES[name](lengths, run.n_clusters, run.seed)
        alone = together
        if name == "concatenated-split":  # alone, a recording is all there is to cut
            alone = [concatenated_split([n], run.n_clusters)[0] for n in lengths]
        return Prediction(together, alone)

    return Method(predict, "blind", title, uses_seed=uses_seed)


BLIND_METHODS = {
    "random": _blind("random", "a random cluster for every moment", uses_seed=True),
    "equal-split": _blind("equal-split", "every recording cut into K equal parts"),
    "concatenated-split": _blind(
        "concatenated-split",
        "all recordings concatenated, then cut into equal parts; “Uniform” in published tables",
    ),
    "one-cluster": _blind("one-cluster", "everything in one cluster"),
}
