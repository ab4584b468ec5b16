"""What the page draws of a task: barcodes of its recordings, and a confusion per method.

Predictions are shown in terms of true steps: under `strict`, with all recordings clustered together
and the first seed. `layout` turns this into shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepreel.evaluation.build_results import step_name
from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.metrics.localization import Matching, match
from stepreel.evaluation.truth.annotation import BACKGROUND, NO_STEP
from stepreel.types import Labels, Seconds

UNMATCHED = -2
MOST_SPANS = 1200  # finer than a screen is wide
NOT_DRAWN = frozenset({"random", "one-cluster"})  # they would show noise, or nothing


@dataclass(frozen=True)
class BarcodeSpan:
    """A span of a recording, from share `start` to share `end` of its length.

    step  the true id; 0 = background or no step, -2 = a cluster that no step is matched with
    """

    start: float
    end: float
    step: int


@dataclass(frozen=True)
class Barcode:
    """One recording: the truth, and the prediction of every method by name."""

    recording: str
    seconds: float
    truth: list[BarcodeSpan]
    predicted: dict[str, list[BarcodeSpan]]


@dataclass(frozen=True)
class Confusion:
    """Which clusters the moments of every true step are in, in percent of that step.

    clusters  the columns: the step each cluster is matched with; 0 and -2 as in a `BarcodeSpan`
    shares    one row per step, in the order of ids
    """

    method: str
    clusters: list[int]
    shares: list[list[float]]


@dataclass(frozen=True)
class TaskBarcodes:
    """The barcodes and confusions of one task."""

    task: str
    steps: dict[int, str]
    barcodes: list[Barcode]
    confusions: list[Confusion]


def task_barcodes(comparison: TaskComparison) -> TaskBarcodes:
    """Gather what a page shows of a task."""
    prepared, truth = comparison.prepared, comparison.prepared.truth
    together = np.concatenate(truth)
    shown = {m: p[0] for m, p in comparison.predictions.items() if m not in NOT_DRAWN}
    matchings = {
        method: match(
            together, np.concatenate(prediction.together), comparison.n_clusters, strict=True
        )
        for method, prediction in shown.items()
    }
    barcodes = [
        Barcode(
            recording=name,
            seconds=float(prepared.times[number][-1] - prepared.times[number][0]),
            truth=barcode_spans(truth[number], prepared.times[number]),
            predicted={
                method: barcode_spans(
                    _as_unmatched(
                        matchings[method].translate(prediction.together[number], strict=True)
                    ),
                    prepared.times[number],
                )
                for method, prediction in shown.items()
            },
        )
        for number, name in enumerate(prepared.names)
    ]
    ids = sorted(int(step) for step in np.unique(together))
    names = {step: step_name(prepared, step) for step in ids}
    confusions = [
        _confusion(method, together, np.concatenate(shown[method].together), matchings[method])
        for method in shown
    ]
    return TaskBarcodes(prepared.task.name, names, barcodes, confusions)


def _as_unmatched(labels: Labels) -> Labels:
    """Give all clusters that are matched with no step the same id."""
    return np.where(labels < 0, UNMATCHED, labels)


def barcode_spans(labels: Labels, times: Seconds) -> list[BarcodeSpan]:
    """Turn labels into spans; a moment lasts until the next.

    >>> barcode_spans(np.array([1, 1, 0, 0]), np.arange(4.0))
    [BarcodeSpan(start=0.0, end=0.5, step=1), BarcodeSpan(start=0.5, end=1.0, step=0)]
    """
    if len(labels) > MOST_SPANS:
        pick = np.linspace(0, len(labels) - 1, MOST_SPANS).astype(int)
        labels, times = labels[pick], times[pick]
    last = float(times[-1] - times[-2]) if len(times) > 1 else 1.0
    edges = np.append(times, times[-1] + last) - times[0]
    edges = edges / edges[-1]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1])
    stops = np.append(starts[1:], len(labels))
    return [
        BarcodeSpan(round(float(edges[a]), 5), round(float(edges[b]), 5), int(labels[a]))
        for a, b in zip(starts, stops, strict=True)
    ]


def _confusion(method: str, truth: Labels, predicted: Labels, matching: Matching) -> Confusion:
    step_of = {
        int(matching.clusters[column]): int(matching.steps[row])
        for row, column in zip(matching.rows, matching.columns, strict=True)
    }
    step_of[NO_STEP] = BACKGROUND
    clusters = sorted(map(int, np.unique(predicted)), key=lambda c: (step_of.get(c, 10**9), c))
    shares = [
        [round(100 * float(np.mean(predicted[truth == step] == c)), 1) for c in clusters]
        for step in np.unique(truth)
    ]
    return Confusion(method, [step_of.get(c, UNMATCHED) for c in clusters], shares)
