"""What an evaluation looks like: bars of true and found steps, and which step went where.

Predictions are shown in terms of true steps: under `strict`, with all recordings clustered together
and the first seed. Drawing is the page's business.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepreel.evaluation.compare import Outcome
from stepreel.evaluation.metrics.localization import Matching, match
from stepreel.evaluation.results import name_of_step
from stepreel.evaluation.truth.annotation import BACKGROUND, NO_STEP
from stepreel.types import Labels, Seconds

UNMATCHED = -2
MOST_BARS = 1200  # finer than a screen is wide
NOT_DRAWN = frozenset({"random", "one-cluster"})  # noise, and nothing


@dataclass(frozen=True)
class Bar:
    """A stretch of a recording, from share `start` to share `end` of its length.

    step  the true id; 0 = background or no step, -2 = a cluster that no step is matched with
    """

    start: float
    end: float
    step: int


@dataclass(frozen=True)
class Barcode:
    """One recording: the truth, and what every method found, by the method's name."""

    recording: str
    seconds: float
    truth: list[Bar]
    found: dict[str, list[Bar]]


@dataclass(frozen=True)
class Confusion:
    """Where the moments of every true step went, in percent of that step.

    clusters  the columns: the step each cluster is matched with; 0 and -2 as in a `Bar`
    shares    one row per step, in the order of ids
    """

    method: str
    clusters: list[int]
    shares: list[list[float]]


@dataclass(frozen=True)
class TaskPictures:
    """Everything to be drawn of one task."""

    task: str
    steps: dict[int, str]
    barcodes: list[Barcode]
    confusions: list[Confusion]


def task_pictures(outcome: Outcome) -> TaskPictures:
    """Gather what a page shows of a task."""
    prepared, truth = outcome.prepared, outcome.prepared.truth
    together = np.concatenate(truth)
    shown = {m: p[0] for m, p in outcome.predictions.items() if m not in NOT_DRAWN}
    matched = {
        method: match(
            together, np.concatenate(prediction.together), outcome.n_clusters, strict=True
        )
        for method, prediction in shown.items()
    }
    barcodes = [
        Barcode(
            recording=name,
            seconds=float(prepared.times[number][-1] - prepared.times[number][0]),
            truth=bars(truth[number], prepared.times[number]),
            found={
                method: bars(
                    _shown(matched[method].translate(prediction.together[number], strict=True)),
                    prepared.times[number],
                )
                for method, prediction in shown.items()
            },
        )
        for number, name in enumerate(prepared.names)
    ]
    ids = sorted(int(step) for step in np.unique(together))
    names = {step: name_of_step(prepared, step) for step in ids}
    confusions = [
        _confusion(method, together, np.concatenate(shown[method].together), matched[method])
        for method in shown
    ]
    return TaskPictures(prepared.task.name, names, barcodes, confusions)


def _shown(labels: Labels) -> Labels:
    """Draw all clusters that no step is matched with alike."""
    return np.where(labels < 0, UNMATCHED, labels)


def bars(labels: Labels, times: Seconds) -> list[Bar]:
    """Turn labels into bars; a moment lasts until the next.

    >>> bars(np.array([1, 1, 0, 2]), np.arange(4.0))
    [Bar(start=0.0, end=0.5, step=1), Bar(start=0.5, end=0.75, step=0), Bar(start=0.75, end=1.0, step=2)]
    """  # noqa: E501
    if len(labels) > MOST_BARS:
        pick = np.linspace(0, len(labels) - 1, MOST_BARS).astype(int)
        labels, times = labels[pick], times[pick]
    last = float(times[-1] - times[-2]) if len(times) > 1 else 1.0
    edges = np.append(times, times[-1] + last) - times[0]
    edges = edges / edges[-1]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1])
    stops = np.append(starts[1:], len(labels))
    return [
        Bar(round(float(edges[a]), 5), round(float(edges[b]), 5), int(labels[a]))
        for a, b in zip(starts, stops, strict=True)
    ]


def _confusion(method: str, truth: Labels, found: Labels, matching: Matching) -> Confusion:
    partner = {
        int(matching.clusters[column]): int(matching.steps[row])
        for row, column in zip(matching.rows, matching.columns, strict=True)
    }
    partner[NO_STEP] = BACKGROUND
    clusters = sorted((int(c) for c in np.unique(found)), key=lambda c: (partner.get(c, 10**9), c))
    shares = [
        [round(100 * float(np.mean(found[truth == step] == c)), 1) for c in clusters]
        for step in np.unique(truth)
    ]
    return Confusion(method, [partner.get(c, UNMATCHED) for c in clusters], shares)
