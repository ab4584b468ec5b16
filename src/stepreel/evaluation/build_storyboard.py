"""Gather what the storyboards of all tasks are worth into the field `storyboard` of `Results`."""

from __future__ import annotations

from collections.abc import Sequence

from stepreel.evaluation.figures import Figure
from stepreel.evaluation.metrics.storyboard_worth import COVERAGE, TOLERANCES, Rates
from stepreel.evaluation.over_tasks import methods_of_all, over_tasks
from stepreel.evaluation.storyboard_figures import (
    RATES,
    MeasureFigures,
    MeasureTables,
    RateFigures,
    StoryboardFigures,
)
from stepreel.evaluation.storyboard_scores import Clustered, StoryboardJudge


def build_storyboard(judges: Sequence[StoryboardJudge]) -> StoryboardFigures:
    """Return both measures of every method; of several tasks, plain means over them."""
    optional = {}
    if all(judge.comparison.prepared.recordings is not None for judge in judges):
        optional["alone"] = _tables(judges, "alone")
    together = _tables(judges, "together")
    return StoryboardFigures(
        recordings=sum(len(judge.scored) for judge in judges),
        left_out=sum(len(judge.left_out) for judge in judges),
        coverage=together.coverage,
        borders=together.borders,
        **optional,
    )


def _tables(judges: Sequence[StoryboardJudge], clustered: Clustered) -> MeasureTables:
    methods = methods_of_all([judge.comparison for judge in judges])
    return MeasureTables(
        coverage={m: _figures(judges, m, COVERAGE, clustered) for m in methods},
        borders={m: {t: _figures(judges, m, t, clustered) for t in TOLERANCES} for m in methods},
    )


def _figures(
    judges: Sequence[StoryboardJudge], method: str, measure: str, clustered: Clustered
) -> MeasureFigures:
    per_task = [
        [seed[measure] for seed in judge.seed_scores(method, clustered)] for judge in judges
    ]

    return MeasureFigures(
        **_rates([[seed.rates for seed in seeds] for seeds in per_task]),
        n_shown=over_tasks([[seed.n_shown for seed in seeds] for seeds in per_task]),
        n_true=over_tasks([[seed.n_true for seed in seeds] for seeds in per_task]),
        nulls={
            null: RateFigures(**_rates([[s.nulls[null] for s in seeds] for seeds in per_task]))
            for null in per_task[0][0].nulls
        },
    )


def _rates(per_task: Sequence[Sequence[Rates]]) -> dict[str, Figure]:
    return {
        name: over_tasks([[getattr(seed, name) for seed in seeds] for seeds in per_task])
        for name in RATES
    }
