"""Lay a storyboard's timeline out in percent of its length, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from stepreel.report.palette import Kind, kind_of
from stepreel.report.wording import clock
from stepreel.storyboard.schema import KeyStep, Storyboard

_TICK_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200)
_MOST_TICKS = 11


@dataclass(frozen=True)
class Bar:
    """One coloured stretch; `x`, `width` and `middle` are percent."""

    x: float
    width: float
    look: str
    kind: Kind | None

    @property
    def middle(self) -> float:
        """Where its letter goes."""
        return round(self.x + self.width / 2, 3)


@dataclass(frozen=True)
class Mark:
    """The best moment of a step."""

    x: float
    step: KeyStep
    kind: Kind


@dataclass(frozen=True)
class Tick:
    """A labelled time; narrow windows show only the major ones."""

    x: float
    text: str
    is_major: bool


@dataclass(frozen=True)
class Timeline:
    """Everything to draw, in drawing order."""

    seconds: float
    bars: list[Bar]
    marks: list[Mark]
    ticks: list[Tick]


def lay_out_timeline(board: Storyboard) -> Timeline:
    """Place every stretch, moment and tick of `board`."""
    seconds = max([board.recording.duration_seconds, *(span.end for span in board.timeline)])

    def percent(moment: float) -> float:
        return round(100 * min(moment / seconds, 1), 3) if seconds else 0.0

    marks = [Mark(percent(step.time), step, kind_of(step.cluster)) for step in board.steps]
    bars = [
        Bar(
            x=percent(span.start),
            width=round(percent(span.end) - percent(span.start), 3),
            look=span.kind,
            kind=None if span.cluster is None else kind_of(span.cluster),
        )
        for span in board.timeline
    ]
    ticks = [
        Tick(percent(moment), clock(moment), is_major=number % 2 == 0)
        for number, moment in enumerate(_tick_moments(seconds))
    ]
    return Timeline(seconds, bars, marks, ticks)


def _tick_moments(seconds: float) -> list[float]:
    """Return round moments to label, at most eleven.

    >>> _tick_moments(23.0)
    [0, 5, 10, 15, 20]
    """
    wide_enough = [gap for gap in _TICK_SECONDS if seconds / gap < _MOST_TICKS]
    gap = wide_enough[0] if wide_enough else seconds / _MOST_TICKS
    return [gap * number for number in range(int(seconds / gap) + 1)] if seconds else [0]
