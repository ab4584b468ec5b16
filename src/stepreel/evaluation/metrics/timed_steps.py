"""True steps and shown steps of one recording, in seconds: what a storyboard is compared with.

Moments last until the next one, the last one as long as is usual. All intervals are half-open: a
moment at the end of a step is outside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepreel.evaluation.metrics.segments import LabelRuns
from stepreel.evaluation.truth.annotation import BACKGROUND, NO_STEP
from stepreel.types import Labels, Seconds, moment_seconds


@dataclass(frozen=True)
class TimedSegments:
    """Runs of one label in time order: when each starts and ends, and its label.

    starts, ends  (S,) in seconds
    ids           (S,)
    """

    starts: Seconds
    ends: Seconds
    ids: Labels

    def __len__(self) -> int:
        return len(self.ids)


def true_segments(labels: Labels, times: Seconds) -> TimedSegments:
    """Return the maximal runs of one key step; background is left out.

    >>> true_segments(np.array([0, 2, 2, 1]), np.arange(4.0))
    TimedSegments(starts=array([1., 3.]), ends=array([3., 4.]), ids=array([2, 1]))
    """
    return _segments(labels, times, left_out=BACKGROUND)


def _segments(labels: Labels, times: Seconds, *, left_out: int) -> TimedSegments:
    runs = LabelRuns.of(labels, left_out=left_out)
    edges = np.append(times, times[-1] + moment_seconds(times))
    return TimedSegments(edges[runs.starts], edges[runs.stops], runs.labels)


@dataclass(frozen=True)
class TrueSteps:
    """What really happened in a recording from `start` to `end`.

    times     (T,) the moments that are labelled
    segments  the true steps
    borders   (B,) every change of label, to background and from it too; the recording's own start
              and end are none
    """

    start: float
    end: float
    times: Seconds
    segments: TimedSegments
    borders: Seconds

    @classmethod
    def of_labels(cls, labels: Labels, times: Seconds) -> TrueSteps:
        """Take the true id of every moment, 0 for background."""
        return cls(
            start=float(times[0]),
            end=float(times[-1]) + moment_seconds(times),
            times=times,
            segments=true_segments(labels, times),
            borders=times[1:][np.diff(labels) != 0],
        )

    @property
    def seconds(self) -> float:
        """How long the recording is."""
        return self.end - self.start


@dataclass(frozen=True)
class ShownSteps:
    """The steps that a storyboard shows, by their start: where each begins and ends, its moment.

    starts, ends, moments  (N,) in seconds; steps may overlap, and may be there twice
    """

    starts: Seconds
    ends: Seconds
    moments: Seconds

    @classmethod
    def of_steps(cls, steps: Sequence[tuple[float, float, float]]) -> ShownSteps:
        """Take the start, the end and the moment of every step, in any order."""
        in_order = np.array(sorted(steps), np.float64).reshape(-1, 3)
        return cls(in_order[:, 0], in_order[:, 1], in_order[:, 2])

    @classmethod
    def of_labels(cls, labels: Labels, times: Seconds) -> ShownSteps:
        """Show every run of one cluster by its middle; runs of -1 are no steps.

        >>> ShownSteps.of_labels(np.array([-1, 0, 0, 3]), np.arange(4.0)).moments
        array([2. , 3.5])
        """
        runs = _segments(labels, times, left_out=NO_STEP)
        return cls(runs.starts, runs.ends, (runs.starts + runs.ends) / 2)

    def __len__(self) -> int:
        return len(self.moments)
