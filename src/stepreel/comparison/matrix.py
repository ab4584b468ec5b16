"""The table of pictures: a row per kind of step, a column per take."""

from __future__ import annotations

from dataclasses import dataclass

from stepreel.comparison.schema import ComparedKind, ComparedTake, Comparison, Visit
from stepreel.report.palette import Kind, kind_of


@dataclass(frozen=True)
class Cell:
    """A kind in a take; without visits, the take does not do it.

    visits  places of the visits in the take, from 0, and the visits
    main    the visit that the picture shows
    pace    slow or quick; else empty
    """

    take: int
    visits: list[tuple[int, Visit]]
    pace: str

    @property
    def main(self) -> tuple[int, Visit]:
        """Return the visit in its usual place that lasts longest; otherwise the longest."""
        return max(self.visits, key=lambda one: (one[1].role == "usual", one[1].seconds))

    @property
    def seconds(self) -> float:
        """How long all visits last."""
        return sum(visit.seconds for _, visit in self.visits)

    @property
    def is_uncertain(self) -> bool:
        """Whether no visit is clear."""
        return all(visit.is_clear is False for _, visit in self.visits)


@dataclass(frozen=True)
class Row:
    """A kind of step in all takes."""

    kind: Kind
    compared: ComparedKind
    cells: list[Cell]


@dataclass(frozen=True)
class Matrix:
    """All kinds, those not usual last."""

    rows: list[Row]

    @property
    def shown(self) -> list[tuple[int, int]]:
        """The pictures needed: numbers of takes, and indices of their steps."""
        return [
            (cell.take, cell.main[1].shown)
            for row in self.rows
            for cell in row.cells
            if cell.visits
        ]


def lay_out_matrix(comparison: Comparison) -> Matrix:
    """Arrange the visits of all takes by kind."""
    paces = {
        (row.cluster, entry.take): entry.pace
        for row in comparison.durations
        for entry in row.takes
        if entry.pace in ("slow", "quick")
    }

    def cell(kind: ComparedKind, number: int, take: ComparedTake) -> Cell:
        visits = [(i, v) for i, v in enumerate(take.visits) if v.cluster == kind.cluster]
        return Cell(number, visits, paces.get((kind.cluster, take.folder), ""))

    return Matrix(
        [
            Row(
                kind_of(kind.cluster),
                kind,
                [cell(kind, number, take) for number, take in enumerate(comparison.takes)],
            )
            for kind in comparison.kinds
        ]
    )
