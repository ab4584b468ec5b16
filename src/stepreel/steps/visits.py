"""Segments that may overlap → visits that never do: each moment belongs to one step at most."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Members = NDArray[np.int64]


def separate(
    segments: Sequence[Members], *, shortest: int, certainty: NDArray[np.floating]
) -> list[tuple[int, Members]]:
    """Cut segments where they interleave; return (segment, its moments) of every visit, in order.

    A segment with a short gap may contain moments of another segment. There it is cut into two
    visits. Flicker between two segments would leave only slivers, so a visit of fewer than
    `shortest` moments is dropped, and its neighbours are joined again if they are of the same
    segment. The shortest goes first; of equally short ones, those whose neighbours can be joined,
    and of these the least certain.

    segments   the moments of each; no moment is in two of them
    certainty  (T,) how certain it is that a moment belongs to its segment

    >>> long, other, flicker = np.array([0, 1, 5, 6]), np.array([3, 4]), np.array([2])
    >>> certain = np.ones(7)
    >>> visits = separate([long, other], shortest=2, certainty=certain)
    >>> [(segment, moments.tolist()) for segment, moments in visits]
    [(0, [0, 1]), (1, [3, 4]), (0, [5, 6])]
    >>> visits = separate([long, flicker], shortest=2, certainty=certain)
    >>> [(segment, moments.tolist()) for segment, moments in visits]
    [(0, [0, 1, 5, 6])]
    """
    if not segments:
        return []
    moments = np.concatenate(segments)
    owner = np.repeat(np.arange(len(segments)), [len(members) for members in segments])
    order = np.argsort(moments, kind="stable")
    cuts = np.flatnonzero(np.diff(owner[order])) + 1
    visits = _Visits(
        owner[order][np.concatenate([[0], cuts])], np.split(moments[order], cuts), certainty
    )
    visits.drop_short(shortest)
    return visits.remaining()


class _Visits:
    """Visits in time order as a linked list, so that dropping one is cheap."""

    def __init__(
        self,
        segment_of: NDArray[np.int64],
        members: Sequence[Members],
        certainty: NDArray[np.floating],
    ) -> None:
        self.segment_of = segment_of.tolist()
        self.parts: list[list[Members]] = [[part] for part in members]
        self.size = [len(part) for part in members]
        self.certainty = [float(certainty[part].mean()) for part in members]
        self.before = list(range(-1, len(members) - 1))
        self.after = [*range(1, len(members)), -1]

    def drop_short(self, shortest: int) -> None:
        """Drop visits of fewer than `shortest` moments; see `separate` for the order."""
        waiting = [self._rank(visit) for visit, size in enumerate(self.size) if size < shortest]
        heapq.heapify(waiting)
        while waiting:
            rank = heapq.heappop(waiting)
            visit = rank[-1]
            if not self.size[visit]:  # dropped, or joined with another
                continue
            if (now := self._rank(visit)) != rank:  # its size or its neighbours have changed
                if self.size[visit] < shortest:
                    heapq.heappush(waiting, now)
                continue
            before, after = self.before[visit], self.after[visit]
            can_join = self._can_join(visit)
            self._unlink(visit)
            if can_join:
                self._join(before, after)
            for neighbour in (before, after):
                if neighbour >= 0 and 0 < self.size[neighbour] < shortest:
                    heapq.heappush(waiting, self._rank(neighbour))

    def _rank(self, visit: int) -> tuple[int, bool, float, int]:
        return self.size[visit], not self._can_join(visit), self.certainty[visit], visit

    def _can_join(self, visit: int) -> bool:
        before, after = self.before[visit], self.after[visit]
        return min(before, after) >= 0 and bool(self.segment_of[before] == self.segment_of[after])

    def _join(self, visit: int, following: int) -> None:
        """Add the following visit, of the same segment, to a visit."""
        sizes = self.size[visit], self.size[following]
        certainties = self.certainty[visit], self.certainty[following]
        self.certainty[visit] = float(np.average(certainties, weights=sizes))
        self.parts[visit] += self.parts[following]
        self._unlink(following)
        self.size[visit] = sum(sizes)

    def _unlink(self, visit: int) -> None:
        before, after = self.before[visit], self.after[visit]
        if before >= 0:
            self.after[before] = after
        if after >= 0:
            self.before[after] = before
        self.size[visit] = 0

    def remaining(self) -> list[tuple[int, Members]]:
        return [
            (self.segment_of[visit], np.concatenate(self.parts[visit]))
            for visit in range(len(self.size))
            if self.size[visit]
        ]
