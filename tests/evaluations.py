"""Example evaluations: made-up labels, scored by the real code.

Results are plain dicts here, as in results.json, so that tests can change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepreel.evaluation.build_results import build_results
from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.datasets.base import LabelledRecording, LabelledTask
from stepreel.evaluation.methods.base import Prediction
from stepreel.evaluation.methods.catalog import METHODS, method_kind
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.report.barcodes import TaskBarcodes, task_barcodes
from stepreel.evaluation.report.page import render_evaluation
from stepreel.evaluation.results import Results
from stepreel.evaluation.truth.annotation import Annotation

MOMENTS = 120
OWN_METHODS = tuple(METHODS.own)


def make_comparison(
    task: str = "tea",
    *,
    methods: Sequence[str] = OWN_METHODS,
    n_recordings: int = 3,
    step_names: Sequence[str] = ("boil", "pour", "stir"),
    plan: Plan,
    group: str = "",
) -> TaskComparison:
    """Score noisy copies of a made-up truth in place of what methods would predict."""
    rng = np.random.default_rng(0)
    lengths = [MOMENTS + 10 * number for number in range(n_recordings)]
    truth = [_truth(length, len(step_names), rng) for length in lengths]
    names = [f"{task} {number:02d}" for number in range(n_recordings)]
    prepared = PreparedTask(
        LabelledTask(
            task,
            tuple(LabelledRecording(name, Annotation(name, ())) for name in names),
            dict(enumerate(step_names, start=1)),
            group,
        ),
        names=names,
        splits=[""] * n_recordings,
        times=[np.arange(length, dtype=np.float64) for length in lengths],
        truth=truth,
        recordings=None,
    )
    comparison = TaskComparison(prepared, plan.n_clusters)
    for method in methods:
        is_noisy = method not in METHODS.own or METHODS[method].uses_seed
        noise = 0.3 if is_noisy else 0.0
        made = [[_predicted(x, plan.n_clusters, noise, rng) for x in truth] for _ in plan.seeds]
        predictions = [Prediction(labels, labels) for labels in made]
        comparison.add(method, predictions, kind=method_kind(method))
    return comparison


def make_evaluation(
    *,
    tasks: Sequence[str] = ("tea",),
    methods: Sequence[str] = OWN_METHODS,
    seeds: Sequence[int] = (0, 1),
    n_clusters: int = 4,
    dataset: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[dict[str, Any], list[TaskBarcodes]]:
    """Return results and barcodes of an evaluation of made-up tasks."""
    plan = Plan(methods=tuple(methods), seeds=tuple(seeds), n_clusters=n_clusters)
    groups = ["hot", "cold"] if len(tasks) > 1 else [""]
    comparisons = [
        make_comparison(task, methods=methods, plan=plan, group=groups[n % len(groups)], **options)
        for n, task in enumerate(tasks)
    ]
    described = dataset or {"name": "npz", "title": "Drinks", "root": "drinks"}
    results = build_results(described, comparisons, plan)
    return results.model_dump(mode="json", exclude_unset=True), [
        task_barcodes(comparison) for comparison in comparisons
    ]


def render(results: dict[str, Any], barcodes: Sequence[TaskBarcodes]) -> str:
    """Return the page of results in the form of results.json."""
    return render_evaluation(Results.model_validate(results), barcodes)


def _truth(length: int, n_steps: int, rng: np.random.Generator) -> np.ndarray:
    """Every step once, in order, in stretches of uneven length, and background after it all."""
    cuts = np.sort(rng.choice(np.arange(1, length), n_steps, replace=False))
    steps = np.arange(n_steps + 1)
    return ((np.searchsorted(cuts, np.arange(length), side="right") + 1) % len(steps)).astype(int)


def _predicted(truth: np.ndarray, n_clusters: int, noise: float, rng: np.random.Generator) -> Any:
    changed = np.repeat(rng.random(len(truth) // 4 + 1) < noise, 4)[: len(truth)]
    guesses = np.repeat(rng.integers(-1, n_clusters, len(truth) // 4 + 1), 4)[: len(truth)]
    return np.where(changed, guesses, (truth - 1) % n_clusters)
