"""Place times on an axis: extents and ticks in percent, and one scale for several recordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.report.wording import clock

_TICK_GAPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200)
_LARGEST_SHARED_RATIO = 4
_LAST_SHARE = 0.92  # a tick after this would touch the label of the end
_LAST_MAJOR_SHARE = 0.8  # the same in a narrow window


@dataclass(frozen=True)
class Extent:
    """Where something is drawn, in percent of the axis."""

    x: float
    width: float

    @property
    def middle(self) -> float:
        """Where its label goes."""
        return round(self.x + self.width / 2, 3)


@dataclass(frozen=True)
class Tick:
    """A labelled time at `x` percent; narrow windows show only the major ones."""

    x: float
    text: str
    is_major: bool


def percent(moment: float, seconds: float) -> float:
    """Return where `moment` is on an axis of `seconds`; at most 100.

    >>> percent(5, 20), percent(21, 20), percent(0, 0)
    (25.0, 100.0, 0.0)
    """
    return round(100 * min(moment / seconds, 1.0), 3) if seconds else 0.0


def lay_out_extent(start: float, end: float, seconds: float) -> Extent:
    """Place a stretch of time on an axis of `seconds`."""
    x = percent(start, seconds)
    return Extent(x, round(percent(end, seconds) - x, 3))


def lay_out_ticks(seconds: float, *, most: int, label_end: bool = False) -> list[Tick]:
    """Label at most `most` round moments of an axis, and its end if asked to.

    >>> [tick.text for tick in lay_out_ticks(23.0, most=11)]
    ['0:00', '0:05', '0:10', '0:15', '0:20']
    >>> [tick.text for tick in lay_out_ticks(188.0, most=8, label_end=True)]
    ['0:00', '0:30', '1:00', '1:30', '2:00', '2:30', '3:08']
    """

    def count(gap: float) -> int:
        return math.ceil(seconds / gap) if label_end else math.floor(seconds / gap) + 1

    if not seconds:
        return [Tick(0.0, clock(0), is_major=True)]
    gap = next((gap for gap in _TICK_GAPS if count(gap) <= most), seconds / (most - 1))
    last, last_major = (_LAST_SHARE, _LAST_MAJOR_SHARE) if label_end else (math.inf, math.inf)
    ticks = [
        Tick(percent(moment, seconds), clock(moment), number % 2 == 0 and share < last_major)
        for number in range(count(gap))
        if (share := (moment := gap * number) / seconds) < last
    ]
    return [*ticks, Tick(100.0, clock(seconds), is_major=True)] if label_end else ticks


def shared_scale(lengths: Sequence[float]) -> list[float] | None:
    """Return each length in percent of the longest, to draw all on one scale.

    None if the shortest would become unreadable: then each takes the full width.

    >>> shared_scale([40, 20]), shared_scale([40, 2])
    ([100.0, 50.0], None)
    """
    longest = max(lengths, default=0.0)
    if not 0 < longest <= _LARGEST_SHARED_RATIO * min(lengths, default=0.0):
        return None
    return [round(100 * length / longest, 2) for length in lengths]
