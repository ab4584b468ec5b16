"""Key-step localization: how well predicted steps cover true ones, under a named protocol.

Truth is one id per moment, 0 = background; a prediction is one cluster per moment, 0..K-1, or
-1 = "no step here". True steps (rows, ascending) and clusters (columns, empty ones included) are
matched one to one so that they have the most moments in common. Protocols differ only in what is
matched with what, and in what is then averaged over what: see `PROTOCOLS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from stepreel.evaluation.truth.annotation import BACKGROUND, NO_STEP
from stepreel.types import Labels

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Protocol:
    """What a score with this name means.

    each_recording  every recording is clustered and matched by itself, and scores are averaged
                    over recordings; otherwise all recordings of a task together
    strict          every key step counts, unmatched ones as 0, and background is never matched;
                    otherwise only matched pairs count, background is a row like any other, and
                    "no step here", where it occurs, a column
    pooled          moments are counted over all matched pairs together, instead of averaging
                    over pairs
    """

    name: str
    used_by: str
    each_recording: bool = False
    strict: bool = False
    pooled: bool = False


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("egoprocel", "CnC and STEPs on egocentric sets"),
        Protocol("egoprocel-pooled", "CnC and STEPs on ProceL, CrossTask", pooled=True),
        Protocol("per-video", "OPEL, HiERO", each_recording=True),
        Protocol("per-video-pooled", "the code of RGWOT", each_recording=True, pooled=True),
        Protocol("strict", "stepreel, headline", strict=True),
        Protocol("strict-per-video", "stepreel", each_recording=True, strict=True),
    )
}


@dataclass(frozen=True)
class LocalizationScores:
    """In percent; `ceiling` is the highest F1 possible with this many clusters."""

    precision: float
    recall: float
    f1: float
    iou: float
    ceiling: float


@dataclass(frozen=True)
class Matching:
    """Which step was matched with which cluster, in one recording or in several together.

    steps                       (R,) true ids that occur, ascending; without background if that is
                                never matched
    clusters                    (C,) 0..K-1, and before them -1 where it is a column and occurs
    common                      (R, C) moments in common
    step_sizes, cluster_sizes   (R,) and (C,) all moments of every step and of every cluster
    rows, columns               (P,) the matched pairs
    """

    steps: Labels
    clusters: Labels
    common: Values
    step_sizes: Values
    cluster_sizes: Values
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]

    @cached_property
    def pairs(self) -> tuple[Values, Values, Values]:
        """Per pair: moments in common, of the step, and of the cluster."""
        return (
            self.common[self.rows, self.columns],
            self.step_sizes[self.rows],
            self.cluster_sizes[self.columns],
        )

    def translate(self, prediction: Labels, *, strict: bool) -> Labels:
        """Return the step that each moment's cluster is matched with, or a wrong id if it is not.

        Wrong ids are negative, and different for different clusters. "No step here" means
        background to a protocol that never matches it.
        """
        table: Labels = -1 - np.arange(int(self.clusters.max(initial=0)) + 2)
        table[self.clusters[self.columns] + 1] = self.steps[self.rows]
        if strict:
            table[NO_STEP + 1] = BACKGROUND
        return table[prediction + 1]


def match(truth: Labels, prediction: Labels, n_clusters: int, *, strict: bool) -> Matching:
    """Match true steps and clusters for the most moments in common."""
    check_labels(truth, prediction, n_clusters)
    ids, rows = np.unique(truth, return_inverse=True)
    # Column 0 is "no step here".
    cells = np.bincount(
        rows * (n_clusters + 1) + prediction + 1, minlength=len(ids) * (n_clusters + 1)
    )
    common = cells.reshape(len(ids), n_clusters + 1).astype(np.float64)
    cluster_sizes, step_sizes = common.sum(axis=0), common.sum(axis=1)
    first = 0 if not strict and cluster_sizes[0] > 0 else 1
    kept = ids != BACKGROUND if strict else np.ones(len(ids), bool)
    clusters = np.arange(first, n_clusters + 1) - 1
    overlap = common[kept, first:]
    pairs = linear_sum_assignment(overlap, maximize=True)
    return Matching(ids[kept], clusters, overlap, step_sizes[kept], cluster_sizes[first:], *pairs)


def check_labels(truth: Labels, prediction: Labels, n_clusters: int) -> None:
    """Raise ValueError unless a prediction can be scored against a truth."""
    if truth.shape != prediction.shape or truth.ndim != 1:
        raise ValueError(f"truth has {len(truth)} moments, prediction {len(prediction)}")
    if len(truth) == 0:
        raise ValueError("there is no moment to score")
    if prediction.min() < NO_STEP or prediction.max() >= n_clusters:
        raise ValueError(
            f"predictions must be clusters 0 to {n_clusters - 1}, or -1 for no step; "
            f"found {prediction.min()} to {prediction.max()}"
        )


@dataclass(frozen=True)
class StepScores:
    """Figures of each step, as shares of 1; a step without a cluster has 0."""

    precision: Values
    recall: Values
    f1: Values
    iou: Values

    @classmethod
    def of(cls, common: Values, steps: Values, clusters: Values) -> StepScores:
        """Work out precision, recall, F1 and IoU of pairs; an empty cluster has 0."""
        return cls(
            precision=common / np.maximum(clusters, 1),
            recall=common / np.maximum(steps, 1),
            f1=2 * common / np.maximum(steps + clusters, 1),
            iou=common / np.maximum(steps + clusters - common, 1),
        )


def score_matching(matching: Matching, protocol: Protocol) -> LocalizationScores:
    """Score one matching; `score_localization` averages over recordings where a protocol does."""
    common, steps, clusters = matching.pairs
    if protocol.pooled:
        common, steps, clusters = (np.array([x.sum()]) for x in (common, steps, clusters))
    scores = StepScores.of(common, steps, clusters)
    n_counted = len(matching.steps) if protocol.strict else len(scores.iou)
    precision, recall, f1, iou = (
        float(100 * values.sum() / n_counted)
        for values in (scores.precision, scores.recall, scores.f1, scores.iou)
    )
    n_clusters = int(matching.clusters.max(initial=-1)) + 1
    ceiling = min(n_clusters, n_counted) / n_counted if protocol.strict else 1.0
    if not protocol.strict:
        f1 = harmonic_mean(precision, recall)
    return LocalizationScores(precision, recall, f1, iou, 100 * ceiling)


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1 of a precision and a recall."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def average(parts: Sequence[LocalizationScores], protocol: Protocol) -> LocalizationScores:
    """Average over recordings; `per-video` takes its F1 from the averages."""
    mean = {
        name: float(np.mean([getattr(part, name) for part in parts]))
        for name in ("precision", "recall", "f1", "iou", "ceiling")
    }
    if not protocol.strict and not protocol.pooled:
        mean["f1"] = harmonic_mean(mean["precision"], mean["recall"])
    return LocalizationScores(**mean)


def match_recordings(
    truth: Sequence[Labels], prediction: Sequence[Labels], n_clusters: int, protocol: Protocol
) -> list[Matching]:
    """Match every recording by itself, or all of them together, as the protocol says."""
    if len(truth) != len(prediction):
        raise ValueError(f"{len(truth)} recordings have a truth, {len(prediction)} a prediction")
    for labels, predicted in zip(truth, prediction, strict=True):
        check_labels(labels, predicted, n_clusters)
    if not protocol.each_recording:
        truth, prediction = [np.concatenate(list(truth))], [np.concatenate(list(prediction))]
    return [
        match(labels, predicted, n_clusters, strict=protocol.strict)
        for labels, predicted in zip(truth, prediction, strict=True)
    ]


def score_localization(
    truth: Sequence[Labels],
    prediction: Sequence[Labels],
    n_clusters: int,
    *,
    protocol: str | Protocol,
) -> LocalizationScores:
    """Score the predictions for one task's recordings under a protocol.

    Recordings without any key step do not count where every recording is scored by itself
    and background is never matched.
    """
    rules = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    matchings = match_recordings(truth, prediction, n_clusters, rules)
    with_steps = [matching for matching in matchings if len(matching.steps)]
    if not with_steps:
        raise ValueError("the truth contains no key step; nothing can be scored")
    return average([score_matching(matching, rules) for matching in with_steps], rules)


def score_strict(truth: Labels, prediction: Labels, n_clusters: int) -> LocalizationScores:
    """Score one recording, or several concatenated, under `strict`."""
    return score_localization([truth], [prediction], n_clusters, protocol="strict")


def score_egoprocel(truth: Labels, prediction: Labels, n_clusters: int) -> LocalizationScores:
    """Score one recording, or several concatenated, under `egoprocel`."""
    return score_localization([truth], [prediction], n_clusters, protocol="egoprocel")
