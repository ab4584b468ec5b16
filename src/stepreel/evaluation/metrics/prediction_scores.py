"""All figures of one prediction under one protocol: localization, frames, segments, steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepreel.evaluation.metrics.localization import (
    Matching,
    Protocol,
    StepScores,
    average,
    harmonic_mean,
    match_recordings,
    score_matching,
)
from stepreel.evaluation.metrics.segments import (
    OVERLAPS,
    add_counts,
    count_segments,
    edit_score,
    frame_accuracy,
)
from stepreel.types import Labels

FIGURES = ("f1", "precision", "recall", "iou", "mof", "edit", "f1_10", "f1_25", "f1_50")
STEP_FIGURES = ("f1", "precision", "recall", "iou")


@dataclass(frozen=True)
class PredictionScores:
    """In percent: `figures` by the names in FIGURES, and per step by those in STEP_FIGURES.

    ceiling   the highest possible F1 with this many clusters; below 100 only where steps without
              a cluster count
    per_step  every true id that is scored. A step without a cluster has 0, whether or not the
              protocol counts it. Where recordings are scored one by one, it is the mean over
              those that contain the step.
    """

    figures: dict[str, float]
    per_step: dict[int, dict[str, float]]
    ceiling: float


def score_prediction(
    truth: Sequence[Labels], prediction: Sequence[Labels], n_clusters: int, protocol: Protocol
) -> PredictionScores:
    """Score the predictions for all recordings of one task.

    A recording without any key step has no localization to score where background is never
    matched; its moments and segments count all the same.
    """
    matchings = match_recordings(truth, prediction, n_clusters, protocol)
    with_steps = [matching for matching in matchings if len(matching.steps)]
    if not with_steps:
        raise ValueError("the truth contains no key step; nothing can be scored")
    localized = average([score_matching(m, protocol) for m in with_steps], protocol)
    as_steps = [
        (matchings[number] if protocol.each_recording else matchings[0]).translate(
            labels, strict=protocol.strict
        )
        for number, labels in enumerate(prediction)
    ]
    figures = {
        "f1": localized.f1,
        "precision": localized.precision,
        "recall": localized.recall,
        "iou": localized.iou,
        **_segment_figures(truth, as_steps, pooled=not protocol.each_recording),
    }
    return PredictionScores(figures, _per_step(matchings, protocol), localized.ceiling)


def _segment_figures(
    truth: Sequence[Labels], as_steps: Sequence[Labels], *, pooled: bool
) -> dict[str, float]:
    """Edit is a mean over recordings; MoF and F1@k are counted over all, or are means too."""
    pairs = list(zip(truth, as_steps, strict=True))
    figures = {
        "mof": frame_accuracy(truth, as_steps)
        if pooled
        else float(np.mean([frame_accuracy([t], [p]) for t, p in pairs])),
        "edit": float(np.mean([edit_score(t, p) for t, p in pairs])),
    }
    counts = [count_segments(t, p) for t, p in pairs]  # per recording, then per overlap
    for number, overlap in enumerate(OVERLAPS):
        at_overlap = [recording[number] for recording in counts]
        figures[f"f1_{round(100 * overlap)}"] = (
            add_counts(at_overlap).f1 if pooled else float(np.mean([c.f1 for c in at_overlap]))
        )
    return figures


def _per_step(matchings: Sequence[Matching], protocol: Protocol) -> dict[int, dict[str, float]]:
    gathered: dict[int, list[dict[str, float]]] = {}
    for matching in matchings:
        common, steps, clusters = matching.pairs
        scores = StepScores.of(common, steps, clusters)
        pair_of_row = {int(row): number for number, row in enumerate(matching.rows)}
        for row, step in enumerate(matching.steps):
            figures = dict.fromkeys(STEP_FIGURES, 0.0)
            if row in pair_of_row:
                pair = pair_of_row[row]
                figures = {name: 100 * float(getattr(scores, name)[pair]) for name in STEP_FIGURES}
            gathered.setdefault(int(step), []).append(figures)
    per_step = {}
    for step, parts in sorted(gathered.items()):
        mean = {name: float(np.mean([part[name] for part in parts])) for name in STEP_FIGURES}
        if not protocol.strict:
            mean["f1"] = harmonic_mean(mean["precision"], mean["recall"])
        per_step[step] = mean
    return per_step
