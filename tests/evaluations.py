"""Example evaluations: made-up labels, scored by the real code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepreel.evaluation.compare import Outcome
from stepreel.evaluation.datasets.base import LabelledRecording, LabelledTask
from stepreel.evaluation.methods.catalog import METHODS, SEEDLESS, Prediction
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.scores import score
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.report.pictures import TaskPictures, task_pictures
from stepreel.evaluation.results import build_results
from stepreel.evaluation.truth.annotation import Annotation

MOMENTS = 120


def make_outcome(
    task: str = "tea",
    *,
    methods: Sequence[str] = METHODS,
    n_recordings: int = 3,
    step_names: Sequence[str] = ("boil", "pour", "stir"),
    plan: Plan,
    group: str = "",
) -> Outcome:
    """Score noisy copies of a made-up truth in place of what methods would find."""
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
    outcome = Outcome(prepared, plan.n_clusters)
    for method in methods:
        noise = 0.0 if method in SEEDLESS else 0.3
        made = [[_found(one, plan.n_clusters, noise, rng) for one in truth] for _ in plan.seeds]
        outcome.predictions[method] = [Prediction(labels, labels) for labels in made]
        for name, protocol in PROTOCOLS.items():
            outcome.table[name][method] = [
                score(truth, labels, plan.n_clusters, protocol) for labels in made
            ]
    return outcome


def make_evaluation(
    *,
    tasks: Sequence[str] = ("tea",),
    methods: Sequence[str] = METHODS,
    seeds: Sequence[int] = (0, 1),
    n_clusters: int = 4,
    dataset: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[dict[str, Any], list[TaskPictures]]:
    """Return results and pictures of an evaluation of made-up tasks."""
    plan = Plan(methods=tuple(methods), seeds=tuple(seeds), n_clusters=n_clusters)
    groups = ["hot", "cold"] if len(tasks) > 1 else [""]
    outcomes = [
        make_outcome(task, methods=methods, plan=plan, group=groups[n % len(groups)], **options)
        for n, task in enumerate(tasks)
    ]
    described = dataset or {"name": "npz", "title": "Drinks", "root": "drinks"}
    return build_results(described, outcomes, plan), [
        task_pictures(outcome) for outcome in outcomes
    ]


def _truth(length: int, n_steps: int, rng: np.random.Generator) -> np.ndarray:
    """Every step once, in order, in stretches of uneven length, and background after it all."""
    cuts = np.sort(rng.choice(np.arange(1, length), n_steps, replace=False))
    steps = np.arange(n_steps + 1)
    return ((np.searchsorted(cuts, np.arange(length), side="right") + 1) % len(steps)).astype(int)


def _found(truth: np.ndarray, n_clusters: int, noise: float, rng: np.random.Generator) -> Any:
    changed = np.repeat(rng.random(len(truth) // 4 + 1) < noise, 4)[: len(truth)]
    guesses = np.repeat(rng.integers(-1, n_clusters, len(truth) // 4 + 1), 4)[: len(truth)]
    return np.where(changed, guesses, (truth - 1) % n_clusters)
