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
    matchings,
    summarise,
)
from stepreel.evaluation.metrics.segments import (
    OVERLAPS,
    add_hits,
    edit_score,
    frame_accuracy,
    segment_hits,
)
from stepreel.types import Labels

FIGURES = ("f1", "precision", "recall", "iou", "mof", "edit", "f1_10", "f1_25", "f1_50")
STEP_FIGURES = ("f1", "precision", "recall", "iou")


@dataclass(frozen=True)
class Scores:
    """In percent: `figures` by the names in FIGURES, and per step by those in STEP_FIGURES.

    ceiling   the most that F1 can be with so many clusters; below 100 only where steps without a
              partner count
    per_step  of every true id scored; one without a partner has 0, whether or not the protocol
              counts it, and where recordings are scored one by one, the mean over those with it
    """

    figures: dict[str, float]
    per_step: dict[int, dict[str, float]]
    ceiling: float


def score(
    truth: Sequence[Labels], prediction: Sequence[Labels], n_clusters: int, protocol: Protocol
) -> Scores:
    """Score the predictions for all recordings of one task.

    A recording without any key step has no localization to score where background is never
    matched; its moments and segments count all the same.
    """
    found = matchings(truth, prediction, n_clusters, protocol)
    counted = [number for number, one in enumerate(found) if len(one.steps)]
    if not counted:
        raise ValueError("the truth holds no key step; nothing can be scored")
    localized = average([summarise(found[number], protocol) for number in counted], protocol)
    named = [
        (found[number] if protocol.each_recording else found[0]).translate(
            labels, strict=protocol.strict
        )
        for number, labels in enumerate(prediction)
    ]
    figures = {
        "f1": localized.f1,
        "precision": localized.precision,
        "recall": localized.recall,
        "iou": localized.iou,
        **_of_segments(truth, named, pooled=not protocol.each_recording),
    }
    return Scores(figures, _per_step(found, protocol), localized.ceiling)


def _of_segments(
    truth: Sequence[Labels], named: Sequence[Labels], *, pooled: bool
) -> dict[str, float]:
    """Edit is a mean over recordings; MoF and F1@k count over all of them, or are means too."""
    pairs = list(zip(truth, named, strict=True))
    figures = {
        "mof": frame_accuracy(truth, named)
        if pooled
        else float(np.mean([frame_accuracy([t], [p]) for t, p in pairs])),
        "edit": float(np.mean([edit_score(t, p) for t, p in pairs])),
    }
    hits = [segment_hits(t, p) for t, p in pairs]
    for number, overlap in enumerate(OVERLAPS):
        of_one = [one[number] for one in hits]
        figures[f"f1_{round(100 * overlap)}"] = (
            add_hits(of_one).f1 if pooled else float(np.mean([one.f1 for one in of_one]))
        )
    return figures


def _per_step(found: Sequence[Matching], protocol: Protocol) -> dict[int, dict[str, float]]:
    gathered: dict[int, list[dict[str, float]]] = {}
    for one in found:
        common, steps, clusters = one.pairs
        own = StepScores.of(common, steps, clusters)
        place = {int(row): number for number, row in enumerate(one.rows)}
        for row, step in enumerate(one.steps):
            figures = dict.fromkeys(STEP_FIGURES, 0.0)
            if row in place:
                figures = {
                    name: 100 * float(getattr(own, name)[place[row]]) for name in STEP_FIGURES
                }
            gathered.setdefault(int(step), []).append(figures)
    per_step = {}
    for step, parts in sorted(gathered.items()):
        mean = {name: float(np.mean([part[name] for part in parts])) for name in STEP_FIGURES}
        if not protocol.strict:
            mean["f1"] = harmonic_mean(mean["precision"], mean["recall"])
        per_step[step] = mean
    return per_step
