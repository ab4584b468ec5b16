"""Gather the comparisons of all tasks into `Results`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stepreel.evaluation.build_storyboard import build_storyboard
from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.methods.catalog import METHODS, of_kind
from stepreel.evaluation.methods.learned import LEARNED_METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.prediction_scores import FIGURES, STEP_FIGURES, PredictionScores
from stepreel.evaluation.over_tasks import figure, methods_of_all, over_tasks
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import (
    FORMAT,
    VERSION,
    DatasetFacts,
    EvaluationSettings,
    MethodFigures,
    Protocols,
    Results,
    Scored,
    StepFigures,
    TaskFacts,
)
from stepreel.evaluation.storyboard_scores import StoryboardJudge
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import moment_seconds, readable
from stepreel.version import __version__

TRAINED_ON = "the recordings that are scored, without labels"
CLUSTERED = {
    "raw-kmeans": "KMeans (n_init 10) on all cues side by side, z-scored over each recording",
    "time-kmeans": "the same, and relative time with as much weight as all features together",
    "context-kmeans": "KMeans (n_init 10) on context features: means over σ, at t - σ, t and t + σ",
}


def build_results(
    dataset: Mapping[str, Any],
    comparisons: Sequence[TaskComparison],
    plan: Plan,
    *,
    left_out: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Results:
    """Gather everything but sweeps and task metrics.

    dataset  fields of `DatasetFacts` other than `tasks`
    """
    prepared = [comparison.prepared for comparison in comparisons]
    judges = [StoryboardJudge(comparison) for comparison in comparisons]
    without_steps = [
        f"{name}: shows no key step; coverage and borders leave it out"
        for judge in judges
        for name in judge.left_out
    ]
    breakdown: dict[str, Any] = {}
    if len(comparisons) > 1:
        breakdown["tasks"] = {
            comparison.prepared.task.name: Scored(
                protocols=build_protocols([comparison]), storyboard=build_storyboard([judge])
            )
            for comparison, judge in zip(comparisons, judges, strict=True)
        }
    groups = dict.fromkeys(task.task.group for task in prepared)
    if len(groups) > 1:
        breakdown["groups"] = {
            group: Scored(
                protocols=build_protocols([j.comparison for j in members], with_steps=False),
                storyboard=build_storyboard(members),
            )
            for group in groups
            if (members := [j for j in judges if j.comparison.prepared.task.group == group])
        }
    return Results(
        format=FORMAT,
        version=VERSION,
        stepreel_version=__version__,
        data_fingerprint=data_fingerprint(prepared),
        dataset=DatasetFacts(**dataset, tasks={t.task.name: describe_task(t) for t in prepared}),
        settings=describe_settings(comparisons, plan),
        method_kinds={m: kind for c in comparisons for m, kind in c.kinds.items()},
        skipped=skip_reasons(comparisons),
        left_out=list(left_out),
        notes=[*notes, *without_steps],
        protocols=build_protocols(comparisons),
        storyboard=build_storyboard(judges),
        **breakdown,
    )


def build_protocols(comparisons: Sequence[TaskComparison], *, with_steps: bool = True) -> Protocols:
    """Return figures by protocol and method; of several tasks, plain means over them.

    A method counts only if it ran on all of them. Steps of several tasks are called `task/id`.
    """
    methods = methods_of_all(comparisons)
    return {
        name: {
            method: _method_figures(
                [(comparison, comparison.scores[name][method]) for comparison in comparisons],
                strict=protocol.strict,
                with_steps=with_steps,
            )
            for method in methods
        }
        for name, protocol in PROTOCOLS.items()
    }


def _method_figures(
    per_task: Sequence[tuple[TaskComparison, Sequence[PredictionScores]]],
    *,
    strict: bool,
    with_steps: bool,
) -> MethodFigures:
    fields: dict[str, Any] = {
        name: over_tasks([[seed.figures[name] for seed in scores] for _, scores in per_task])
        for name in FIGURES
    }
    if strict:
        fields["ceiling"] = over_tasks([[seed.ceiling for seed in s] for _, s in per_task])
    if with_steps:
        fields["per_step"] = {
            key: step
            for comparison, scores in per_task
            for key, step in _per_step(comparison, scores, several=len(per_task) > 1).items()
        }
    return MethodFigures(**fields)


def _per_step(
    comparison: TaskComparison, scores: Sequence[PredictionScores], *, several: bool
) -> dict[str, StepFigures]:
    prepared = comparison.prepared
    return {
        (f"{prepared.task.name}/{step}" if several else str(step)): StepFigures(
            name=step_name(prepared, step),
            **{name: figure(seed.per_step[step][name] for seed in scores) for name in STEP_FIGURES},
        )
        for step in scores[0].per_step
    }


def step_name(prepared: PreparedTask, step: int) -> str:
    """Return what a step is called."""
    if step == 0:
        return "background"
    return readable(prepared.task.step_names.get(step, str(step)))


def data_fingerprint(prepared: Sequence[PreparedTask]) -> str:
    """Return a hash of everything that was scored: names, content, times and labels."""
    content = hashlib.blake2b(digest_size=16)
    for task in prepared:
        content.update(task.task.name.encode())
        for number, name in enumerate(task.names):
            content.update(name.encode())
            if task.recordings is not None:
                content.update(task.recordings[number].fingerprint.encode())
            content.update(np.ascontiguousarray(task.times[number]).tobytes())
            content.update(np.ascontiguousarray(task.truth[number]).tobytes())
    return content.hexdigest()


def describe_task(prepared: PreparedTask) -> TaskFacts:
    """Say what was scored of a task."""
    tracks = prepared.recordings[0].tracks if prepared.recordings else {}
    steps = sorted({int(step) for truth in prepared.truth for step in np.unique(truth)})
    return TaskFacts(
        group=prepared.task.group,
        recordings=prepared.names,
        moments=sum(prepared.lengths),
        seconds=round(sum(float(times[-1] - times[0]) for times in prepared.times), 3),
        cues={cue: track.width for cue, track in tracks.items()},
        steps={str(step): step_name(prepared, step) for step in steps},
    )


def describe_settings(comparisons: Sequence[TaskComparison], plan: Plan) -> EvaluationSettings:
    """Say with which settings every method ran."""
    first = comparisons[0].prepared
    ran = {m: c.prepared for c in reversed(comparisons) for m in c.predictions}  # its first task
    learned = [method for method in LEARNED_METHODS if method in ran]
    added = [method for method in plan.methods if method in ran and method not in METHODS.own]
    optional: dict[str, Any] = {}
    if learned:
        optional["preset_of_paper"] = plan.preset
    if of_kind(ran, "learned"):
        optional["trained_on"] = TRAINED_ON
    return EvaluationSettings(
        n_clusters=plan.n_clusters,
        seeds=list(plan.seeds),
        moments_per_second=round(1 / moment_seconds(max(first.times, key=len)), 3),
        methods={
            **{method: text for method, text in CLUSTERED.items() if method in ran},
            **{method: _settings_used(method, ran[method], plan) for method in learned},
            **{m: f"{METHODS[m].title or m} ({METHODS.package_of(m)})" for m in added},
        },
        **optional,
    )


def _settings_used(method: str, prepared: PreparedTask, plan: Plan) -> dict[str, Any]:
    """Dump a method's settings, without those about videos if there are none."""
    are_features = all(isinstance(r, FeatureRecording) for r in prepared.recordings or [])
    unused = {"extract": {"moments_per_second", "shard_seconds"}} if are_features else None
    settings = plan.settings_of(method, prepared.cues or None)
    dumped: dict[str, Any] = settings.model_dump(mode="json", exclude=unused)
    return dumped


def skip_reasons(comparisons: Sequence[TaskComparison]) -> dict[str, str]:
    """Say why methods are missing; one that ran on some tasks only is in no mean."""
    reasons: dict[str, str] = {}
    for comparison in comparisons:
        for method, reason in comparison.skipped.items():
            ran_elsewhere = any(method in other.predictions for other in comparisons)
            where = f"not on {comparison.prepared.task.name}, " if ran_elsewhere else ""
            reasons.setdefault(method, f"{where}{reason}")
    return reasons
