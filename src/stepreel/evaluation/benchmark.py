"""One evaluation from beginning to end: prepare, compare, sweep, measure, write.

Everything learned and predicted is kept in the store as it is made: an interrupted evaluation goes
on from there when it is started again.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.datasets.annotation import Problems
from stepreel.datasets.benchmark import LabelledTask
from stepreel.errors import DatasetError
from stepreel.evaluation.compare import Outcome, compare
from stepreel.evaluation.methods import Workplace
from stepreel.evaluation.page import render_evaluation
from stepreel.evaluation.pictures import draw
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask, prepare_task
from stepreel.evaluation.results import Json, build_results, to_text
from stepreel.evaluation.sweeps import sweep_clusters, sweep_cues, sweep_recordings
from stepreel.evaluation.task_metrics import measure
from stepreel.files import explained, write_bytes, write_text
from stepreel.folders import safe_name


@dataclass(frozen=True)
class Extras:
    """What is wanted beside the comparison itself; see `sweeps` and `task_metrics`."""

    clusters: Sequence[int] = ()
    cues: bool = False
    recordings: Sequence[int] = ()
    metrics: Sequence[str] = ()


def run_benchmark(
    dataset: Mapping[str, object],
    tasks: Sequence[LabelledTask],
    plan: Plan,
    workplace: Workplace,
    problems: Problems,
    *,
    labels_rate: float,
    extras: Extras | None = None,
) -> tuple[Json, list[Outcome]]:
    """Compare methods on every task; return all figures, and what became of each task."""
    extras = extras or Extras()
    prepared = [
        prepare_task(task, plan, workplace, problems, labels_rate=labels_rate) for task in tasks
    ]
    for task in prepared:
        for method in plan.methods if task.recordings else ():
            plan.checked_settings(method, task.cues)
    outcomes = [compare(task, plan, workplace) for task in prepared]
    results = build_results(
        dataset, outcomes, plan, left_out=problems.skipped, notes=problems.notes
    )
    sweeps = _sweep(prepared, plan, workplace, extras)
    if sweeps:
        results["sweeps"] = sweeps
    if extras.metrics:
        _need_features(prepared, "--task-metric")
        results["task_metrics"] = {
            name: measure(name, prepared, plan, workplace) for name in extras.metrics
        }
    return results, outcomes


def _sweep(
    prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace, extras: Extras
) -> Json:
    sweeps: Json = {}
    if extras.clusters:
        sweeps["clusters"] = sweep_clusters(prepared, plan, workplace, extras.clusters)
    if extras.cues:
        _need_features(prepared, "--sweep-cues")
        sweeps["cues"] = sweep_cues(prepared, plan, workplace)
    if extras.recordings:
        _need_features(prepared, "--sweep-recordings")
        sweeps["recordings"] = sweep_recordings(prepared, plan, workplace, extras.recordings)
    return sweeps


def _need_features(prepared: Sequence[PreparedTask], option: str) -> None:
    for task in prepared:
        if task.recordings is None:
            raise DatasetError(f"{option} needs features: {task.blind_because}")


def write_benchmark(folder: Path, results: Json, outcomes: Sequence[Outcome]) -> None:
    """Write results.json, report.html, and every prediction as predictions/<task>.npz."""
    page = render_evaluation(results, [draw(outcome) for outcome in outcomes])
    with explained(folder):
        for outcome in outcomes:
            name = safe_name(outcome.prepared.task.name)
            write_bytes(folder / "predictions" / f"{name}.npz", _predictions(outcome))
        write_text(folder / "report.html", page)
        write_text(folder / "results.json", to_text(results))


def _predictions(outcome: Outcome) -> bytes:
    """Pack times, truth and labels: `<recording>/<method>/<seed>/together` and `…/alone`."""
    prepared = outcome.prepared
    arrays: dict[str, np.ndarray] = {}
    for number, name in enumerate(prepared.names):
        arrays[f"{name}/times"] = prepared.times[number]
        arrays[f"{name}/truth"] = prepared.truth[number]
        for method, predictions in outcome.predictions.items():
            for place, prediction in enumerate(predictions):
                arrays[f"{name}/{method}/{place}/together"] = prediction.together[number]
                arrays[f"{name}/{method}/{place}/alone"] = prediction.alone[number]
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()
