"""Key-step localization: how well found steps cover true ones, under a named protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from stepreel.storyboard import Storyboard
from stepreel.types import Labels, Seconds

BACKGROUND = 0
NO_STEP = -1

Values = NDArray[np.float64]


@dataclass(frozen=True)
class LocalizationScores:
    """In percent, and the most that so many clusters can reach; the protocol says which mean."""

    precision: float
    recall: float
    f1: float
    iou: float
    ceiling: float


def score_strict(truth: Labels, prediction: Labels, n_clusters: int) -> LocalizationScores:
    """Score under protocol `strict`: every key step counts, background is never matched.

    truth       (T,) 0 = background, any other id = a key step
    prediction  (T,) cluster 0..n_clusters-1, or -1 = no step here
    Steps and clusters are matched one to one for the largest common time; a step without a partner
    scores 0; a cluster's size counts all its moments, those in true background included.
    """
    _check_lengths(truth, prediction)
    ids = np.unique(truth[truth != BACKGROUND])
    if len(ids) == 0:
        raise ValueError("the truth holds no key step; nothing can be scored")
    matched = _match(truth, prediction, ids, range(n_clusters))

    def mean_percent(values: Values) -> float:
        return float(100 * values.sum() / len(ids))

    return LocalizationScores(
        precision=mean_percent(matched.precision),
        recall=mean_percent(matched.recall),
        f1=mean_percent(2 * matched.common / (matched.clusters + matched.steps)),
        iou=mean_percent(matched.iou),
        ceiling=100 * min(n_clusters, len(ids)) / len(ids),
    )


def score_egoprocel(truth: Labels, prediction: Labels, n_clusters: int) -> LocalizationScores:
    """Score under protocol `egoprocel`, that of the published tables on egocentric sets.

    Background is a row like any other, "no step here" a column if it occurs. Precision, recall and
    IoU are means over *matched* pairs only, and F1 is made of those means: with fewer clusters than
    steps, the steps left over are silently dropped.
    """
    _check_lengths(truth, prediction)
    ids = np.unique(truth)
    columns = [*([NO_STEP] if (prediction == NO_STEP).any() else []), *range(n_clusters)]
    matched = _match(truth, prediction, ids, columns)
    precision, recall = float(matched.precision.mean()), float(matched.recall.mean())
    both = precision + recall
    return LocalizationScores(
        precision=100 * precision,
        recall=100 * recall,
        f1=100 * 2 * precision * recall / both if both > 0 else 0.0,
        iou=100 * float(matched.iou.mean()),
        ceiling=100.0,
    )


@dataclass(frozen=True)
class _Matched:
    """Per matched pair: common moments, those of the step and those of the cluster."""

    common: Values
    steps: Values
    clusters: Values

    @property
    def precision(self) -> Values:
        return self.common / np.maximum(self.clusters, 1)

    @property
    def recall(self) -> Values:
        return self.common / self.steps

    @property
    def iou(self) -> Values:
        return self.common / (self.clusters + self.steps - self.common)


def _match(truth: Labels, prediction: Labels, ids: Labels, columns: Sequence[int]) -> _Matched:
    """Match rows (ids, ascending) and columns (clusters, empty ones too) for the most overlap."""
    clusters = np.asarray(columns)
    overlap = np.array(
        [[np.sum((truth == s) & (prediction == c)) for c in clusters] for s in ids], float
    )
    rows, picked = linear_sum_assignment(overlap, maximize=True)
    return _Matched(
        common=overlap[rows, picked],
        steps=np.array([np.sum(truth == s) for s in ids[rows]], float),
        clusters=np.array([np.sum(prediction == c) for c in clusters[picked]], float),
    )


def _check_lengths(truth: Labels, prediction: Labels) -> None:
    if truth.shape != prediction.shape:
        raise ValueError(f"truth has {len(truth)} moments, prediction {len(prediction)}")


def labels_of_storyboard(board: Storyboard, times: Seconds) -> Labels:
    """Return the cluster a storyboard shows at each time, -1 where it shows no step."""
    spans = [(s.start, s.end, s.cluster) for s in board.timeline if s.kind == "step"]
    return labels_of_spans(((a, b, c) for a, b, c in spans if c is not None), times, NO_STEP)


def labels_of_spans(
    spans: Iterable[tuple[float, float, int]], times: Seconds, elsewhere: int
) -> Labels:
    """Return the label of the span (start, end, label) each time falls into, or `elsewhere`.

    >>> labels_of_spans([(1.0, 2.0, 5)], np.array([0.9, 1.0, 1.9, 2.0]), 0)
    array([0, 5, 5, 0])
    """
    labels = np.full(len(times), elsewhere, np.int64)
    for start, end, label in spans:
        labels[(times >= start) & (times < end)] = label
    return labels
