"""Scores of a labelling that is already in terms of true steps: frames, order, and segments.

Predictions are true ids per moment: the step a moment's cluster is matched with, 0 where it is
matched with background, and a negative id, which is always wrong, where it is matched with none.
Segments of background are left out on both sides, as is usual with Edit and F1@k; a segment of an
unmatched cluster stays, and counts as a wrong one.
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
class Segments:
    """Runs of one label: starts and stops (exclusive) in moments, in time order."""

    labels: Labels
    starts: Labels
    stops: Labels

    @classmethod
    def of(cls, labels: Labels) -> Segments:
        """Cut where the label changes; leave out background."""
        edges = np.flatnonzero(np.diff(labels)) + 1
        starts = np.concatenate([[0], edges]).astype(np.int64)
        stops = np.concatenate([edges, [len(labels)]]).astype(np.int64)
        kept = labels[starts] != BACKGROUND
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
    true, found = Segments.of(truth), Segments.of(prediction)
    longer = max(len(true), len(found))
    if longer == 0:
        return 100.0
    return 100 * (1 - edit_distance(true.labels, found.labels) / longer)


def edit_distance(a: Labels, b: Labels) -> int:
    """Return how many insertions, deletions and replacements turn one sequence into the other.

    Row by row of the usual table; insertions along a row are one running minimum, so that a
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
class Hits:
    """How many true segments were found, found ones are wrong, and true ones were missed."""

    found: int
    wrong: int
    missed: int

    @property
    def f1(self) -> float:
        """F1 in percent; 100 where there was nothing to find and nothing was found."""
        total = 2 * self.found + self.wrong + self.missed
        return 200 * self.found / total if total else 100.0


def add_hits(parts: Sequence[Hits]) -> Hits:
    """Count over several recordings."""
    return Hits(
        sum(one.found for one in parts),
        sum(one.wrong for one in parts),
        sum(one.missed for one in parts),
    )


def segment_hits(
    truth: Labels, prediction: Labels, overlaps: Sequence[float] = OVERLAPS
) -> list[Hits]:
    """Count, for each of `overlaps`, true segments found by one of the same label and such an IoU.

    A found segment is compared with the true one of its label that it overlaps most; a true
    segment can be found once only.
    """
    true, found = Segments.of(truth), Segments.of(prediction)
    if not len(true) or not len(found):
        return [Hits(0, len(found), len(true)) for _ in overlaps]
    common = np.minimum(found.stops[:, None], true.stops) - np.maximum(
        found.starts[:, None], true.starts
    )  # (found, true); the union of two that do not meet is too large, which does no harm
    lengths = (found.stops - found.starts)[:, None] + (true.stops - true.starts)
    alike = found.labels[:, None] == true.labels
    iou = np.where(alike & (common > 0), common / (lengths - common), 0.0)
    nearest = iou.argmax(axis=1)
    best = iou[np.arange(len(found)), nearest]
    hits = [len(np.unique(nearest[best >= overlap])) for overlap in overlaps]
    return [Hits(hit, len(found) - hit, len(true) - hit) for hit in hits]
