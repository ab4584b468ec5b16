"""The same comparison again and again, with one thing changed: clusters, cues, or training data.

Nothing is learned twice: a training does not depend on K, nor on the cues used at inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stepreel.evaluation.compare import compare
from stepreel.evaluation.methods.catalog import LEARNED_METHODS, Workplace
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import Json, protocols_of

BESIDE = ("equal-split", "raw-kmeans")


def sweep_clusters(
    prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace, counts: Sequence[int]
) -> Json:
    """Compare all methods for every K."""
    return {str(k): _point(prepared, replace(plan, n_clusters=k), workplace) for k in counts}


def sweep_cues(prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace) -> Json:
    """Compare learned methods, trained with all cues, with each cue alone and all at inference."""
    cues = [cue for cue in prepared[0].cues if all(cue in task.cues for task in prepared)]
    choices = [[cue] for cue in cues] + ([cues] if len(cues) > 1 else [])
    return {
        "+".join(choice): _point(
            prepared,
            # Raw k-means is on all cues, and would look as if it were on these.
            replace(
                _learned(plan, ("equal-split",)), overrides={**plan.overrides, "embed.cues": choice}
            ),
            workplace,
        )
        for choice in choices
    }


def sweep_recordings(
    prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace, counts: Sequence[int]
) -> Json:
    """Compare learned methods trained on a few recordings, drawn anew for every seed."""
    fewest = min(len(one.names) for one in prepared)
    points = {
        str(n): _point(prepared, _learned(plan), workplace, train_on=n)
        for n in counts
        if n < fewest
    }
    return {**points, "all": _point(prepared, _learned(plan), workplace)}


def _learned(plan: Plan, beside: Sequence[str] = BESIDE) -> Plan:
    """Keep learned methods, and the null baselines that stand beside every score."""
    kept = (*beside, *LEARNED_METHODS)
    return replace(plan, methods=tuple(m for m in kept if m in plan.methods))


def _point(
    prepared: Sequence[PreparedTask], plan: Plan, workplace: Workplace, train_on: int | None = None
) -> Json:
    outcomes = [compare(task, plan, workplace, train_on=train_on) for task in prepared]
    return {"protocols": protocols_of(outcomes, with_steps=False)}
