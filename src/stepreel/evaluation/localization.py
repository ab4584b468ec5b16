"""Key-step localization: how well found steps cover true ones, under a named protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from stepreel.storyboard import Storyboard
from stepreel.types import Labels, Seconds

BACKGROUND = 0
NO_STEP = -1


@dataclass(frozen=True)
class LocalizationScores:
    """Means over all true key steps, in percent, and the most that so many clusters can reach."""

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
    if truth.shape != prediction.shape:
        raise ValueError(f"truth has {len(truth)} moments, prediction {len(prediction)}")
    ids = np.unique(truth[truth != BACKGROUND])
    if len(ids) == 0:
        raise ValueError("the truth holds no key step; nothing can be scored")
    overlap = np.array(
        [[np.sum((truth == s) & (prediction == c)) for c in range(n_clusters)] for s in ids], float
    )
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    step_size = np.array([np.sum(truth == s) for s in ids], float)
    cluster_size = np.array([np.sum(prediction == c) for c in range(n_clusters)], float)
    common = overlap[rows, columns]
    sizes, clusters = step_size[rows], cluster_size[columns]

    def mean_percent(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(100 * values.sum() / len(ids))

    return LocalizationScores(
        precision=mean_percent(common / np.maximum(clusters, 1)),
        recall=mean_percent(common / sizes),
        f1=mean_percent(2 * common / (clusters + sizes)),
        iou=mean_percent(common / (clusters + sizes - common)),
        ceiling=100 * min(n_clusters, len(ids)) / len(ids),
    )


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
