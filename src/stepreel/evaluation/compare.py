"""Run methods on a prepared task and score them under every protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stepreel.errors import DatasetError, StepreelError, StoreError
from stepreel.evaluation.methods.base import MethodKind, Prediction, RecordingTimes
from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.methods.runner import MethodRunner, predict_blind
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.prediction_scores import PredictionScores, score_prediction
from stepreel.evaluation.metrics.timed_steps import ShownSteps
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.types import Labels, Progress

ScoreTable = dict[str, dict[str, list[PredictionScores]]]
"""By protocol, then by method; one per seed"""


@dataclass
class TaskComparison:
    """Every method on one task: its predictions and scores per seed, or why it was not run.

    shown  of methods that state them: the steps shown of every recording; those of all others are
           the runs of their labels
    """

    prepared: PreparedTask
    n_clusters: int
    kinds: dict[str, MethodKind] = field(default_factory=dict)
    predictions: dict[str, list[Prediction]] = field(default_factory=dict)
    scores: ScoreTable = field(default_factory=lambda: {name: {} for name in PROTOCOLS})
    skipped: dict[str, str] = field(default_factory=dict)
    shown: dict[str, list[ShownSteps]] = field(default_factory=dict)

    def add(
        self,
        method: str,
        predictions: Sequence[Prediction],
        *,
        kind: MethodKind = "other",
        same_for_all_seeds: bool = False,
    ) -> None:
        """Score a method's predictions, one per seed, and add them; equal ones are scored once."""
        self.kinds[method] = kind
        self.predictions[method] = list(predictions)
        different = predictions[:1] if same_for_all_seeds else predictions
        for name, protocol in PROTOCOLS.items():
            scores = [
                score_prediction(
                    self.prepared.truth, _labels(prediction, name), self.n_clusters, protocol
                )
                for prediction in different
            ]
            self.scores[name][method] = scores * (len(predictions) // len(different))


def compare(
    prepared: PreparedTask,
    plan: Plan,
    runner: MethodRunner | None = None,
    *,
    train_on: int | None = None,
) -> TaskComparison:
    """Predict with every method and seed, then score; a method that fails is skipped with a reason.

    runner    not needed where there are only labels: then only blind methods can run
    train_on  how many recordings learned methods train on; all are predicted and scored
    """
    if not prepared.has_steps:
        raise DatasetError(nothing_to_score(prepared))
    comparison = TaskComparison(prepared, plan.n_clusters)
    for name in plan.methods:
        try:
            predictions = _predict_seeds(name, prepared, plan, runner, train_on)
        except StoreError:
            raise  # a full disk is not the method's fault
        except StepreelError as problem:
            comparison.skipped[name] = str(problem)
        except Exception as problem:
            if name in METHODS.own:
                raise
            comparison.skipped[name] = f"{type(problem).__name__}: {problem}"
        else:
            method = METHODS[name]
            comparison.add(
                name, predictions, kind=method.kind, same_for_all_seeds=not method.uses_seed
            )
    return comparison


def nothing_to_score(prepared: PreparedTask) -> str:
    """Say why a task cannot be scored."""
    return (
        f"{prepared.task.name}: no key step is labelled at any of the {sum(prepared.lengths)} "
        "moments that are scored; there is nothing to score against"
    )


def _predict_seeds(
    name: str,
    prepared: PreparedTask,
    plan: Plan,
    runner: MethodRunner | None,
    train_on: int | None,
) -> list[Prediction]:
    """Return one prediction per seed; DatasetError if features are needed and missing."""
    method = METHODS[name]
    seeds = plan.seeds if method.uses_seed else plan.seeds[:1]
    predictions = []
    for number, seed in enumerate(seeds, start=1):
        if method.kind == "blind":
            times = [RecordingTimes(times) for times in prepared.times]
            predictions.append(predict_blind(name, times, plan.n_clusters, seed))
            continue
        if prepared.recordings is None:
            raise DatasetError(f"needs features: {prepared.blind_because}")
        assert runner is not None
        settings = plan.settings_of(name, prepared.cues, seed=seed)
        label = f"{name} {number}/{len(plan.seeds)}"
        named = replace(runner, progress=_prefixed(runner.progress, label))
        chosen = _draw(prepared, seed, train_on) if method.kind == "learned" else None
        predictions.append(named.predict(name, prepared.recordings, settings, train_on=chosen))
    return predictions * (len(plan.seeds) // len(seeds))


def _draw(prepared: PreparedTask, seed: int, train_on: int | None) -> list[int] | None:
    """Draw recordings to train on, another set for every seed; None: all."""
    if train_on is None:
        return None
    order = np.random.default_rng(seed).permutation(len(prepared.names))
    return sorted(int(number) for number in order[:train_on])


def _prefixed(progress: Progress, label: str) -> Progress:
    """Say in the progress bar which method is running."""

    def report(what: str, done: float, total: float) -> None:
        progress(f"{label}: {what}", done, total)

    return report


def _labels(prediction: Prediction, protocol: str) -> list[Labels]:
    return prediction.alone if PROTOCOLS[protocol].each_recording else prediction.together
