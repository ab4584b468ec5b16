"""Run methods on a prepared task and score them under every protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed

import numpy as np

from stepreel.errors import DatasetError, StepreelError, StoreError
from stepreel.evaluation.methods.baselines import BASELINES
from stepreel.evaluation.methods.catalog import (
    LEARNED_METHODS,
    SEEDLESS,
    Prediction,
    Workplace,
    predict,
    predict_blindly,
)
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.scores import Scores, score
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.types import Labels, Progress

Table = dict[str, dict[str, list[Scores]]]
"""protocol → method → one per seed"""


@dataclass
class Outcome:
    """What became of every method on one task: predictions and scores per seed, or a reason."""

    prepared: PreparedTask
    n_clusters: int
    predictions: dict[str, list[Prediction]] = field(default_factory=dict)
    table: Table = field(default_factory=lambda: {name: {} for name in PROTOCOLS})
    skipped: dict[str, str] = field(default_factory=dict)


def compare(
    prepared: PreparedTask, plan: Plan, workplace: Workplace, *, train_on: int | None = None
) -> Outcome:
    """Predict with every method and seed, then score; methods that cannot run say why.

    `train_on` is how many recordings learned methods train on; all are predicted and scored.
    """
    outcome = Outcome(prepared, plan.n_clusters)
    if not prepared.has_steps:
        raise DatasetError(nothing_to_score(prepared))
    for method in plan.methods:
        try:
            predictions = _predict_all(method, prepared, plan, workplace, train_on)
        except StoreError:
            raise  # a full disk is no property of a method
        except StepreelError as problem:
            outcome.skipped[method] = str(problem)
            continue
        if predictions is None:
            outcome.skipped[method] = f"needs features: {prepared.blind_because}"
            continue
        enter(outcome, method, predictions, seedless=method in SEEDLESS)
    return outcome


def nothing_to_score(prepared: PreparedTask) -> str:
    """Say why a task cannot be scored."""
    return (
        f"{prepared.task.name}: no key step is labelled at any of the {sum(prepared.lengths)} "
        "moments that are scored; there is nothing to score against"
    )


def enter(
    outcome: Outcome, method: str, predictions: Sequence[Prediction], *, seedless: bool
) -> None:
    """Score a method's predictions, one per seed, and enter both; without a seed all are alike."""
    outcome.predictions[method] = list(predictions)
    truth, k = outcome.prepared.truth, outcome.n_clusters
    for name, protocol in PROTOCOLS.items():
        different = predictions[:1] if seedless else predictions
        scores = [score(truth, _labels(one, name), k, protocol) for one in different]
        outcome.table[name][method] = scores * len(predictions) if seedless else scores


def _predict_all(
    method: str, prepared: PreparedTask, plan: Plan, workplace: Workplace, train_on: int | None
) -> list[Prediction] | None:
    """Return one prediction per seed; None where a method needs features and there are none."""
    k, lengths = plan.n_clusters, prepared.lengths
    if method in BASELINES:
        made = [predict_blindly(method, lengths, k, seed=s) for s in _seeds_of(method, plan)]
    elif prepared.recordings is None:
        return None
    else:
        made = []
        for place, seed in enumerate(plan.seeds, start=1):
            named = changed(
                workplace, progress=_named(workplace.progress, method, place, len(plan.seeds))
            )
            made.append(
                predict(
                    method,
                    prepared.recordings,
                    plan.settings_of(method, prepared.cues, seed=seed),
                    named,
                    learn_from=_chosen(prepared, method, seed, train_on),
                )
            )
    return made * len(plan.seeds) if method in SEEDLESS else made


def _seeds_of(method: str, plan: Plan) -> Sequence[int]:
    return plan.seeds[:1] if method in SEEDLESS else plan.seeds


def _chosen(
    prepared: PreparedTask, method: str, seed: int, train_on: int | None
) -> list[int] | None:
    """Draw recordings to train on, another set for every seed."""
    if train_on is None or method not in LEARNED_METHODS:
        return None
    order = np.random.default_rng(seed).permutation(len(prepared.names))
    return sorted(int(number) for number in order[:train_on])


def _named(progress: Progress, method: str, place: int, count: int) -> Progress:
    """Say in the progress bar whose turn it is."""

    def tell(what: str, done: float, total: float) -> None:
        progress(f"{method} {place}/{count}: {what}", done, total)

    return tell


def _labels(prediction: Prediction, protocol: str) -> list[Labels]:
    return prediction.alone if PROTOCOLS[protocol].each_recording else prediction.together
