"""The steps of one recording while they are changed to meet what a person demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stepreel.config import KeyStepSettings
from stepreel.errors import ConstraintError, SettingsError
from stepreel.steps.key_steps import KeySteps, Segment, segment_of, shortest_step
from stepreel.types import Clustering, Labels, Recording

T = TypeVar("T")
Values = NDArray[np.float64]
Members = NDArray[np.int64]


def groups_of(pairs: Sequence[tuple[T, T]]) -> list[set[T]]:
    """Join pairs that share a member.

    >>> groups_of([(1, 2), (3, 4), (2, 5)])
    [{3, 4}, {1, 2, 5}]
    """
    groups: list[set[T]] = []
    for pair in pairs:
        touching = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if not group & set(pair)]
        groups.append(set(pair).union(*touching))
    return groups


class Draft:
    """The segments of one recording while they are changed."""

    def __init__(
        self,
        key_steps: KeySteps,
        clustering: Clustering,
        recording: Recording,
        settings: KeyStepSettings,
        moment_features: Callable[[], Values],
    ) -> None:
        self.segments = list(key_steps.segments)
        self.clustering = clustering
        self.recording = recording
        self.settings = settings
        self.moment_features = moment_features
        self.shortest = max(1, shortest_step(settings, moment_seconds=recording.moment_seconds))
        self.next_kind = (
            max([clustering.n_clusters - 1, *(segment.cluster for segment in self.segments)]) + 1
        )

    def moment(self, time: float, option: str) -> int:
        """Return the moment at a time; SettingsError if the recording does not have it."""
        if not 0 <= time < self.recording.duration_seconds:
            raise SettingsError(
                f"{option} {time:g}: the recording lasts {self.recording.duration_seconds:.1f} s; "
                "expected a moment of it, in seconds"
            )
        return max(0, int(np.searchsorted(self.recording.times, time, side="right")) - 1)

    def at(self, time: float) -> int:
        """Return the segment at a time that has one."""
        return int(self._owner()[self.moment(time, "")])

    def _owner(self) -> Labels:
        owner = np.full(len(self.recording.times), -1, np.int64)
        for number, segment in enumerate(self.segments):
            owner[segment.members[0] : segment.members[-1] + 1] = number
        return owner

    def require(self, time: float, option: str) -> int:
        """Return the segment at a time; make one if there is none."""
        moment = self.moment(time, option)
        owner = self._owner()
        if owner[moment] >= 0:
            return int(owner[moment])
        first, last = moment, moment
        labels = self.clustering.labels
        kind = int(labels[moment])

        def is_free(n: int) -> bool:
            return 0 <= n < len(owner) and bool(owner[n] < 0)

        while is_free(first - 1) and labels[first - 1] == kind:
            first -= 1
        while is_free(last + 1) and labels[last + 1] == kind:
            last += 1
        while last - first + 1 < self.shortest and (is_free(first - 1) or is_free(last + 1)):
            first, last = first - is_free(first - 1), last + is_free(last + 1)
        for side in (-1, 1):  # a little of a neighbour that can spare it
            while last - first + 1 < self.shortest and self._spare(first, last, side):
                first, last = (first - 1, last) if side < 0 else (first, last + 1)
        if last - first + 1 < self.shortest:
            raise ConstraintError(
                f"{option} {time:g}: no step of {self.settings.min_step_seconds:g} s (--shortest) "
                "fits there between its neighbours"
            )
        self.segments.append(self._segment(kind, np.arange(first, last + 1)))
        return len(self.segments) - 1

    def _spare(self, first: int, last: int, side: int) -> bool:
        """Take one moment from the segment beside first..last, if that stays long enough."""
        moment = first - 1 if side < 0 else last + 1
        owner = self._owner()
        if not 0 <= moment < len(owner) or owner[moment] < 0:
            return False
        number = int(owner[moment])
        segment = self.segments[number]
        left = segment.members[segment.members != moment]
        if len(left) < self.shortest or moment not in (segment.members[0], segment.members[-1]):
            return False
        self.segments[number] = self._segment(segment.cluster, left, segment.confidence)
        return True

    def part(self, a: float, b: float) -> None:
        """Cut the segment that contains both moments between them, where most changes."""
        here, there = self.require(a, "--different"), self.require(b, "--different")
        if here != there:
            return
        first, last = sorted((self.moment(a, ""), self.moment(b, "")))
        cut = self._best_cut(self.segments[here], first + 1, last)
        if cut is None:
            raise ConstraintError(
                f"--different {a:g},{b:g}: they are in one step, and cut between them one part "
                f"would be shorter than {self.settings.min_step_seconds:g} s (--shortest)"
            )
        self._cut(here, cut, kind=self._new_kind())

    def _joined(self) -> list[set[int]]:
        """Return groups of segments that are called the same step."""
        return groups_of([(self.at(a), self.at(b)) for a, b in self.settings.same])

    def join(self) -> None:
        """Give segments that are called the same step one kind; those that touch become one."""
        for group in self._joined():
            first = min(group, key=lambda number: int(self.segments[number].members[0]))
            kind = self.segments[first].cluster
            for number in group:
                self.segments[number] = replace(self.segments[number], cluster=kind)
        while touching := self._touching():
            here, there = touching
            one, other = self.segments[here], self.segments[there]
            members = np.concatenate([one.members, other.members])
            confidence = max(one.confidence, other.confidence)
            self.segments[here] = self._segment(one.cluster, members, confidence)
            del self.segments[there]

    def _touching(self) -> tuple[int, int] | None:
        """Return two neighbours without a gap that are called the same step."""
        for group in self._joined():
            order = sorted(group, key=lambda number: int(self.segments[number].members[0]))
            for here, there in pairwise(order):
                if self.segments[there].members[0] == self.segments[here].members[-1] + 1:
                    return here, there
        return None

    def tell_apart(self, a: float, b: float) -> None:
        """Give the later of two segments of one kind, and what is the same step, a new kind."""
        here, there = self.at(a), self.at(b)
        groups = self._joined()
        if here == there or any(here in group and there in group for group in groups):
            raise ConstraintError(
                f"--different {a:g},{b:g}: --same makes the steps there one and the same"
            )
        if self.segments[here].cluster != self.segments[there].cluster:
            return
        new = self._new_kind()
        for number in {there}.union(*(group for group in groups if there in group)):
            self.segments[number] = replace(self.segments[number], cluster=new)

    def have(self, at_least: int) -> None:
        """Cut the longest segments where most changes, until there are enough."""
        while len(self.segments) < at_least:
            longest = sorted(
                range(len(self.segments)), key=lambda n: -len(self.segments[n].members)
            )
            for number in longest:
                members = self.segments[number].members
                cut = self._best_cut(self.segments[number], int(members[0]) + 1, int(members[-1]))
                if cut is not None:
                    self._cut(number, cut, kind=self.segments[number].cluster)
                    break
            else:
                raise ConstraintError(
                    f"--at-least {at_least}: only {len(self.segments)} steps of "
                    f"{self.settings.min_step_seconds:g} s or more (--shortest) fit"
                )

    def _best_cut(self, segment: Segment, first: int, last: int) -> int | None:
        """Return the moment in first..last before which most changes; None if parts are short."""
        members = segment.members
        places = [
            n
            for n in range(self.shortest, len(members) - self.shortest + 1)
            if first <= members[n] <= last
        ]
        if not places:
            return None
        features = self.moment_features()[members]
        changes = [
            float(np.square(features[:n].mean(axis=0) - features[n:].mean(axis=0)).sum())
            * n
            * (len(members) - n)
            for n in places
        ]
        return int(members[places[int(np.argmax(changes))]])

    def _cut(self, number: int, moment: int, *, kind: int) -> None:
        segment = self.segments[number]
        before = segment.members[segment.members < moment]
        after = segment.members[segment.members >= moment]
        self.segments[number] = self._segment(segment.cluster, before, segment.confidence)
        self.segments.append(self._segment(kind, after, segment.confidence))

    def _new_kind(self) -> int:
        self.next_kind += 1
        return self.next_kind - 1

    def _segment(self, kind: int, members: Members, confidence: float = 0.0) -> Segment:
        return replace(segment_of(self.clustering, kind, members), confidence=confidence)
