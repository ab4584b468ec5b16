"""Score predictions that somebody made before, beside the null baselines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.compare import Outcome, compare, enter
from stepreel.evaluation.datasets.base import LabelledTask
from stepreel.evaluation.methods.catalog import METHODS, Prediction, Workplace
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.predictions import LoadedPrediction, as_clusters
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import Json, build_results
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.truth.common_moments import (
    MomentLabels,
    SpanLabels,
    TimedLabels,
    moments_in_common,
)
from stepreel.evaluation.truth.formats import find_label_files
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.step_list import number_by_name
from stepreel.system.store import Store
from stepreel.types import Labels, Seconds, readable

METHOD = "prediction"


@dataclass(frozen=True)
class _Compared:
    """One recording, at the moments its truth and its prediction have in common."""

    times: Seconds
    truth: Labels
    found: Labels


def score_predictions(
    truth: Path,
    found: Mapping[str, LoadedPrediction],
    problems: Problems,
    *,
    fps: float | None = None,
    rate: float | None = None,
    n_clusters: int | None = None,
    seeds: Sequence[int] = (0, 1, 2),
) -> tuple[Json, Outcome]:
    """Score predictions against the true steps in a folder; both are paired by name.

    Both are on the recording's own clock. Protocols that match all recordings together take a
    cluster's number to mean the same kind of step in every recording. `rate` is that at which
    spans are scored, `fps` that of files which count frames.
    """
    truths, names = read_truth(truth, found, problems, fps=fps)
    compared = _pair(truths, found, rate, problems)
    said = [found[name].n_clusters or 0 for name in compared]
    labels, k = as_clusters([one.found for one in compared.values()], said, n_clusters)
    prepared = PreparedTask(
        LabelledTask(readable(truth.resolve().name), (), names),
        names=list(compared),
        splits=[""] * len(compared),
        times=[one.times for one in compared.values()],
        truth=[one.truth for one in compared.values()],
        recordings=None,
        blind_because="only labels were given",
    )
    plan = Plan(methods=METHODS, n_clusters=k, seeds=tuple(seeds))
    outcome = compare(prepared, plan, Workplace(Store(Path())))
    enter(outcome, METHOD, [Prediction(labels, labels)] * len(plan.seeds), seedless=True)
    dataset = {
        "name": "score",
        "title": "Predictions given",
        "root": prepared.task.name,
        "predictions_fingerprint": _fingerprint(labels),
    }
    results = build_results(
        dataset, [outcome], plan, left_out=problems.skipped, notes=problems.notes
    )
    return results, outcome


def _fingerprint(labels: Sequence[Labels]) -> str:
    content = hashlib.blake2b(digest_size=16)
    for one in labels:
        content.update(np.ascontiguousarray(one).tobytes())
    return content.hexdigest()


def read_truth(
    folder: Path, found: Mapping[str, LoadedPrediction], problems: Problems, *, fps: float | None
) -> tuple[dict[str, TimedLabels], dict[int, str]]:
    """Return what is true of every recording, by its name, and the names of the steps.

    Where a prediction says how long a recording lasts, steps cannot lie past its end.
    """
    files = {}
    for name, path in find_label_files(folder, problems).items():
        try:
            files[name] = read_label_file(path, fps)
        except DatasetError as problem:
            problems.report(str(problem))
    if not files:
        raise DatasetError(f"{folder}: holds no file of true steps")
    steps = number_by_name(
        (label for file in files.values() for label in file.labels),
        numbers_decide=all(file.format.numbers_decide for file in files.values()),
    )
    truths = {}
    for name, file in files.items():
        other = found[name].labelled if name in found else None
        ends = other.end if isinstance(other, MomentLabels) else None
        about = other.duration if isinstance(other, SpanLabels) else None
        truths[name] = file.numbered(steps, problems, ends=ends, ends_about=about)
    return truths, steps.names


def _pair(
    truths: Mapping[str, TimedLabels],
    found: Mapping[str, LoadedPrediction],
    rate: float | None,
    problems: Problems,
) -> dict[str, _Compared]:
    """Return recordings whose truth and prediction are there and cover the same moments."""
    for name in truths:
        if name not in found:
            problems.report(f"{name}: has true steps, but no prediction")
    for name in found:
        if name not in truths:
            problems.report(f"{name}: has a prediction, but no true steps")
    both = [name for name in truths if name in found]
    if not both:
        raise DatasetError(
            "no prediction is named like a file of true steps; "
            f"truth: {', '.join(list(truths)[:5])}; predictions: {', '.join(list(found)[:5])}"
        )
    compared = {}
    for name in both:
        truth, prediction = truths[name], found[name].labelled
        try:
            times = moments_in_common(truth, prediction, rate)
        except DatasetError as problem:
            problems.report(f"{name}: {problem}")
            continue
        compared[name] = _Compared(times, truth.at(times), prediction.at(times))
    if not compared:
        raise DatasetError("no prediction covers the moments of its truth")
    return compared
