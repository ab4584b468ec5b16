"""At which moments a truth and a prediction are compared, if both are of the same recording.

Either may be a label per moment or spans; both are on the recording's own clock. Labels of moments
are never stretched: what does not cover the same moments is an error, not a lower score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import PAST_THE_END_SECONDS, ROUNDING
from stepreel.types import Labels, Seconds

MOST_MOMENTS = 20_000_000  # of one recording: weeks, at any rate in use
USUAL_RATE = 10.0  # moments per second at which spans are compared with spans
SAME_RATE = 2e-4  # by which the mean steps of two equal clocks may differ
A_GAP = 1.5  # a step this many times the usual one leaves something out


@dataclass(frozen=True)
class MomentLabels:
    """One label for each moment."""

    times: Seconds
    labels: Labels

    @property
    def step(self) -> float:
        """How long a moment lasts, on average."""
        n = len(self.times)
        return float(self.times[-1] - self.times[0]) / (n - 1) if n > 1 else 1 / USUAL_RATE

    @property
    def begin(self) -> float:
        """When the first moment is."""
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
    """Stretches with a label, which can be asked for at any time.

    begin, end  of the first and the last stretch
    duration    how long the recording lasts, where that is known
    """

    at: Callable[[Seconds], Labels]
    begin: float
    end: float
    duration: float | None = None


TimedLabels = MomentLabels | SpanLabels


def moments_in_common(truth: TimedLabels, found: TimedLabels, rate: float | None = None) -> Seconds:
    """Return the moments to compare at, or raise DatasetError: these are not of one recording.

    rate  moments per second for predictions that are spans; None: the truth's own moments, if it
          has some
    """
    if isinstance(found, MomentLabels):
        if isinstance(truth, MomentLabels):
            _must_agree(truth, found)
        else:
            _must_lie_within(truth, found, "truth", "prediction")
            _must_be_whole(found)
        return found.times
    if isinstance(truth, MomentLabels):
        _must_lie_within(found, truth, "prediction", "truth")
        return truth.times if rate is None else _grid(truth.begin, truth.end, rate)
    ends = (found.duration, truth.duration, max(found.end, truth.end))
    return _grid(0.0, next(end for end in ends if end is not None), rate or USUAL_RATE)


def _grid(begin: float, end: float, rate: float) -> Seconds:
    """Return the moments that begin before the end."""
    n = np.ceil((end - begin) * rate - ROUNDING)
    if n > MOST_MOMENTS:
        raise DatasetError(
            f"is said to last {end - begin:g} s, which cannot be; at most "
            f"{MOST_MOMENTS / rate:g} s are scored"
        )
    return begin + np.arange(max(1, int(n))) / rate


def _must_agree(truth: MomentLabels, found: MomentLabels) -> None:
    """Hold two clocks to the same moments, or, at different rates, to the same extent."""
    n_true, n_found = len(truth.times), len(found.times)
    if (
        n_true == n_found
        and np.abs(truth.times - found.times).max() < min(truth.step, found.step) / 2
    ):
        return
    coarser = max(truth.step, found.step)
    same_rate = abs(truth.step / found.step - 1) < SAME_RATE
    apart = max(abs(truth.begin - found.begin), abs(truth.end - found.end))
    if same_rate or apart > coarser * (1 + SAME_RATE):
        raise DatasetError(
            f"its prediction has {n_found} moments, {found.begin:.2f} to {found.end:.2f} s, its "
            f"truth {n_true}, {truth.begin:.2f} to {truth.end:.2f} s; both must cover the same "
            "moments"
        )
    _must_be_whole(found)


def _must_be_whole(found: MomentLabels) -> None:
    steps = np.diff(found.times)
    if len(steps) and steps.max() > A_GAP * np.median(steps):
        at = int(steps.argmax())
        raise DatasetError(
            f"its prediction has no label between {found.times[at]:g} and "
            f"{found.times[at + 1]:g} s; expected one for every moment"
        )


def _must_lie_within(
    spans: SpanLabels, moments: MomentLabels, whose: str, whose_moments: str
) -> None:
    """Hold spans to the extent of moments; a recording's length to about a second."""
    slack = A_GAP * moments.step
    too_early, too_late = spans.begin < moments.begin - slack, spans.end > moments.end + slack
    if spans.duration is not None:
        too_early = False
        too_late = abs(spans.duration - moments.end) > max(slack, PAST_THE_END_SECONDS)
    if too_early or too_late:
        raise DatasetError(
            f"its {whose} covers {spans.begin:.2f} to {spans.end:.2f} s, its {whose_moments} "
            f"{moments.begin:.2f} to {moments.end:.2f} s; both must cover the same moments"
        )
