"""One evaluation from beginning to end: prepare, compare, sweep, measure, write.

Everything learned and predicted is kept in the store as it is made: an interrupted evaluation goes
on from there when it is started again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.compare import Outcome, compare, nothing_to_score
from stepreel.evaluation.datasets.base import LabelledTask
from stepreel.evaluation.methods.catalog import LEARNED_METHODS, Workplace
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask, prepare_task
from stepreel.evaluation.report.page import render_evaluation
from stepreel.evaluation.report.pictures import task_pictures
from stepreel.evaluation.results import Json, build_results, to_text
from stepreel.evaluation.sweeps import sweep_clusters, sweep_cues, sweep_recordings
from stepreel.evaluation.task_metrics import NEEDS_TWO, measure
from stepreel.evaluation.truth.annotation import Problems
from stepreel.system.files import explained, write_bytes, write_text
from stepreel.system.names import free_name


@dataclass(frozen=True)
class Extras:
    """What is wanted beside the comparison itself; see `sweeps` and `task_metrics`."""

    clusters: Sequence[int] = ()
    cues: bool = False
    recordings: Sequence[int] = ()
    metrics: Sequence[str] = ()


def run_evaluation(
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
    prepared = _prepare_all(tasks, plan, workplace, problems, labels_rate)
    for task in prepared:
        for method in plan.methods if task.recordings else ():
            plan.checked_settings(method, task.cues)
    _check_extras(prepared, plan, extras, problems)
    outcomes = [compare(task, plan, workplace) for task in prepared]
    if not any(outcome.predictions for outcome in outcomes):
        reasons = "; ".join(f"{m}: {why}" for m, why in outcomes[0].skipped.items())
        raise DatasetError(f"no method could run: {reasons}")
    results = build_results(
        dataset, outcomes, plan, left_out=problems.skipped, notes=problems.notes
    )
    sweeps = _sweep(prepared, plan, workplace, extras)
    if sweeps:
        results["sweeps"] = sweeps
    if extras.metrics:
        results["task_metrics"] = {
            name: measure(name, prepared, plan, workplace) for name in extras.metrics
        }
    return results, outcomes


def _prepare_all(
    tasks: Sequence[LabelledTask],
    plan: Plan,
    workplace: Workplace,
    problems: Problems,
    labels_rate: float,
) -> list[PreparedTask]:
    """Read all tasks before anything is learned; one that cannot be used is told of as others."""
    prepared = []
    for task in tasks:
        try:
            one = prepare_task(task, plan, workplace, problems, labels_rate=labels_rate)
            if not one.has_steps:
                raise DatasetError(nothing_to_score(one))
        except DatasetError as problem:
            if not problems.lenient:
                raise
            problems.skipped.append(str(problem))
            continue
        prepared.append(one)
    if not prepared:
        raise DatasetError("nothing of the dataset can be used")
    return prepared


def _sweep(
    prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace, extras: Extras
) -> Json:
    sweeps: Json = {}
    if extras.clusters:
        sweeps["clusters"] = sweep_clusters(prepared, plan, workplace, extras.clusters)
    if extras.cues:
        sweeps["cues"] = sweep_cues(prepared, plan, workplace)
    if extras.recordings:
        sweeps["recordings"] = sweep_recordings(prepared, plan, workplace, extras.recordings)
    return sweeps


def _check_extras(
    prepared: Sequence[PreparedTask], plan: Plan, extras: Extras, problems: Problems
) -> None:
    """Find out before anything is learned whether sweeps and metrics can be worked out."""
    learned = {
        "--sweep-cues": extras.cues,
        "--sweep-recordings": bool(extras.recordings),
        "--task-metric": bool(extras.metrics),
    }
    for option in (option for option, wanted in learned.items() if wanted):
        for task in prepared:
            if task.recordings is None:
                raise DatasetError(f"{option} needs features: {task.blind_because}")
        if option != "--task-metric" and not set(plan.methods) & set(LEARNED_METHODS):
            raise DatasetError(f"{option} is about learned methods, and none is asked for")
    if fewest := [n for n in extras.recordings if n >= min(len(task.names) for task in prepared)]:
        problems.notes.append(
            f"--sweep-recordings {', '.join(map(str, fewest))}: there are no more; see `all`"
        )
    for metric in NEEDS_TWO & set(extras.metrics):
        for task in prepared:
            if len(task.names) < 2:
                raise DatasetError(
                    f"--task-metric {metric} needs two recordings of {task.task.name}"
                )


def write_evaluation(folder: Path, results: Json, outcomes: Sequence[Outcome]) -> None:
    """Write results.json, report.html, and every prediction as predictions/<task>.npz.

    Predictions of tasks that only an earlier evaluation into the folder was of are removed.
    """
    page = render_evaluation(results, [task_pictures(outcome) for outcome in outcomes])
    names = _file_names([outcome.prepared.task.name for outcome in outcomes])
    with explained(folder):
        stale = set(_file_names(_tasks_before(folder))) - set(names)
        for name, outcome in zip(names, outcomes, strict=True):
            write_bytes(folder / "predictions" / name, _predictions(outcome))
        write_text(folder / "report.html", page)
        write_text(folder / "results.json", to_text(results))
        for name in stale:
            (folder / "predictions" / name).unlink(missing_ok=True)


def _file_names(tasks: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    return [f"{free_name(task, taken)}.npz" for task in tasks]


def _tasks_before(folder: Path) -> list[str]:
    """Return the tasks of the evaluation that was written to the folder last."""
    try:
        before = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        return [str(task) for task in before["dataset"]["tasks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


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
