"""The recordings of an index by the clusters they share: letters mean the same only within a group.

Usually there is one group: all recordings were run together. A storyboard that was edited by hand
and kept, while the others were run again, forms another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.report.kind_titles import kind_titles
from stepreel.report.palette import Kind, kinds_used
from stepreel.storyboard.review_notes import is_unclear
from stepreel.storyboard.schema import Storyboard


@dataclass(frozen=True)
class Spread:
    """In how many recordings of a group a kind of step occurs; `title` is empty if it has none."""

    kind: Kind
    title: str
    recordings: int


@dataclass(frozen=True)
class Group:
    """Recordings that share their clusters.

    positions      among all recordings of the index
    is_known       false for storyboards of earlier versions, which do not say what they share
    how_found      how the steps of all of them were found, as a sentence; empty if it differs
    is_all_unclear whether no clear structure was found in any of several recordings
    """

    positions: list[int]
    spreads: list[Spread]
    is_known: bool
    how_found: str
    is_all_unclear: bool

    @property
    def statement(self) -> str:
        """What a letter means in it."""
        if self.is_known:
            return "The same letter and colour mean the same kind of step in every recording."
        return (
            "The same letter and colour mean the same kind of step in recordings that were run "
            "together."
        )


def group_boards(boards: Sequence[Storyboard]) -> list[Group]:
    """Return the groups in the order in which they first appear."""
    by_id: dict[str, list[int]] = {}
    for position, board in enumerate(boards):
        by_id.setdefault(board.clustering_id, []).append(position)
    return [
        _group(positions, [boards[position] for position in positions], is_known=bool(name))
        for name, positions in by_id.items()
    ]


def _group(positions: list[int], boards: list[Storyboard], *, is_known: bool) -> Group:
    sentences = {board.decision.sentence if board.decision else "" for board in boards}
    return Group(
        positions,
        _spreads(boards),
        is_known=is_known,
        how_found=sentences.pop() if len(sentences) == 1 else "",
        is_all_unclear=len(boards) > 1 and all(is_unclear(board) for board in boards),
    )


def _spreads(boards: list[Storyboard]) -> list[Spread]:
    titles = kind_titles(step for board in boards for step in board.steps)
    clusters = [{step.cluster for step in board.steps} for board in boards]
    spreads = [
        Spread(
            kind,
            titles.get(kind.cluster, ""),
            sum(kind.cluster in of_board for of_board in clusters),
        )
        for kind in kinds_used(boards)
    ]
    return [spread for spread in spreads if spread.recordings]
