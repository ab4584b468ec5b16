"""Draw which step follows which: kinds from top to bottom in the usual order, arrows between them.

Arrows from one kind to the next one below are straight; arrows that go past others run beside
them, down on the right and up on the left, each in a lane of its own where they would touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.comparison.schema import ComparedKind, Comparison, Transition
from stepreel.report.palette import Kind, kind_of

MOST_ARROWS = 18  # besides the usual ones; of more, the rarer ones are only listed
NODE_WIDTH, NODE_HEIGHT, ROW = 168, 34, 68
NARROW_GRAPH = 390  # what fits beside the durations without being made smaller
LANE, MARGIN, PORT, TIP, BEND = 21, 12, 8, 7, 8


@dataclass(frozen=True)
class Node:
    """One kind; `kind` is None for the start and the end."""

    y: float
    kind: Kind | None
    words: str
    takes: str


@dataclass(frozen=True)
class Arrow:
    """One transition: its line, and where its count is written."""

    path: str
    x: float
    y: float
    width: float
    takes: int
    is_usual: bool


@dataclass(frozen=True)
class Graph:
    """Everything to draw, in pixels; `x` is the left edge of the nodes."""

    width: float
    height: float
    x: float
    nodes: list[Node]
    arrows: list[Arrow]
    n_hidden: int

    @property
    def is_wide(self) -> bool:
        """Whether it needs half of the page."""
        return self.width > NARROW_GRAPH


def lay_out_graph(comparison: Comparison) -> Graph:
    """Place kinds and arrows."""
    kinds = _in_order(comparison)
    last = len(kinds) + 1
    rows: dict[int | None, int] = {kind.cluster: row for row, kind in enumerate(kinds, start=1)}
    shown = _shown(comparison.transitions)
    ends = [
        (0 if t.before is None else rows[t.before], last if t.after is None else rows[t.after])
        for t in shown
    ]
    lanes = _lanes(ends)
    placed = list(zip(ends, lanes, strict=True))
    n_up = max((lane + 1 for (a, b), lane in placed if a > b), default=0)
    n_down = max((lane + 1 for (a, b), lane in placed if b > a + 1), default=0)
    x = LANE * n_up + 2 * MARGIN
    arrows = [
        _arrow(pair, lane, transition, x, len(comparison.takes))
        for pair, lane, transition in zip(ends, lanes, shown, strict=True)
    ]
    return Graph(
        width=x + NODE_WIDTH + LANE * n_down + 2 * MARGIN,
        height=_y(last) + NODE_HEIGHT / 2 + 4,
        x=x,
        nodes=_nodes(kinds, len(comparison.takes)),
        arrows=sorted(arrows, key=lambda arrow: (arrow.is_usual, arrow.takes)),
        n_hidden=len(comparison.transitions) - len(shown),
    )


def _nodes(kinds: Sequence[ComparedKind], n_takes: int) -> list[Node]:
    return [
        Node(_y(0), None, "Start", ""),
        *(
            Node(_y(row), kind_of(kind.cluster), kind.title, f"{kind.takes} of {n_takes}")
            for row, kind in enumerate(kinds, start=1)
        ),
        Node(_y(len(kinds) + 1), None, "End", ""),
    ]


def _y(row: int) -> float:
    return NODE_HEIGHT / 2 + 4 + ROW * row


def _in_order(comparison: Comparison) -> list[ComparedKind]:
    """Return the kinds in the usual order, others after the one that they most often follow."""
    order = [kind for kind in comparison.kinds if kind.usual_visits]
    for kind in comparison.kinds:
        if kind.usual_visits:
            continue
        into = [t for t in comparison.transitions if t.after == kind.cluster]
        clusters = [placed.cluster for placed in order]
        before = next((t.before for t in into if t.before is None or t.before in clusters), None)
        order.insert(0 if before is None else clusters.index(before) + 1, kind)
    return order


def _shown(transitions: Sequence[Transition]) -> list[Transition]:
    """Return the usual transitions and the most common others, those of one count all or none."""
    others = sorted((t.takes for t in transitions if not t.is_usual), reverse=True)
    least = 1 if len(others) <= MOST_ARROWS else others[MOST_ARROWS] + 1
    return [t for t in transitions if t.is_usual or t.takes >= least]


def _lanes(ends: Sequence[tuple[int, int]]) -> list[int]:
    """Return a lane for each arrow that goes past others, the short ones nearest to the kinds."""
    lanes = [0] * len(ends)
    taken: dict[tuple[bool, int], list[tuple[int, int]]] = {}
    for number in sorted(range(len(ends)), key=lambda n: abs(ends[n][0] - ends[n][1])):
        low, high = sorted(ends[number])
        is_down = ends[number][0] < ends[number][1]
        if is_down and high - low == 1:
            continue
        lane = 0
        while any(a < high and low < b for a, b in taken.get((is_down, lane), [])):
            lane += 1
        taken.setdefault((is_down, lane), []).append((low, high))
        lanes[number] = lane
    return lanes


def _arrow(
    ends: tuple[int, int], lane: int, transition: Transition, x: float, n_takes: int
) -> Arrow:
    start, end = ends
    path, at, middle = _straight(start, x) if end == start + 1 else _beside(start, end, lane, x)
    width = round(1.2 + 3.3 * transition.takes / n_takes, 2)
    return Arrow(path, at, middle + 4, width, transition.takes, transition.is_usual)


def _straight(row: int, x: float) -> tuple[str, float, float]:
    """Return the line from a row to the next one, and where its count goes."""
    middle = x + NODE_WIDTH / 2
    top, bottom = _y(row) + NODE_HEIGHT / 2, _y(row + 1) - NODE_HEIGHT / 2
    return f"M{middle} {top}V{bottom - TIP}", middle + 16, (top + bottom) / 2


def _beside(start: int, end: int, lane: int, x: float) -> tuple[str, float, float]:
    """Return the line that goes past other rows, and where its count goes."""
    away = 1 if end > start else -1
    side = x + NODE_WIDTH if away > 0 else x
    outside = side + away * (LANE * (lane + 1) - 4)
    y_start, y_end = _y(start) + away * PORT, _y(end) - away * PORT
    path = (
        f"M{side} {y_start}H{outside - away * BEND}"
        f"Q{outside} {y_start} {outside} {y_start + away * BEND}"
        f"V{y_end - away * BEND}Q{outside} {y_end} {outside - away * BEND} {y_end}"
        f"H{side + away * TIP}"
    )
    return path, outside, (y_start + y_end) / 2
