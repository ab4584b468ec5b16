"""The steps of one recording while they are changed to meet what a person demands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stepreel.config import KeyStepSettings
from stepreel.errors import ConstraintError
from stepreel.steps.extents import Extents
from stepreel.steps.key_steps import KeySteps, Segment, segment_of, shortest_step
from stepreel.types import Clustering, Recording

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
    """The segments of one recording, in time order, while they are changed.

    A segment's extent is what a reader sees as the step: from its first moment to its last one.
    Moments inside that were trimmed or excluded are not among its members.
    """

    def __init__(
        self,
        key_steps: KeySteps,
        clustering: Clustering,
        recording: Recording,
        settings: KeyStepSettings,
        moment_features: Callable[[], Values],
    ) -> None:
        self.clustering = clustering
        self.extents = Extents(recording)
        self.settings = settings
        pairs = [*settings.same, *settings.different]
        times = {*settings.contains, *(time for pair in pairs for time in pair)}
        self.demanded = {self.extents.moment_at(time, "") for time in times}
        self.moment_features = moment_features
        self.shortest = max(1, shortest_step(settings, moment_seconds=recording.moment_seconds))
        # If every segment is too short, the longest one is there nevertheless; here it is dropped.
        long = [s for s in key_steps.segments if len(s.members) >= self.shortest]
        self.segments = sorted(long, key=_first)
        gaps = np.flatnonzero(np.diff(recording.times) > settings.split_gap_seconds) + 1
        self.stretches = np.array([0, *gaps, len(recording.times)])  # between gaps in time
        self.next_kind = (
            max([clustering.n_clusters - 1, *(segment.cluster for segment in self.segments)]) + 1
        )

    def at(self, time: float) -> int:
        """Return the segment at a time that has one."""
        position = self._position(self.extents.moment_at(time, ""))
        assert position is not None, f"no step at {time:g} s"
        return position

    def _position(self, moment: int) -> int | None:
        """Return the segment whose extent contains a moment; None if there is none."""
        position = bisect_right(self.segments, moment, key=_first) - 1
        is_inside = position >= 0 and moment <= _last(self.segments[position])
        return position if is_inside else None

    def require(self, time: float, option: str) -> None:
        """Make a segment at a time, if there is none."""
        moment = self.extents.moment_at(time, option)
        if self._position(moment) is not None:
            return
        before, after = self._free_around(moment)
        kind = int(self.clustering.labels[moment])
        others = np.flatnonzero(self.clustering.labels[before : after + 1] != kind) + before
        place = int(np.searchsorted(others, moment))
        first = int(others[place - 1]) + 1 if place else before
        last = int(others[place]) - 1 if place < len(others) else after
        while last - first + 1 < self.shortest and (first > before or last < after):
            first, last = max(before, first - 1), min(after, last + 1)
        if (missing := self.shortest - (last - first + 1)) > 0:  # then all that is free is taken
            first -= self._spare_before(first, missing)
        if (missing := self.shortest - (last - first + 1)) > 0:
            last += self._spare_after(last, missing)
        if last - first + 1 < self.shortest:
            raise ConstraintError(
                f"{option} {time:g}: no step of {self.settings.min_step_seconds:g} s (--shortest) "
                "fits there between its neighbours and other demanded moments"
            )
        self._insert(self._segment(kind, np.arange(first, last + 1)))

    def _free_around(self, moment: int) -> tuple[int, int]:
        """Return the first and last moment around a free one without a segment or a gap in time."""
        position = bisect_right(self.segments, moment, key=_first)
        before = _last(self.segments[position - 1]) + 1 if position else 0
        is_last = position == len(self.segments)
        after = len(self.extents.times) if is_last else _first(self.segments[position])
        stretch = int(np.searchsorted(self.stretches, moment, side="right"))
        return (
            max(before, int(self.stretches[stretch - 1])),
            min(after, int(self.stretches[stretch])) - 1,
        )

    def _spare_before(self, first: int, missing: int) -> int:
        """Take up to so many moments from the segment that ends before `first`; say how many."""
        position = self._position(first - 1)
        if position is None or first in self.stretches:
            return 0
        members = self.segments[position].members
        spared = first - 1 - max([int(members[0]), *self._demanded(members)])
        for number in range(min(missing, spared), 0, -1):
            left, _ = parts_of(members, first - number)
            if len(left) >= self.shortest:
                self._change(position, left)
                return number
        return 0

    def _spare_after(self, last: int, missing: int) -> int:
        """Take up to so many moments from the segment that starts after `last`; say how many."""
        position = self._position(last + 1)
        if position is None or last + 1 in self.stretches:
            return 0
        members = self.segments[position].members
        spared = min([int(members[-1]), *self._demanded(members)]) - last - 1
        for number in range(min(missing, spared), 0, -1):
            _, left = parts_of(members, last + 1 + number)
            if len(left) >= self.shortest:
                self._change(position, left)
                return number
        return 0

    def _demanded(self, members: Members) -> list[int]:
        """Return the moments of an extent that something is demanded of; they stay in it."""
        return [moment for moment in self.demanded if members[0] <= moment <= members[-1]]

    def part(self, a: float, b: float) -> None:
        """Cut the segment that contains both moments between them, where most changes."""
        self.require(a, "--different")
        self.require(b, "--different")
        here = self.at(a)
        if here != self.at(b):
            return
        first, last = sorted(self.extents.moment_at(time, "--different") for time in (a, b))
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
            kind = self.segments[min(group)].cluster
            for position in group:
                self.segments[position] = replace(self.segments[position], cluster=kind)
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
            for here, there in pairwise(sorted(group)):
                edge = _first(self.segments[there])
                if edge == _last(self.segments[here]) + 1 and edge not in self.stretches:
                    return here, there
        return None

    def tell_apart(self, a: float, b: float) -> None:
        """Give the later of two segments of one kind, and what is the same step, a new kind."""
        here, there = self.at(a), self.at(b)
        groups = self._joined()
        if any(here in group and there in group for group in groups):
            raise ConstraintError(
                f"--different {a:g},{b:g}: --same makes the steps there one and the same"
            )
        assert here != there, "they were cut apart, and only --same joins steps again"
        if self.segments[here].cluster != self.segments[there].cluster:
            return
        new = self._new_kind()
        for position in {there}.union(*(group for group in groups if there in group)):
            self.segments[position] = replace(self.segments[position], cluster=new)

    def have(self, at_least: int) -> None:
        """Cut the longest segments where most changes, until there are enough."""
        while len(self.segments) < at_least:
            most = sum(len(segment.members) // self.shortest for segment in self.segments)
            spare = max(0, most - at_least)
            longest = sorted(
                range(len(self.segments)), key=lambda n: -len(self.segments[n].members)
            )
            for position in longest:
                segment = self.segments[position]
                cut = self._best_cut(segment, _first(segment) + 1, _last(segment), spare=spare)
                if cut is not None:
                    self._cut(position, cut, kind=segment.cluster)
                    break
            else:
                raise ConstraintError(
                    f"--at-least {at_least}: only {len(self.segments)} steps of "
                    f"{self.settings.min_step_seconds:g} s or more (--shortest) fit"
                )

    def _best_cut(
        self, segment: Segment, first: int, last: int, *, spare: int | None = None
    ) -> int | None:
        """Return the moment in first..last before which most changes; None if parts are short.

        Of all places to cut it is the one with the greatest variance between the two parts.

        spare  by how many fewer the parts may be cut into than the segment; None: any number
        """
        members, moments = segment.members, np.arange(first, last + 1)
        before = np.searchsorted(members, moments)  # so many members are in the first part
        length = before + moments - 1 - members[before - 1]  # with moments between the parts
        other_length = len(members) - before + members[before] - moments
        is_long = np.minimum(length, other_length) >= self.shortest
        if spare is not None:
            fit = length // self.shortest + other_length // self.shortest
            is_long &= fit + spare >= len(members) // self.shortest
        moments, before = moments[is_long], before[is_long]
        if not len(moments):
            return None
        features = self.moment_features()[members]
        sums = (features - features.mean(axis=0)).cumsum(axis=0)[before - 1]
        changes = np.square(sums).sum(axis=1) / (before * (len(members) - before))
        return int(moments[np.argmax(changes)])

    def _cut(self, position: int, moment: int, *, kind: int) -> None:
        segment = self.segments[position]
        before, after = parts_of(segment.members, moment)
        self._change(position, before)
        self._insert(self._segment(kind, after, segment.confidence))

    def _change(self, position: int, members: Members) -> None:
        segment = self.segments[position]
        self.segments[position] = self._segment(segment.cluster, members, segment.confidence)

    def _insert(self, segment: Segment) -> None:
        position = bisect_right(self.segments, _first(segment), key=_first)
        self.segments.insert(position, segment)

    def _new_kind(self) -> int:
        self.next_kind += 1
        return self.next_kind - 1

    def _segment(self, kind: int, members: Members, confidence: float = 0.0) -> Segment:
        """Return moments as a segment; those that were left out do not stand for it."""
        kept = members[self.clustering.kept[members]]
        segment = segment_of(self.clustering, kind, kept if len(kept) else members)
        return replace(segment, members=members, confidence=confidence)


def parts_of(members: Members, moment: int) -> tuple[Members, Members]:
    """Cut before a moment; both parts get the moments up to there, so that nothing is uncovered.

    >>> [part.tolist() for part in parts_of(np.array([0, 1, 5, 6]), 3)]
    [[0, 1, 2], [3, 4, 5, 6]]
    """
    n_before = int(np.searchsorted(members, moment))
    before, after = members[:n_before], members[n_before:]
    return (
        np.concatenate([before, np.arange(before[-1] + 1, moment)]),
        np.concatenate([np.arange(moment, after[0]), after]),
    )


def _first(segment: Segment) -> int:
    return int(segment.members[0])


def _last(segment: Segment) -> int:
    return int(segment.members[-1])
