"""The moments at which the truth and a prediction of one recording are compared.

Either may be one label per moment or spans; both use the recording's own time. Labels of moments
are never stretched: if the two do not cover the same moments, that is an error, not a lower score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import END_TOLERANCE_SECONDS, ROUNDING
from stepreel.types import Labels, Seconds, moment_seconds

MOST_MOMENTS = 20_000_000  # of one recording: weeks, at any common rate
USUAL_RATE = 10.0  # moments per second at which spans are compared with spans
RATE_TOLERANCE = 2e-4  # relative difference between the mean steps of two equal rates
GAP = 1.5  # a step this many times the usual one leaves moments out


@dataclass(frozen=True)
class MomentLabels:
    """One label per moment, as ids of steps; `RawMomentLabels` has the text of a file."""

    times: Seconds
    labels: Labels

    @property
    def step(self) -> float:
        """How long a moment lasts, on average."""
        n = len(self.times)
        return float(self.times[-1] - self.times[0]) / (n - 1) if n > 1 else 1 / USUAL_RATE

    @property
    def start(self) -> float:
        """When the first moment starts."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """When the last moment ends."""
        return float(self.times[-1]) + self.step

    def at(self, times: Seconds) -> Labels:
        """Return the label of the nearest moment."""
        return self.labels[np.searchsorted((self.times[1:] + self.times[:-1]) / 2, times)]


@dataclass(frozen=True)
class SpanLabels:
    """Spans with a label, which can be looked up at any time.

    start, end  of the first and the last span
    duration    length of the recording, if known
    """

    at: Callable[[Seconds], Labels]
    start: float
    end: float
    duration: float | None = None


TimedLabels = MomentLabels | SpanLabels


def moments_in_common(
    truth: TimedLabels, prediction: TimedLabels, rate: float | None = None
) -> Seconds:
    """Return the moments to compare at; DatasetError if the two are not of one recording.

    rate  moments per second for predictions that are spans; None: the moments of the truth, if it
          has labels per moment
    """
    if isinstance(prediction, MomentLabels):
        if isinstance(truth, MomentLabels):
            _check_same_moments(truth, prediction)
        else:
            _check_within(truth, prediction, "truth", "prediction")
            _check_no_gap(prediction)
        return prediction.times
    if isinstance(truth, MomentLabels):
        _check_within(prediction, truth, "prediction", "truth")
        return truth.times if rate is None else _grid(truth.start, truth.end, rate)
    ends = (prediction.duration, truth.duration, max(prediction.end, truth.end))
    return _grid(0.0, next(end for end in ends if end is not None), rate or USUAL_RATE)


def _grid(start: float, end: float, rate: float) -> Seconds:
    """Return the moments that start before the end."""
    n = np.ceil((end - start) * rate - ROUNDING)
    if n > MOST_MOMENTS:
        raise DatasetError(
            f"its stated length of {end - start:g} s cannot be right; at most "
            f"{MOST_MOMENTS / rate:g} s can be scored"
        )
    return start + np.arange(max(1, int(n))) / rate


def _check_same_moments(truth: MomentLabels, prediction: MomentLabels) -> None:
    """Check for the same moments, or, at different rates, for the same start and end."""
    n_true, n_predicted = len(truth.times), len(prediction.times)
    if (
        n_true == n_predicted
        and np.abs(truth.times - prediction.times).max() < min(truth.step, prediction.step) / 2
    ):
        return
    coarser = max(truth.step, prediction.step)
    same_rate = abs(truth.step / prediction.step - 1) < RATE_TOLERANCE
    apart = max(abs(truth.start - prediction.start), abs(truth.end - prediction.end))
    if same_rate or apart > coarser * (1 + RATE_TOLERANCE):
        raise DatasetError(
            f"its prediction has {n_predicted} moments, {prediction.start:.2f} to "
            f"{prediction.end:.2f} s, its truth {n_true}, {truth.start:.2f} to {truth.end:.2f} s; "
            "both must cover the same moments"
        )
    _check_no_gap(prediction)


def _check_no_gap(prediction: MomentLabels) -> None:
    times = prediction.times
    steps = np.diff(times)
    if len(steps) and steps.max() > GAP * moment_seconds(times):
        gap = int(steps.argmax())
        raise DatasetError(
            f"its prediction has no label between {times[gap]:g} and {times[gap + 1]:g} s; "
            "expected one for every moment"
        )


def _check_within(spans: SpanLabels, moments: MomentLabels, whose: str, whose_moments: str) -> None:
    """Check that spans lie within moments, and a recording's stated length to about a second."""
    slack = GAP * moments.step
    too_early, too_late = spans.start < moments.start - slack, spans.end > moments.end + slack
    if spans.duration is not None:
        too_early = False
        too_late = abs(spans.duration - moments.end) > max(slack, END_TOLERANCE_SECONDS)
    if too_early or too_late:
        raise DatasetError(
            f"its {whose} covers {spans.start:.2f} to {spans.end:.2f} s, its {whose_moments} "
            f"{moments.start:.2f} to {moments.end:.2f} s; both must cover the same moments"
        )
