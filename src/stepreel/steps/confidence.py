"""How much more often a step is right than an equal part of the recording would be.

A step is right if its IoU with one true step, matched one-to-one, is at least 0.5. With p the rate
at which steps like this one are right, and p₀ the rate of as many equal parts of the same
recording,

    confidence = (p − p₀) / (1 − p₀), at least 0.

0: no better than cutting by the clock. 1: always right. Neither rate is known without labels. Both
are estimated from `calibration.json`, which `benchmarks/calibrate.py` fits to labelled recordings
of other tasks:

    logit p₀ = a₀ + weights · (logs of number and length of equal parts, their squares and product)
    logit p  = logit p₀ + a + weights · evidence
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from stepreel.steps.evidence import EVIDENCE, FROM_AGAIN, TaskSteps, Values, is_white_noise
from stepreel.steps.key_steps import KeySteps

CLEAR_SHARE = 0.2  # of the steps; one clear step among many is luck
MEANING = (
    "How much more often steps like this one are right than equal parts of the recording would be: "
    "(p - p0) / (1 - p0), at least 0. p: estimated rate at which such steps overlap one true step "
    "by half or more (IoU); p0: the same for as many equal parts. 0 is no better than cutting by "
    "the clock, 1 is always right."
)


class Weight(BaseModel):
    """The weight of one input, which is first standardised."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mean: float
    scale: float = Field(gt=0)
    weight: float


class LogisticModel(BaseModel):
    """A linear model of a log-odds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    intercept: float
    weights: dict[str, Weight]

    def log_odds(self, inputs: Mapping[str, Values], count: int) -> Values:
        """Return the log-odds of `count` cases from their inputs, an array by name."""
        total = np.full(count, self.intercept)
        for name, part in self.weights.items():
            total += part.weight * (inputs[name] - part.mean) / part.scale
        return total


class Calibration(BaseModel):
    """What was learned from labelled recordings; see the module docstring.

    chance    log-odds of p₀; its inputs are those of `chance_inputs`
    lift      log-odds of p above those of p₀; its inputs are evidence
    clear     confidence from which a step counts as clear
    repeat    confidence from which a step that looks like an earlier one is called the same step
              done again; None if such claims are wrong more often than right at any level
    sources   the datasets it was fitted to, and the number of steps of each
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    chance: LogisticModel
    lift: LogisticModel
    clear: float = Field(ge=0, le=1)
    repeat: float | None = Field(ge=0, le=1)
    sources: dict[str, int]


@cache
def calibration() -> Calibration:
    """Read the calibration that comes with the package."""
    text = (files("stepreel.steps") / "calibration.json").read_text(encoding="utf-8")
    return Calibration.model_validate_json(text)


def rate_steps(task: TaskSteps, fitted: Calibration | None = None) -> list[KeySteps]:
    """Return the key steps of every recording with their confidence."""
    fitted = fitted or calibration()
    return [
        _with_confidence(key_steps, confidences(task, position, fitted))
        for position, key_steps in enumerate(task.key_steps)
    ]


def _with_confidence(key_steps: KeySteps, values: Sequence[float]) -> KeySteps:
    segments = [
        replace(segment, confidence=float(value))
        for segment, value in zip(key_steps.segments, values, strict=True)
    ]
    return replace(key_steps, segments=segments)


def confidences(task: TaskSteps, position: int, fitted: Calibration) -> list[float]:
    """Return the confidence of every step of a recording; 0 if its features are noise."""
    count = len(task.key_steps[position].segments)
    if not count or is_white_noise(task, position):
        return [0.0] * count
    seconds = task.recordings[position].duration_seconds
    evidence = {
        # Where nothing tells how stable the steps are, they count as stable as steps usually are.
        name: np.full(count, weight.mean)
        if task.again is None and name in FROM_AGAIN
        else EVIDENCE[name](task, position)
        for name, weight in fitted.lift.weights.items()
    }
    return [float(value) for value in state(fitted, chance_inputs(count, seconds), evidence, count)]


def state(
    fitted: Calibration, chance: Mapping[str, Values], evidence: Mapping[str, Values], count: int
) -> Values:
    """Return the confidence of `count` steps, given the inputs of both rates."""
    chance_log_odds = fitted.chance.log_odds(chance, count)
    chance_rate = probability(chance_log_odds)
    right_rate = probability(chance_log_odds + fitted.lift.log_odds(evidence, count))
    confidence: Values = np.clip((right_rate - chance_rate) / (1 - chance_rate), 0.0, 1.0)
    return confidence


def has_clear_structure(
    values: Sequence[float], clear: float, *, found: bool | None = None
) -> bool:
    """Tell whether a recording has a clear structure.

    values  confidences of its steps; enough of them have to be at least `clear`
    found   whether the decoder found more than equal parts in the task; what it says decides,
            unless nothing is known of this recording. None if it does not say.

    >>> has_clear_structure([0.3, 0.0, 0.1, 0.0], 0.25), has_clear_structure([], 0.25)
    (True, False)
    >>> has_clear_structure([0.1, 0.1], 0.25, found=True)
    True
    """
    if found is not None:
        return found and max(values, default=0.0) > 0
    n_clear = sum(value >= clear for value in values)
    return n_clear > 0 and n_clear >= CLEAR_SHARE * len(values)


def chance_inputs(count: int, seconds: float) -> dict[str, Values]:
    """Return what p₀ of `count` equal parts of a recording is estimated from, once per part."""
    number, part = np.log(count), np.log(max(seconds, 1e-3) / count)
    values = {
        "number": number,
        "part": part,
        "number²": number**2,
        "part²": part**2,
        "number·part": number * part,
    }
    return {name: np.full(count, value) for name, value in values.items()}


def probability(log_odds: Values) -> Values:
    """Return the probability of log-odds.

    >>> probability(np.array([0.0])).tolist()
    [0.5]
    """
    return 1 / (1 + np.exp(-np.clip(log_odds, -30, 30)))
