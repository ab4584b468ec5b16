"""Score every method's storyboards of a task: means over recordings, one per seed.

The storyboards of a labelling show its runs; those read from storyboard.json their own steps. A
recording without a true step cannot be scored: it is left out, for every method alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.metrics.storyboard_worth import (
    MEASURES,
    Measured,
    Rates,
    RecordingJudge,
)
from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps
from stepreel.types import Labels

EQUAL_SPLIT = "equal-split"  # into K, whatever the number of shown steps
Clustered = Literal["together", "alone"]


@dataclass(frozen=True)
class MeanMeasured:
    """One measure of one method and seed: means over the recordings of a task."""

    rates: Rates
    n_shown: float
    n_true: float
    nulls: dict[str, Rates]


SeedScores = list[dict[str, MeanMeasured]]
"""One per seed, by measure"""


@dataclass
class StoryboardJudge:
    """Scores the storyboards of all methods of one task; nothing is scored twice."""

    comparison: TaskComparison
    _scores: dict[tuple[str, Clustered], SeedScores] = field(default_factory=dict)

    @cached_property
    def scored(self) -> dict[int, RecordingJudge]:
        """By their number, the recordings with at least one true step."""
        prepared = self.comparison.prepared
        truths = [
            TrueSteps.of_labels(labels, times)
            for labels, times in zip(prepared.truth, prepared.times, strict=True)
        ]
        return {
            number: RecordingJudge(truth, seed=number)
            for number, truth in enumerate(truths)
            if len(truth.segments)
        }

    @property
    def left_out(self) -> list[str]:
        """Names of the recordings without a true step."""
        names = self.comparison.prepared.names
        return [name for number, name in enumerate(names) if number not in self.scored]

    @cached_property
    def _split_into_k(self) -> dict[str, Rates]:
        """Rates of the equal split into K, by measure."""
        comparison = self.comparison
        labels = [equal_split(n, comparison.n_clusters) for n in comparison.prepared.lengths]
        measured = self._measure(self._runs(labels))
        return {measure: _mean([m[measure].rates for m in measured]) for measure in MEASURES}

    def seed_scores(self, method: str, clustered: Clustered) -> SeedScores:
        """Return a method's scores, with recordings clustered together or each alone."""
        key = method, clustered
        if key not in self._scores:
            self._scores[key] = self._score_seeds(method, clustered)
        return self._scores[key]

    def _score_seeds(self, method: str, clustered: Clustered) -> SeedScores:
        known: dict[int, dict[str, MeanMeasured]] = {}  # methods without a seed predict once
        for prediction in self.comparison.predictions[method]:
            if id(prediction) not in known:
                labels = prediction.together if clustered == "together" else prediction.alone
                measured = self._measure(self.comparison.shown.get(method) or self._runs(labels))
                known[id(prediction)] = {m: self._mean_measured(m, measured) for m in MEASURES}
        return [known[id(prediction)] for prediction in self.comparison.predictions[method]]

    def _runs(self, labels: Sequence[Labels]) -> list[ShownSteps]:
        times = self.comparison.prepared.times
        return [ShownSteps.of_labels(own, t) for own, t in zip(labels, times, strict=True)]

    def _measure(self, shown: Sequence[ShownSteps]) -> list[dict[str, Measured]]:
        return [judge.measure(shown[number]) for number, judge in self.scored.items()]

    def _mean_measured(self, measure: str, measured: Sequence[dict[str, Measured]]) -> MeanMeasured:
        own = [recording[measure] for recording in measured]
        return MeanMeasured(
            rates=_mean([one.rates for one in own]),
            n_shown=float(np.mean([one.n_shown for one in own])),
            n_true=float(np.mean([one.n_true for one in own])),
            nulls={name: _mean([one.nulls[name] for one in own]) for name in own[0].nulls}
            | {EQUAL_SPLIT: self._split_into_k[measure]},
        )


def _mean(rates: Sequence[Rates]) -> Rates:
    return Rates(*(float(value) for value in np.mean(rates, axis=0)))
