"""Lay a storyboard's timeline out in percent of its length, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from stepreel.report.palette import Kind, kind_of
from stepreel.report.scale import Extent, Tick, lay_out_extent, lay_out_ticks, percent
from stepreel.storyboard.schema import KeyStep, Storyboard

_MOST_TICKS = 11


@dataclass(frozen=True)
class Bar:
    """One coloured stretch."""

    extent: Extent
    look: str
    kind: Kind | None


@dataclass(frozen=True)
class Mark:
    """The best moment of a step."""

    x: float
    step: KeyStep
    kind: Kind


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
    marks = [Mark(percent(step.time, seconds), step, kind_of(step.cluster)) for step in board.steps]
    bars = [
        Bar(
            lay_out_extent(span.start, span.end, seconds),
            look=span.kind,
            kind=None if span.cluster is None else kind_of(span.cluster),
        )
        for span in board.timeline
    ]
    return Timeline(seconds, bars, marks, lay_out_ticks(seconds, most=_MOST_TICKS))
