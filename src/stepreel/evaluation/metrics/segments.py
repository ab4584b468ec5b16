"""Scores of a labelling in terms of true steps: frames, order, and segments.

Predictions are true ids per moment: the step that a moment's cluster is matched with, 0 where it is
matched with background, and a negative id, which is always wrong, where it is not matched. As usual
with Edit and F1@k, segments of background do not count on either side. A segment of an unmatched
cluster does count, as a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.types import Labels

OVERLAPS = (0.10, 0.25, 0.50)


@dataclass(frozen=True)
class LabelRuns:
    """Runs of one label: starts and stops (exclusive) in moments, in time order."""

    labels: Labels
    starts: Labels
    stops: Labels

    @classmethod
    def of(cls, labels: Labels, *, left_out: int = BACKGROUND) -> LabelRuns:
        """Cut where the label changes; leave out runs of one label, usually background."""
        edges = np.flatnonzero(np.diff(labels)) + 1
        starts = np.concatenate([[0], edges]).astype(np.int64)
        stops = np.concatenate([edges, [len(labels)]]).astype(np.int64)
        kept = labels[starts] != left_out
        return cls(labels[starts][kept], starts[kept], stops[kept])

    def __len__(self) -> int:
        return len(self.labels)


def frame_accuracy(truth: Sequence[Labels], prediction: Sequence[Labels]) -> float:
    """Return the percentage of all moments, background included, that are right (MoF)."""
    right = sum(int(np.sum(t == p)) for t, p in zip(truth, prediction, strict=True))
    return 100 * right / sum(map(len, truth))


def edit_score(truth: Labels, prediction: Labels) -> float:
    """Return 100 · (1 - edit distance of the two sequences of segments / the longer's length).

    >>> edit_score(np.array([1, 1, 0, 2, 3]), np.array([1, 1, 0, 3, 3]))
    66.66666666666667
    """
    true, predicted = LabelRuns.of(truth), LabelRuns.of(prediction)
    longer = max(len(true), len(predicted))
    if longer == 0:
        return 100.0
    return 100 * (1 - edit_distance(true.labels, predicted.labels) / longer)


def edit_distance(a: Labels, b: Labels) -> int:
    """Return how many insertions, deletions and replacements turn one sequence into the other.

    Row by row of the usual table. Insertions along a row are one running minimum, so that a
    prediction of thousands of segments (`random`) costs no more than a few array operations.
    """
    if len(a) > len(b):
        a, b = b, a
    steps: NDArray[np.int64] = np.arange(len(b) + 1)
    row = steps.copy()
    for position, label in enumerate(a, start=1):
        changed = np.empty_like(row)
        changed[0] = position
        changed[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != label))
        row = np.minimum.accumulate(changed - steps) + steps
    return int(row[-1])


@dataclass(frozen=True)
class SegmentCounts:
    """True segments that were found, predicted ones that are wrong, true ones that were missed."""

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def f1(self) -> float:
        """F1 in percent; 100 where there was nothing to find and nothing was predicted."""
        total = 2 * self.true_positives + self.false_positives + self.false_negatives
        return 200 * self.true_positives / total if total else 100.0


def add_counts(counts: Sequence[SegmentCounts]) -> SegmentCounts:
    """Count over several recordings."""
    return SegmentCounts(
        sum(recording.true_positives for recording in counts),
        sum(recording.false_positives for recording in counts),
        sum(recording.false_negatives for recording in counts),
    )


def count_segments(
    truth: Labels, prediction: Labels, overlaps: Sequence[float] = OVERLAPS
) -> list[SegmentCounts]:
    """Count, for each of `overlaps`, true segments that one of the same label overlaps by that IoU.

    A predicted segment is compared with the true one of its label that it overlaps most. A true
    segment can be found once only.
    """
    true, predicted = LabelRuns.of(truth), LabelRuns.of(prediction)
    if not len(true) or not len(predicted):
        return [SegmentCounts(0, len(predicted), len(true)) for _ in overlaps]
    common = np.minimum(predicted.stops[:, None], true.stops) - np.maximum(
        predicted.starts[:, None], true.starts
    )  # (predicted, true); for two that do not overlap the union is too large, but then IoU is 0
    lengths = (predicted.stops - predicted.starts)[:, None] + (true.stops - true.starts)
    same_label = predicted.labels[:, None] == true.labels
    iou = np.where(same_label & (common > 0), common / (lengths - common), 0.0)
    nearest = iou.argmax(axis=1)
    best = iou[np.arange(len(predicted)), nearest]
    hits = [len(np.unique(nearest[best >= overlap])) for overlap in overlaps]
    return [SegmentCounts(hit, len(predicted) - hit, len(true) - hit) for hit in hits]
