"""Takes for tests, made from letters: "ABCA" is four steps of three kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from boards import make_board

from stepreel.comparison.compare import compare
from stepreel.comparison.schema import Comparison
from stepreel.comparison.takes import Take, Takes
from stepreel.storyboard.schema import Storyboard

STEP_SECONDS = 4.0


def kinds(letters: str) -> list[int]:
    return [ord(one) - ord("A") for one in letters]


def board_of(
    letters: str,
    *,
    title: str = "take",
    seconds: Sequence[float] | None = None,
    unclear: str = "",
    **options,
) -> Storyboard:
    """Make the storyboard of steps without pauses; steps of the kinds `unclear` are not clear."""
    extents, now = [], 0.0
    for kind, lasting in zip(kinds(letters), seconds or [STEP_SECONDS] * len(letters), strict=True):
        extents.append((now, now + lasting / 4, now + lasting, kind))
        now += lasting
    board = make_board(extents, title=title, duration=now, **options)
    steps = [
        step.model_copy(update={"confidence": 0.1}) if step.cluster in kinds(unclear) else step
        for step in board.steps
    ]
    return board.model_copy(update={"clustering_id": "one run", "steps": steps})


def compare_letters(*orders: str, **options: Mapping[str, object]) -> Comparison:
    """Compare takes called take1, take2, …; options are by name of the take."""
    takes = []
    for number, letters in enumerate(orders, start=1):
        name = f"take{number}"
        takes.append(Take(name, Path(name), board_of(letters, title=name, **options.get(name, {}))))
    return compare(Takes(takes))


def found(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return take, type and letter of every departure; of a swap, both letters."""

    def letters(cluster: int, other: int | None) -> str:
        return chr(65 + cluster) + ("" if other is None else chr(65 + other))

    return [(d.take, d.type, letters(d.cluster, d.other)) for d in comparison.departures]


def order_of(comparison: Comparison) -> str:
    return "".join(chr(65 + cluster) for cluster in comparison.usual_order)
