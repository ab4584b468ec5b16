"""Segments that may overlap → visits that never do: each moment belongs to one step at most."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Members = NDArray[np.int64]


def separate(segments: Sequence[Members], *, shortest: int) -> list[tuple[int, Members]]:
    """Cut segments where they interleave; return (segment, its moments) of every visit, in order.

    A segment with a short gap may contain moments of another segment. There it is cut into two
    visits. Flicker between two segments would leave only slivers, so a visit of fewer than
    `shortest` moments is dropped, the shortest first, and its neighbours are joined again if they
    are of the same segment.

    segments  the moments of each; no moment is in two of them

    >>> long, other, flicker = np.array([0, 1, 5, 6]), np.array([3, 4]), np.array([2])
    >>> [(s, moments.tolist()) for s, moments in separate([long, other], shortest=2)]
    [(0, [0, 1]), (1, [3, 4]), (0, [5, 6])]
    >>> [(s, moments.tolist()) for s, moments in separate([long, flicker], shortest=2)]
    [(0, [0, 1, 5, 6])]
    """
    if not segments:
        return []
    moments = np.concatenate(segments)
    owner = np.repeat(np.arange(len(segments)), [len(members) for members in segments])
    order = np.argsort(moments, kind="stable")
    cuts = np.flatnonzero(np.diff(owner[order])) + 1
    visits = _Visits(owner[order][np.concatenate([[0], cuts])], np.split(moments[order], cuts))
    visits.drop_short(shortest)
    return visits.remaining()


class _Visits:
    """Visits in time order as a linked list, so that dropping one is cheap."""

    def __init__(self, segment_of: NDArray[np.int64], members: Sequence[Members]) -> None:
        self.segment_of = segment_of.tolist()
        self.parts: list[list[Members]] = [[part] for part in members]
        self.size = [len(part) for part in members]
        self.before = list(range(-1, len(members) - 1))
        self.after = [*range(1, len(members)), -1]

    def drop_short(self, shortest: int) -> None:
        """Drop visits of fewer than `shortest` moments, the shortest and earliest first."""
        waiting = [(size, visit) for visit, size in enumerate(self.size) if size < shortest]
        heapq.heapify(waiting)
        while waiting:
            size, visit = heapq.heappop(waiting)
            if self.size[visit] != size:  # dropped, or joined with another since
                continue
            before, after = self.before[visit], self.after[visit]
            self._unlink(visit)
            if before >= 0 and after >= 0 and self.segment_of[before] == self.segment_of[after]:
                self.parts[before] += self.parts[after]
                self.size[before] += self.size[after]
                self._unlink(after)
                if self.size[before] < shortest:
                    heapq.heappush(waiting, (self.size[before], before))

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
