"""Storyboards → the visits of each take: its steps in order, neighbours of a kind merged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from stepreel.comparison.schema import Visit
from stepreel.storyboard.schema import KeyStep, Storyboard


def visits_of(board: Storyboard) -> list[Visit]:
    """Return the visits of a take. Pauses between two steps of a kind do not part them."""
    level = board.confidence.clear
    groups = groupby(board.steps, key=lambda step: step.cluster)
    return [_visit(cluster, list(steps), level) for cluster, steps in groups]


def _visit(cluster: int, steps: Sequence[KeyStep], level: float | None) -> Visit:
    seconds = sum(step.seconds for step in steps)
    weights = [step.seconds or 1e-9 for step in steps]
    total = sum(weights)
    clear = sum(
        weight
        for step, weight in zip(steps, weights, strict=True)
        if level is None or is_clear(step, level)
    )
    mean = sum(s.confidence * weight for s, weight in zip(steps, weights, strict=True)) / total
    return Visit(
        cluster=cluster,
        start=steps[0].start,
        end=steps[-1].end,
        seconds=seconds,
        steps=[step.index for step in steps],
        shown=max(steps, key=lambda step: (step.confidence, step.seconds)).index,
        confidence=min(mean, 1.0),
        is_clear=None if level is None else 2 * clear >= total,
    )


def is_clear(step: KeyStep, level: float) -> bool:
    """Tell whether a step is clear. One that a person added has no margin, and is."""
    return step.margin is None or step.confidence >= level
