"""Scores other than localization, each next to what is reached without learning anything.

phases     accuracy of a classifier on frozen embeddings; baselines: the most frequent phase, and a
           classifier that sees relative time only
kendall    Kendall's τ across recordings; baseline: relative time, which scores 1 on any task
key-steps  representation and diversity of as many moments as there are clusters, picked in every
           recording by itself; baselines: the middles of equal parts, and random moments
samplers   the same of ten moments, which samplers pick among the same steps; same baselines
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stepreel.evaluation.build_results import data_fingerprint
from stepreel.evaluation.figures import MetricFigure
from stepreel.evaluation.key_moments import (
    SAMPLED,
    Values,
    key_moment_quality,
    sampler_quality,
)
from stepreel.evaluation.methods.clustered import raw_track
from stepreel.evaluation.methods.learned import embed
from stepreel.evaluation.methods.runner import MethodRunner
from stepreel.evaluation.metrics.kendall import task_tau
from stepreel.evaluation.metrics.key_step_quality import KERNEL
from stepreel.evaluation.metrics.phases import (
    SHARES,
    Fold,
    PhaseCounts,
    classify,
    labelled_share,
    make_folds,
)
from stepreel.evaluation.over_tasks import figure
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import TaskMetric
from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.learn import METHOD_VERSION
from stepreel.system.source_hashes import describe_code
from stepreel.system.store import Entry, read_facts, write_facts
from stepreel.types import Floats, Labels, track_hashes

METRIC_VERSION = 1  # raise it when the same data and settings would give other figures
SAME_FOR_ALL_SEEDS = frozenset({"time", "raw"})
BACKGROUNDS = {"with-background": True, "without-background": False}


@dataclass(frozen=True)
class Representation:
    """Gives features of all recordings, learned from some of them, or from all (None)."""

    method: str
    features: Callable[[Sequence[int] | None], list[Floats]]


def representations(
    prepared: PreparedTask, plan: Plan, runner: MethodRunner, seed: int
) -> list[Representation]:
    """Return relative time, raw features, and the embedding of every method that learns one."""
    recordings = prepared.recordings or []

    def relative_time(_: Sequence[int] | None) -> list[Floats]:
        return [(t / max(float(t[-1]), 1e-9)).astype(np.float32)[:, None] for t in prepared.times]

    def raw_features(_: Sequence[int] | None) -> list[Floats]:
        return [raw_track(recording).features for recording in recordings]

    def embedding_of(method: str) -> Callable[[Sequence[int] | None], list[Floats]]:
        settings = plan.settings_of(method, prepared.cues, seed=seed)

        def embedding(train_on: Sequence[int] | None) -> list[Floats]:
            tracks = embed(recordings, runner.run_of(settings, train_on))
            return [track.features for track in tracks]

        return embedding

    return [
        Representation("time", relative_time),
        Representation("raw", raw_features),
        *(
            Representation(method, embedding_of(method))
            for method in plan.embedding_methods(prepared.cues)
        ),
    ]


def phase_accuracy(prepared: PreparedTask, plan: Plan, runner: MethodRunner, seed: int) -> Values:
    """Classify moments in every fold; accuracy in percent, over all moments of the task."""
    folds, truth = make_folds(prepared.splits, seed), prepared.truth
    accuracies: Values = {}
    for representation in representations(prepared, plan, runner, seed):
        counts: dict[str, list[PhaseCounts]] = {}
        for fold in folds:
            features = representation.features(fold.train)
            for share in SHARES:
                labelled = labelled_share(fold.train, share, seed)
                for name, with_background in BACKGROUNDS.items():
                    counts.setdefault(f"{name} {share:g}", []).append(
                        classify(
                            features, truth, labelled, fold.test, with_background=with_background
                        )
                    )
        accuracies[representation.method] = {n: _accuracy(parts) for n, parts in counts.items()}
    return {"most-frequent": _most_frequent(truth, folds, seed), **accuracies}


def _most_frequent(truth: Sequence[Labels], folds: Sequence[Fold], seed: int) -> dict[str, float]:
    """Predict the most frequent phase of the labelled recordings for every moment."""
    counts: dict[str, list[PhaseCounts]] = {}
    for fold in folds:
        for share in SHARES:
            labelled = labelled_share(fold.train, share, seed)
            for name, with_background in BACKGROUNDS.items():
                seen = _phases(truth, labelled, with_background=with_background)
                phases, frequencies = np.unique(seen, return_counts=True)
                predicted = phases[frequencies.argmax()] if len(seen) else BACKGROUND
                test = _phases(truth, fold.test, with_background=with_background)
                counts.setdefault(f"{name} {share:g}", []).append(
                    PhaseCounts(int(np.sum(test == predicted)), len(test))
                )
    return {name: _accuracy(parts) for name, parts in counts.items()}


def _phases(truth: Sequence[Labels], numbers: Sequence[int], *, with_background: bool) -> Labels:
    phases = np.concatenate([truth[number] for number in numbers])
    return phases if with_background else phases[phases != BACKGROUND]


def _accuracy(parts: Sequence[PhaseCounts]) -> float:
    total = sum(part.total for part in parts)
    return 100 * sum(part.correct for part in parts) / total if total else 0.0


def kendalls_tau(prepared: PreparedTask, plan: Plan, runner: MethodRunner, seed: int) -> Values:
    """Return Kendall's τ over pairs of recordings, those of the official test split if any."""
    train = [n for n, split in enumerate(prepared.splits) if split == "train"]
    test = [n for n, split in enumerate(prepared.splits) if split == "test"]
    scored = test if train and len(test) > 1 else list(range(len(prepared.names)))
    first = plan.seeds[0]
    earlier = {} if seed == first else metric_of_task("kendall", prepared, plan, runner, first)
    values: Values = {}
    for representation in representations(prepared, plan, runner, seed):
        method = representation.method
        if method in SAME_FOR_ALL_SEEDS and earlier:
            values[method] = earlier[method]
            continue
        features = representation.features(train if scored is test else None)
        tau = task_tau([features[n] for n in scored])
        values[method] = {
            "tau_b": tau.tau_b,
            "tau_text": tau.tau_text,
            "pairs": float(tau.pairs),
            "undefined": float(tau.undefined),
        }
    return values


MetricFunction = Callable[[PreparedTask, Plan, MethodRunner, int], Values]

TASK_METRICS: dict[str, MetricFunction] = {
    "phases": phase_accuracy,
    "kendall": kendalls_tau,
    "key-steps": key_moment_quality,
    "samplers": sampler_quality,
}
NEEDS_TWO_RECORDINGS = frozenset({"phases", "kendall"})
COUNTS = frozenset({"pairs", "undefined"})  # of several tasks: added up
NOTES = {
    "phases": "accuracy in percent; scikit-learn SVC with its defaults; number: share of labelled "
    "training recordings",
    "kendall": "means over ordered pairs of recordings; undefined: those dropped from tau_b",
    "key-steps": f"up to as many moments as clusters, per recording; kernel: {KERNEL}",
    "samplers": f"up to {SAMPLED} moments per recording, of steps that Algorithm 1 finds in the "
    "embedding of the first method that learns one, or in raw features if none does; kernel: "
    f"{KERNEL}",
}


def metric_of_task(
    name: str, prepared: PreparedTask, plan: Plan, runner: MethodRunner, seed: int
) -> Values:
    """Return one task's figures for one seed, from the store if they were computed before."""
    description = {
        "measure": METRIC_VERSION,
        "code": describe_code(__name__),
        "method": METHOD_VERSION,
        "data": data_fingerprint([prepared]),
        "recordings": [track_hashes(recording) for recording in prepared.recordings or ()],
        "splits": prepared.splits,
        "n_clusters": plan.n_clusters,
        "seed": seed,
        "first_seed": plan.seeds[0],
        "learned": {
            method: plan.settings_of(method, prepared.cues, seed=seed).model_dump(mode="json")
            for method in plan.embedding_methods(prepared.cues)
        },
    }
    entry = Entry(runner.store.root / "measures", name, description)
    stored = read_facts(entry)
    if stored is None:
        values = TASK_METRICS[name](prepared, plan, runner, seed)
        stored = {
            method: {
                figure: None if np.isnan(value) else value for figure, value in figures.items()
            }
            for method, figures in values.items()
        }
        write_facts(entry, stored)
    return {
        method: {
            figure: float("nan") if value is None else value for figure, value in figures.items()
        }
        for method, figures in stored.items()
    }


def compute_task_metric(
    name: str, prepared: Sequence[PreparedTask], plan: Plan, runner: MethodRunner
) -> TaskMetric:
    """Return a metric's figures by method; of several tasks, plain means over them.

    Counts are added up.
    """
    per_seed: list[list[Values]] = []
    total = len(plan.seeds) * len(prepared)
    for place, seed in enumerate(plan.seeds):
        per_seed.append([])
        for number, task in enumerate(prepared):
            done = place * len(prepared) + number
            runner.progress(name, done, total)
            per_seed[-1].append(metric_of_task(name, task, plan, runner, seed))
    runner.progress(name, total, total)
    return TaskMetric(
        note=NOTES[name],
        methods={
            method: {
                figure: _over_seeds(
                    [[task[method][figure] for task in tasks] for tasks in per_seed],
                    add=figure in COUNTS,
                )
                for figure in figures
            }
            for method, figures in per_seed[0][0].items()
        },
    )


def _over_seeds(values: Sequence[Sequence[float]], *, add: bool) -> MetricFigure:
    """Return the figure of means, or sums, over tasks; empty if no task has a value."""
    means = []
    for tasks in values:
        known = [value for value in tasks if not np.isnan(value)]
        if not known:
            return MetricFigure(mean=None, std=None, seeds=[])
        means.append(float(np.sum(known) if add else np.mean(known)))
    return MetricFigure.model_validate(figure(means).model_dump())
