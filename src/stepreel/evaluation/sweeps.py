"""The same comparison several times, with one thing changed: clusters, cues, or training data.

Nothing is learned twice: training does not depend on K, nor on the cues used at inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stepreel.evaluation.build_results import build_protocols
from stepreel.evaluation.compare import compare
from stepreel.evaluation.methods.catalog import of_kind
from stepreel.evaluation.methods.runner import MethodRunner
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import Scored

BASELINES_SHOWN = ("equal-split", "raw-kmeans")

Sweep = dict[str, Scored]
"""By value of what is changed"""


def over_clusters(
    prepared: Sequence[PreparedTask], plan: Plan, runner: MethodRunner, counts: Sequence[int]
) -> Sweep:
    """Compare all methods for every K."""
    return {str(k): _point(prepared, replace(plan, n_clusters=k), runner) for k in counts}


def over_cues(prepared: Sequence[PreparedTask], plan: Plan, runner: MethodRunner) -> Sweep:
    """Compare learned methods with each cue alone and with all; training uses all of them."""
    cues = [cue for cue in prepared[0].cues if all(cue in task.cues for task in prepared)]
    choices = [[cue] for cue in cues] + ([cues] if len(cues) > 1 else [])
    # Raw k-means uses all cues, and would look as if it used these only.
    learned = _learned_methods(plan, baselines=("equal-split",))
    return {
        "+".join(choice): _point(
            prepared,
            replace(learned, overrides={**plan.overrides, "embed.cues": choice}),
            runner,
        )
        for choice in choices
    }


def over_recordings(
    prepared: Sequence[PreparedTask], plan: Plan, runner: MethodRunner, counts: Sequence[int]
) -> Sweep:
    """Compare methods trained on a few recordings, another draw for every seed."""
    fewest = min(len(task.names) for task in prepared)
    learned = _learned_methods(plan)
    methods = tuple(
        method
        for method in learned.methods
        if method in BASELINES_SHOWN or learned.trains(method, prepared[0].cues)
    )
    learned = replace(learned, methods=methods)
    points = {str(n): _point(prepared, learned, runner, train_on=n) for n in counts if n < fewest}
    return {**points, "all": _point(prepared, learned, runner)}


def _learned_methods(plan: Plan, baselines: Sequence[str] = BASELINES_SHOWN) -> Plan:
    """Keep learned methods, and a few null baselines to compare them with."""
    kept = (*(m for m in baselines if m in plan.methods), *of_kind(plan.methods, "learned"))
    return replace(plan, methods=kept)


def _point(
    prepared: Sequence[PreparedTask],
    plan: Plan,
    runner: MethodRunner,
    *,
    train_on: int | None = None,
) -> Scored:
    comparisons = [compare(task, plan, runner, train_on=train_on) for task in prepared]
    return Scored(protocols=build_protocols(comparisons, with_steps=False))
