"""When moments and segments start and end, as a reader sees them in a storyboard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepreel.errors import SettingsError
from stepreel.steps.key_steps import Segment
from stepreel.types import Recording

DIGITS = 3  # a storyboard has milliseconds
MISSING = 1.5  # of the usual time from one moment to the next: then one is missing between them


class Extents:
    """The times of the moments of one recording."""

    def __init__(self, recording: Recording) -> None:
        self.times = recording.times
        self.moment_seconds = recording.moment_seconds
        self.duration_seconds = recording.duration_seconds

    def start_of(self, moment: int) -> float:
        """Return when a moment starts."""
        return round(float(self.times[moment]), DIGITS)

    def end_of(self, moment: int) -> float:
        """Return when a moment ends; the last one lasts until the recording ends."""
        if moment == len(self.times) - 1:
            return round(max(self.duration_seconds, float(self.times[moment])), DIGITS)
        return round(float(self.times[moment]) + self.moment_seconds, DIGITS)

    def moment_at(self, time: float, option: str) -> int:
        """Return the moment at a time; SettingsError if nothing was recorded then.

        Times that are not quite regular leave less than a moment between two: it is the earlier's.
        """
        n_moments = len(self.times)
        if not n_moments or not 0 <= time < self.end_of(n_moments - 1):
            raise SettingsError(
                f"{option} {time:g}: the recording lasts {self.duration_seconds:.1f} s; "
                "expected a moment of it, in seconds"
            )
        moment = int(np.searchsorted(self.times, time + 10.0**-DIGITS, side="right")) - 1
        while moment >= 0 and self.start_of(moment) > time:
            moment -= 1
        if moment < 0 or (self._is_followed_by_a_gap(moment) and time >= self.end_of(moment)):
            before = 0.0 if moment < 0 else self.end_of(moment)
            raise SettingsError(
                f"{option} {time:g}: nothing was recorded from {before:g} s to "
                f"{self.start_of(moment + 1):g} s; expected a moment before or after that"
            )
        return moment

    def _is_followed_by_a_gap(self, moment: int) -> bool:
        if moment == len(self.times) - 1:
            return False
        return bool(self.times[moment + 1] - self.times[moment] > MISSING * self.moment_seconds)

    def segment_at(self, segments: Sequence[Segment], time: float) -> Segment | None:
        """Return the segment whose extent contains a time; of two, the one that starts later."""
        at_time = [
            segment
            for segment in segments
            if self.start_of(segment.members[0]) <= time < self.end_of(segment.members[-1])
        ]
        return max(at_time, key=lambda segment: int(segment.members[0]), default=None)
