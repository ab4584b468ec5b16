"""Scores other than localization, each beside what one gets without learning anything.

phases     accuracy of a classifier on frozen embeddings; beside it: the most frequent phase, and a
           classifier that is told the relative time alone
kendall    Kendall's τ across recordings; beside it: relative time alone, which scores 1 on any task
key-steps  representation and diversity of as many moments as there are clusters, found in every
           recording by itself; beside it: the middles of equal parts, and chance
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stepreel.config import Settings
from stepreel.evaluation.methods.catalog import (
    LEARNED_METHODS,
    Workplace,
    embed,
    raw_track,
)
from stepreel.evaluation.metrics.kendall import score_order
from stepreel.evaluation.metrics.key_step_quality import KERNEL, quality
from stepreel.evaluation.metrics.phases import (
    SHARES,
    Fold,
    Guesses,
    classify,
    labelled_share,
    make_folds,
)
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import Json, data_fingerprint, spread
from stepreel.learn import METHOD_VERSION
from stepreel.steps.clustering import cluster_recordings
from stepreel.steps.grouping import group_moments
from stepreel.steps.key_steps import find_steps
from stepreel.system.store import Entry, read_facts, write_facts
from stepreel.types import Clustering, Floats, Labels, moment_seconds

Figures = dict[str, dict[str, float]]
"""method → name of the figure → value, of one task and one seed"""

MEASURE_VERSION = 1  # raise it when the same data and settings would give other figures
WITHOUT_SEED = frozenset({"time", "raw"})  # features that no seed changes
BACKGROUNDS = {"with-background": True, "without-background": False}


@dataclass(frozen=True)
class Embedder:
    """Gives the features of all recordings, learned from some of them, or from all (None)."""

    method: str
    features: Callable[[Sequence[int] | None], list[Floats]]


def embedders(
    prepared: PreparedTask, plan: Plan, workplace: Workplace, seed: int
) -> list[Embedder]:
    """Return relative time, raw features, and every learned method of the plan."""
    recordings = prepared.recordings or []

    def of_time(_: Sequence[int] | None) -> list[Floats]:
        return [(t / max(float(t[-1]), 1e-9)).astype(np.float32)[:, None] for t in prepared.times]

    def of_raw(_: Sequence[int] | None) -> list[Floats]:
        return [raw_track(one).features for one in recordings]

    def of(method: str) -> Callable[[Sequence[int] | None], list[Floats]]:
        settings = plan.settings_of(method, prepared.cues, seed=seed)

        def learned(learn_from: Sequence[int] | None) -> list[Floats]:
            return [t.features for t in embed(recordings, settings, workplace, learn_from)]

        return learned

    names = [name for name in LEARNED_METHODS if name in plan.methods]
    return [
        Embedder("time", of_time),
        Embedder("raw", of_raw),
        *(Embedder(name, of(name)) for name in names),
    ]


def measure_phases(prepared: PreparedTask, plan: Plan, workplace: Workplace, seed: int) -> Figures:
    """Classify moments in every fold; accuracy in percent, pooled over the task's moments."""
    folds, truth = make_folds(prepared.splits, seed), prepared.truth
    figures: Figures = {}
    for embedder in embedders(prepared, plan, workplace, seed):
        own: dict[str, list[Guesses]] = {}
        for fold in folds:
            features = embedder.features(fold.train)
            for share in SHARES:
                labelled = labelled_share(fold.train, share, seed)
                for name, with_background in BACKGROUNDS.items():
                    own.setdefault(f"{name} {share:g}", []).append(
                        classify(
                            features, truth, labelled, fold.test, with_background=with_background
                        )
                    )
        figures[embedder.method] = {name: _accuracy(parts) for name, parts in own.items()}
    return {"most-frequent": _most_frequent(truth, folds, seed), **figures}


def _most_frequent(truth: Sequence[Labels], folds: Sequence[Fold], seed: int) -> dict[str, float]:
    """Name every moment by the commonest phase of the labelled recordings."""
    own: dict[str, list[Guesses]] = {}
    for fold in folds:
        for share in SHARES:
            labelled = labelled_share(fold.train, share, seed)
            for name, kept in BACKGROUNDS.items():
                seen = np.concatenate([truth[n] for n in labelled])
                seen = seen if kept else seen[seen != 0]
                phases, counts = np.unique(seen, return_counts=True)
                commonest = phases[counts.argmax()] if len(seen) else 0
                asked = [truth[n] if kept else truth[n][truth[n] != 0] for n in fold.test]
                right = sum(int(np.sum(a == commonest)) for a in asked)
                own.setdefault(f"{name} {share:g}", []).append(Guesses(right, sum(map(len, asked))))
    return {name: _accuracy(parts) for name, parts in own.items()}


def _accuracy(parts: Sequence[Guesses]) -> float:
    total = sum(one.all for one in parts)
    return 100 * sum(one.right for one in parts) / total if total else 0.0


def measure_order(prepared: PreparedTask, plan: Plan, workplace: Workplace, seed: int) -> Figures:
    """Return Kendall's τ over pairs of recordings, those of the official test split if any."""
    train = [n for n, split in enumerate(prepared.splits) if split == "train"]
    test = [n for n, split in enumerate(prepared.splits) if split == "test"]
    scored = test if train and len(test) > 1 else list(range(len(prepared.names)))
    first = plan.seeds[0]
    before = {} if seed == first else measure_task("kendall", prepared, plan, workplace, first)
    figures: Figures = {}
    for embedder in embedders(prepared, plan, workplace, seed):
        if embedder.method in WITHOUT_SEED and before:
            figures[embedder.method] = before[embedder.method]
            continue
        features = embedder.features(train if scored is test else None)
        order = score_order([features[n] for n in scored])
        figures[embedder.method] = {
            "tau_b": order.tau_b,
            "tau_text": order.tau_text,
            "pairs": float(order.pairs),
            "undefined": float(order.undefined),
        }
    return figures


def measure_key_steps(
    prepared: PreparedTask, plan: Plan, workplace: Workplace, seed: int
) -> Figures:
    """Judge K moments of every recording; means over recordings."""
    k, rng, recordings = plan.n_clusters, np.random.default_rng(seed), prepared.recordings or []
    raw = [raw_track(one) for one in recordings]
    shown: dict[str, list[Labels]] = {
        "random": [rng.choice(n, min(k, n), replace=False) for n in prepared.lengths],
        "equal-split": [((np.arange(k) + 0.5) * n / k).astype(np.int64) for n in prepared.lengths],
        "raw": [
            _nearest(cluster_recordings([t], k, seed=seed)[0], plan.settings_of("raw-kmeans"), k)
            for t in raw
        ],
    }
    for method in LEARNED_METHODS:
        if method in plan.methods:
            settings = plan.settings_of(method, prepared.cues, seed=seed)
            tracks = embed(recordings, settings, workplace)
            shown[method] = [
                _nearest(group_moments([t], [one], settings).clusterings[0], settings, k)
                for t, one in zip(tracks, recordings, strict=True)
            ]
    figures: Figures = {}
    for method, picked in shown.items():
        judged = [quality(t.features, p) for t, p in zip(raw, picked, strict=True)]
        spaced = [one.diversity for one in judged if not np.isnan(one.diversity)]
        figures[method] = {
            "representation": float(np.mean([one.representation for one in judged])),
            "diversity": float(np.mean(spaced)) if spaced else float("nan"),
            "shown": float(np.mean([len(np.unique(one)) for one in picked])),
        }
    return figures


def _nearest(clustering: Clustering, settings: Settings, k: int) -> Labels:
    """Return the moments that Algorithm 1 shows, the k nearest to their centres."""
    choice = settings.key_steps.model_copy(update={"top": k})
    found = find_steps(clustering, choice, moment_seconds=moment_seconds(clustering.times))
    return np.array([segment.nearest for segment in found.segments], np.int64)


Measure = Callable[[PreparedTask, Plan, Workplace, int], Figures]

TASK_METRICS: dict[str, Measure] = {
    "phases": measure_phases,
    "kendall": measure_order,
    "key-steps": measure_key_steps,
}
NEEDS_TWO = frozenset({"phases", "kendall"})  # one recording alone has nothing to compare with
COUNTS = frozenset({"pairs", "undefined"})  # of several tasks: added up
NOTES = {
    "phases": "accuracy in percent; scikit-learn SVC with its defaults; number: share of labelled "
    "training recordings",
    "kendall": "means over ordered pairs of recordings; undefined: those dropped from tau_b",
    "key-steps": f"up to as many moments as clusters, per recording; kernel: {KERNEL}",
}


def measure_task(
    name: str, prepared: PreparedTask, plan: Plan, workplace: Workplace, seed: int
) -> Figures:
    """Return one task's figures for one seed; what was worked out before is read back."""
    learned = [method for method in LEARNED_METHODS if method in plan.methods]
    description = {
        "measure": MEASURE_VERSION,
        "method": METHOD_VERSION,
        "data": data_fingerprint([prepared]),
        "splits": prepared.splits,
        "n_clusters": plan.n_clusters,
        "seed": seed,
        "first_seed": plan.seeds[0],
        "learned": {
            method: plan.settings_of(method, prepared.cues, seed=seed).model_dump(mode="json")
            for method in learned
        },
    }
    entry = Entry(workplace.store.root / "measures", name, description)
    kept = read_facts(entry)
    if kept is None:
        figures = TASK_METRICS[name](prepared, plan, workplace, seed)
        kept = {
            method: {figure: None if np.isnan(value) else value for figure, value in values.items()}
            for method, values in figures.items()
        }
        write_facts(entry, kept)
    return {
        method: {
            figure: float("nan") if value is None else value for figure, value in values.items()
        }
        for method, values in kept.items()
    }


def measure(name: str, prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace) -> Json:
    """Return method → figure → spread over seeds; of several tasks, plain means over them.

    Counts are added up.
    """
    per_seed: list[list[Figures]] = []
    for place, seed in enumerate(plan.seeds):
        per_seed.append([])
        for number, task in enumerate(prepared):
            done = place * len(prepared) + number
            workplace.progress(name, done, len(plan.seeds) * len(prepared))
            per_seed[-1].append(measure_task(name, task, plan, workplace, seed))
    return {
        "note": NOTES[name],
        "methods": {
            method: {
                figure: _over_seeds(
                    [[task[method][figure] for task in tasks] for tasks in per_seed],
                    add=figure in COUNTS,
                )
                for figure in figures
            }
            for method, figures in per_seed[0][0].items()
        },
    }


def _over_seeds(values: Sequence[Sequence[float]], *, add: bool) -> Json:
    """Return the spread over seeds of means, or sums, over tasks; null where no task has any."""
    means = []
    for tasks in values:
        known = [value for value in tasks if not np.isnan(value)]
        if not known:
            return {"mean": None, "std": None, "seeds": []}
        means.append(float(np.sum(known) if add else np.mean(known)))
    return spread(means)
