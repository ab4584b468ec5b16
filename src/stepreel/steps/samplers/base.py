"""What a sampler is: a function from the steps of one recording to those that are shown.

It is asked only if there is a limit on their number or on their time, and not everything fits. The
smallest sampler shows the longest steps:

    def choose(candidates):
        return candidates.take(np.argsort(-candidates.seconds, kind="stable"))

    SAMPLER = Sampler(choose, shows="the longest ones", api_version=1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stepreel.steps.key_steps import Segment
from stepreel.types import Recording

Values = NDArray[np.float64]

ROUNDING = 1e-6  # seconds by which a budget may be exceeded


@dataclass(frozen=True)
class Candidates:
    """The steps of one recording, in time order, and how many of them can be shown.

    segments          they have `confidence`, and `distance` to the centre of their cluster
    seconds           (n,) how long each lasts
    moment_features   returns the features of all moments (T, D), all cues together: z-scored, and
                      projected onto a few dimensions; called only if a sampler asks
    top               at most so many are shown; None: any number
    budget_seconds    together they may last so long; None: any time
    limited_by_page   whether `top` is only what a page can carry, and nobody asked for it
    """

    segments: Sequence[Segment]
    seconds: Values
    moment_features: Callable[[], Values]
    top: int | None = None
    budget_seconds: float | None = None
    limited_by_page: bool = False

    @cached_property
    def features(self) -> Values:
        """(n, D) mean of the features of every step's moments."""
        features = self.moment_features()
        return np.stack([features[segment.members].mean(axis=0) for segment in self.segments])

    def take(self, order: Sequence[int] | NDArray[np.int64]) -> list[int]:
        """Go through positions of segments in some order, and take what still fits.

        If only the page limits them, the first one of every kind comes before all others.

        >>> segments = [Segment(0, np.arange(3), 0, 0.0, 0.0)] * 3
        >>> seconds = np.array([4.0, 3.0, 1.0])
        >>> Candidates(segments, seconds, lambda: np.eye(3), budget_seconds=5.0).take([0, 1, 2])
        [0, 2]
        """
        order = [int(position) for position in order]
        if self.limited_by_page:
            first = {self.segments[position].cluster: position for position in reversed(order)}
            order.sort(key=lambda position: first[self.segments[position].cluster] != position)
        chosen: list[int] = []
        left = np.inf if self.budget_seconds is None else self.budget_seconds + ROUNDING
        for position in order:
            if self.top is not None and len(chosen) == self.top:
                break
            if self.seconds[position] <= left:
                chosen.append(position)
                left -= self.seconds[position]
        return chosen


Choose = Callable[[Candidates], Sequence[int]]


@dataclass(frozen=True)
class Sampler:
    """A way to choose the steps that are shown.

    choose       returns the positions of the segments to show, in any order
    shows        which ones these are, for a note of the storyboard: "the longest ones"
    title        what it does, in a few words
    api_version  version of this contract that a sampler of another package was written for
    """

    choose: Choose
    shows: str
    title: str = ""
    api_version: int | None = None


def seconds_of(segments: Sequence[Segment], recording: Recording) -> Values:
    """Return how long every segment lasts, from its first moment to the end of its last one.

    The last moment of a recording ends with the recording, as it does in the storyboard.
    """
    times, last = recording.times, len(recording.times) - 1
    first_moments = np.array([segment.members[0] for segment in segments], np.int64)
    last_moments = np.array([segment.members[-1] for segment in segments], np.int64)
    ends = times[last_moments] + recording.moment_seconds
    final = max(recording.duration_seconds, float(times[last])) if last >= 0 else 0.0
    seconds: Values = np.where(last_moments == last, final, ends) - times[first_moments]
    return seconds
