"""The timelines of takes, one lane each, in three layouts: by time, by share of time, by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.comparison.schema import ComparedTake, Comparison, Visit
from stepreel.report.palette import Kind, kind_of
from stepreel.report.scale import Extent, Tick, lay_out_extent, lay_out_ticks

Slot = tuple[int, int]

_MOST_TICKS = 9
_GAP = 0.12  # of a column, between columns


@dataclass(frozen=True)
class LaneBar:
    """One visit; `place` is its number in the take, from 0."""

    place: int
    visit: Visit
    kind: Kind
    by_time: Extent
    by_share: Extent
    by_step: Extent

    @property
    def extents(self) -> str:
        """All three layouts, as the page's script reads them."""
        extents = (self.by_time, self.by_share, self.by_step)
        return " ".join(f"{extent.x} {extent.width}" for extent in extents)


@dataclass(frozen=True)
class Hole:
    """A usual step that a take does not do in its place."""

    kind: Kind
    by_step: Extent


@dataclass(frozen=True)
class Lane:
    """One take; `length` is its end in each layout, in percent."""

    bars: list[LaneBar]
    holes: list[Hole]
    length: float


@dataclass(frozen=True)
class Lanes:
    """All takes, and the axes above them."""

    lanes: list[Lane]
    ticks: list[Tick]
    columns: list[tuple[Kind, Extent]]
    n_columns: int


def lay_out_lanes(comparison: Comparison) -> Lanes:
    """Place every visit of every take in all three layouts."""
    takes = comparison.takes
    ends = [max([take.duration_seconds, *(visit.end for visit in take.visits)]) for take in takes]
    slots = [_slots(take.visits) for take in takes]
    columns = _Columns(len(comparison.usual_order), slots)
    return Lanes(
        lanes=[
            _lane(comparison, take, end, max(ends), columns, of_take)
            for take, end, of_take in zip(takes, ends, slots, strict=True)
        ],
        ticks=lay_out_ticks(max(ends), most=_MOST_TICKS),
        columns=[
            (kind_of(kind), columns.of((place, -1)))
            for place, kind in enumerate(comparison.usual_order, start=1)
        ],
        n_columns=columns.count,
    )


def _lane(
    comparison: Comparison,
    take: ComparedTake,
    end: float,
    longest: float,
    columns: _Columns,
    slots: Sequence[Slot],
) -> Lane:
    bars = [
        LaneBar(
            place,
            visit,
            kind_of(visit.cluster),
            lay_out_extent(visit.start, visit.end, longest),
            lay_out_extent(visit.start, visit.end, end),
            columns.of(slot),
        )
        for place, (visit, slot) in enumerate(zip(take.visits, slots, strict=True))
    ]
    in_place = {visit.usual_place for visit in take.visits if visit.role == "usual"}
    holes = [
        Hole(kind_of(kind), columns.of((place, -1)))
        for place, kind in enumerate(comparison.usual_order, start=1)
        if place not in in_place
    ]
    return Lane(bars, holes, lay_out_extent(0, end, longest).width)


class _Columns:
    """Columns for steps that are aligned: one per usual step, and between them as many as needed.

    count  how many there are
    """

    def __init__(self, n_usual: int, takes: Sequence[Sequence[Slot]]) -> None:
        between = [0] * (n_usual + 1)
        for place, number in (slot for slots in takes for slot in slots):
            between[place] = max(between[place], number + 1)
        # Before the first usual step there is no column for a usual one.
        self.starts = [0]
        for width in between[:-1]:
            self.starts.append(self.starts[-1] + width + (len(self.starts) > 1))
        self.count = max(n_usual + sum(between), 1)

    def of(self, slot: Slot) -> Extent:
        """Return where a slot is drawn."""
        place, number = slot
        column = self.starts[place] + number + (1 if place else 0)
        return Extent(
            round(100 * (column + _GAP / 2) / self.count, 3),
            round(100 * (1 - _GAP) / self.count, 3),
        )


def _slots(visits: Sequence[Visit]) -> list[Slot]:
    """Return where the visits of a take go when they are aligned by step.

    A usual one: its place, from 1, and -1. Another: after which place it comes, 0 being before the
    first, and its number there, from 0.
    """
    slots: list[Slot] = []
    gap = number = 0
    for visit in visits:
        if visit.role == "usual" and visit.usual_place is not None:
            gap, number = visit.usual_place, 0
            slots.append((gap, -1))
        else:
            slots.append((gap, number))
            number += 1
    return slots


def bar_words(visit: Visit) -> list[str]:
    """Return what is unusual about a visit, in words."""
    roles = {"moved": "in another place than usual", "repeated": "repeated", "added": "not usual"}
    words = [roles[visit.role]] if visit.role in roles else []
    return [*words, "uncertain"] if visit.is_clear is False else words
