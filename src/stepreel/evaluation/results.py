"""results.json: every figure of an evaluation, with what it was made from.

    protocols.<protocol>.<method>.f1 = {"mean": …, "std": …, "seeds": […]}

All figures are percentages; `std` is the population's, over seeds. With several tasks a figure is
the plain mean over tasks of each seed's figures; `tasks.<task>.protocols…` has each by itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stepreel.evaluation.compare import Outcome
from stepreel.evaluation.methods.catalog import LEARNED_METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.scores import FIGURES, STEP_FIGURES, Scores
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import moment_seconds, readable
from stepreel.version import __version__

Json = dict[str, Any]
FORMAT, VERSION = "stepreel-results", 1
DIGITS = 4


def spread(values: Iterable[float]) -> Json:
    """Return mean, standard deviation and the values themselves.

    >>> spread([1.0, 3.0])
    {'mean': 2.0, 'std': 1.0, 'seeds': [1.0, 3.0]}
    """
    numbers = [float(value) for value in values]
    return {
        "mean": round(float(np.mean(numbers)), DIGITS),
        "std": round(float(np.std(numbers)), DIGITS),
        "seeds": [round(number, DIGITS) for number in numbers],
    }


def protocols_of(outcomes: Sequence[Outcome], *, with_steps: bool = True) -> Json:
    """Return protocol → method → figures; of several tasks, plain means over them.

    A method counts only where it ran on all of them. Steps of several tasks are told apart by
    `task/id`; without them, figures of the whole alone are given.
    """
    methods = [m for m in outcomes[0].predictions if all(m in o.predictions for o in outcomes)]
    return {
        protocol: {
            method: _figures(
                [(o, o.table[protocol][method]) for o in outcomes],
                strict=strict,
                with_steps=with_steps,
            )
            for method in methods
        }
        for protocol, strict in ((name, one.strict) for name, one in PROTOCOLS.items())
    }


def _figures(
    per_task: Sequence[tuple[Outcome, Sequence[Scores]]], *, strict: bool, with_steps: bool
) -> Json:
    def over_tasks(name: str) -> list[float]:
        rows = [[one.figures[name] for one in scores] for _, scores in per_task]
        return [float(value) for value in np.mean(rows, axis=0)]

    figures: Json = {name: spread(over_tasks(name)) for name in FIGURES}
    if strict:
        ceilings = [[one.ceiling for one in scores] for _, scores in per_task]
        figures["ceiling"] = spread([float(value) for value in np.mean(ceilings, axis=0)])
    if with_steps:
        figures["per_step"] = {
            key: step
            for outcome, scores in per_task
            for key, step in _per_step(outcome, scores, several=len(per_task) > 1).items()
        }
    return figures


def _per_step(outcome: Outcome, scores: Sequence[Scores], *, several: bool) -> Json:
    task = outcome.prepared.task
    return {
        (f"{task.name}/{step}" if several else str(step)): {
            "name": name_of_step(outcome.prepared, step),
            **{name: spread(one.per_step[step][name] for one in scores) for name in STEP_FIGURES},
        }
        for step in scores[0].per_step
    }


def name_of_step(prepared: PreparedTask, step: int) -> str:
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


def describe_tasks(prepared: Sequence[PreparedTask]) -> Json:
    """Say of every task what was scored."""
    return {
        one.task.name: {
            "group": one.task.group,
            "recordings": one.names,
            "moments": sum(one.lengths),
            "seconds": round(sum(float(t[-1] - t[0]) for t in one.times), 3),
            "cues": {
                cue: track.width
                for cue, track in (one.recordings[0].tracks if one.recordings else {}).items()
            },
            "steps": {
                str(step): name_of_step(one, step)
                for step in sorted({int(s) for truth in one.truth for s in np.unique(truth)})
            },
        }
        for one in prepared
    }


def _settings_used(method: str, prepared: PreparedTask, plan: Plan) -> Json:
    """Dump a method's settings; what only concerns videos is left out where there are none."""
    are_features = all(isinstance(one, FeatureRecording) for one in prepared.recordings or [])
    unused = {"extract": {"moments_per_second", "shard_seconds"}} if are_features else None
    settings = plan.settings_of(method, prepared.cues or None)
    dumped: Json = settings.model_dump(mode="json", exclude=unused)
    return dumped


CLUSTERED = {
    "raw-kmeans": "KMeans (n_init 10) on all cues side by side, z-scored over each recording",
    "time-kmeans": "the same, and relative time with as much weight as all features together",
}


def describe_settings(outcomes: Sequence[Outcome], plan: Plan) -> Json:
    """Say how every method that ran did so."""
    first = outcomes[0].prepared
    ran = {m: o.prepared for o in reversed(outcomes) for m in o.predictions}  # the first task
    learned = [method for method in LEARNED_METHODS if method in ran]
    settings: Json = {
        "n_clusters": plan.n_clusters,
        "seeds": list(plan.seeds),
        "moments_per_second": round(1 / moment_seconds(max(first.times, key=len)), 3),
        "methods": {
            **{method: text for method, text in CLUSTERED.items() if method in ran},
            **{method: _settings_used(method, ran[method], plan) for method in learned},
        },
    }
    if learned:
        settings["preset_of_paper"] = plan.preset
        settings["trained_on"] = "the recordings that are scored, without labels"
    return settings


def build_results(
    dataset: Mapping[str, object],
    outcomes: Sequence[Outcome],
    plan: Plan,
    *,
    left_out: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Json:
    """Gather everything but sweeps and task metrics, which are added under their own names."""
    prepared = [outcome.prepared for outcome in outcomes]
    results: Json = {
        "format": FORMAT,
        "version": VERSION,
        "stepreel_version": __version__,
        "data_fingerprint": data_fingerprint(prepared),
        "dataset": {**dataset, "tasks": describe_tasks(prepared)},
        "settings": describe_settings(outcomes, plan),
        "skipped": reasons_skipped(outcomes),
        "left_out": list(left_out),
        "notes": list(notes),
        "protocols": protocols_of(outcomes),
    }
    groups = dict.fromkeys(outcome.prepared.task.group for outcome in outcomes)
    if len(outcomes) > 1:
        results["tasks"] = {
            outcome.prepared.task.name: {"protocols": protocols_of([outcome])}
            for outcome in outcomes
        }
    if len(groups) > 1:
        results["groups"] = {
            group: {"protocols": protocols_of(members, with_steps=False)}
            for group in groups
            if (members := [o for o in outcomes if o.prepared.task.group == group])
        }
    return results


def reasons_skipped(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Say of every method that is missing why; one that ran on some tasks is in no mean."""
    reasons: dict[str, str] = {}
    for outcome in outcomes:
        for method, why in outcome.skipped.items():
            ran_elsewhere = any(method in other.predictions for other in outcomes)
            where = f"not on {outcome.prepared.task.name}, " if ran_elsewhere else ""
            reasons.setdefault(method, f"{where}{why}")
    return reasons


def to_text(results: Json) -> str:
    """Write results as JSON, the same for the same results; a figure with its seeds is one line."""
    return _indented(results, "") + "\n"


def _indented(value: object, margin: str) -> str:
    if not isinstance(value, dict) or not any(isinstance(v, dict) for v in value.values()):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = margin + " "
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_indented(value[key], inner)}"
        for key in value
    ]
    return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
