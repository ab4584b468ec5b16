"""Write an evaluation to a folder: results.json, report.html and every prediction."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.report.barcodes import task_barcodes
from stepreel.evaluation.report.page import render_evaluation
from stepreel.evaluation.results import Results
from stepreel.system.files import explain_write_errors, write_bytes, write_text
from stepreel.system.locks import lock_output
from stepreel.system.names import free_name


@dataclass(frozen=True)
class Evaluation:
    """Results, and the predictions they were computed from, task by task."""

    results: Results
    comparisons: Sequence[TaskComparison]


def write_evaluation(folder: Path, evaluation: Evaluation) -> None:
    """Write results.json, report.html, and every prediction as predictions/<task>.npz.

    Predictions of tasks that only an earlier evaluation in the same folder had are removed.
    """
    results, comparisons = evaluation.results, evaluation.comparisons
    page = render_evaluation(results, [task_barcodes(comparison) for comparison in comparisons])
    names = _file_names([comparison.prepared.task.name for comparison in comparisons])
    with explain_write_errors(folder), lock_output(folder):
        stale = set(_file_names(_earlier_tasks(folder))) - set(names)
        for name, comparison in zip(names, comparisons, strict=True):
            write_bytes(folder / "predictions" / name, _pack_predictions(comparison))
        write_text(folder / "report.html", page)
        write_text(folder / "results.json", results.to_json())
        for name in stale:
            (folder / "predictions" / name).unlink(missing_ok=True)


def _file_names(tasks: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    return [f"{free_name(task, taken)}.npz" for task in tasks]


def _earlier_tasks(folder: Path) -> list[str]:
    """Return the tasks of the evaluation that was written to the folder last, of any version."""
    try:
        earlier = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        return [str(task) for task in earlier["dataset"]["tasks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _pack_predictions(comparison: TaskComparison) -> bytes:
    """Pack times, truth and labels: `<recording>/<method>/<seed>/together` and `…/alone`."""
    prepared = comparison.prepared
    arrays: dict[str, np.ndarray] = {}
    for number, name in enumerate(prepared.names):
        arrays[f"{name}/times"] = prepared.times[number]
        arrays[f"{name}/truth"] = prepared.truth[number]
        for method, predictions in comparison.predictions.items():
            for seed, prediction in enumerate(predictions):
                arrays[f"{name}/{method}/{seed}/together"] = prediction.together[number]
                arrays[f"{name}/{method}/{seed}/alone"] = prediction.alone[number]
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()
