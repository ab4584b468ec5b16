"""What a page shows of a storyboard, and of each of its alternatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from stepreel.report.cards import FEW_VISITS, MOST_VISITS, Card, cards_of, is_folded
from stepreel.report.html import jpeg_address
from stepreel.report.kind_titles import kind_titles
from stepreel.report.timeline import Timeline, lay_out_timeline
from stepreel.storyboard.schema import Storyboard


@dataclass(frozen=True)
class Picture:
    """A step's picture: its address, or the step of the main view that has the same one."""

    address: str | None = None
    same_as: int | None = None


@dataclass(frozen=True)
class View:
    """A storyboard as the page shows it.

    label, option  of an alternative; see `Alternative`
    pictures       by the step's index
    """

    board: Storyboard
    label: str
    option: str
    pictures: Mapping[int, Picture]
    cards: list[Card]
    timeline: Timeline
    counts: Counter[int] = field(default_factory=Counter)
    few_visits: int = FEW_VISITS
    most_visits: int = MOST_VISITS

    @property
    def is_folded(self) -> bool:
        """Whether there is a card per kind instead of one per step."""
        return is_folded(self.board)

    @property
    def has_explanations(self) -> bool:
        """Whether a card says what changes where its step starts, or what looks like it."""
        return any(card.start_in_words or card.alike for card in self.cards)

    @property
    def kind_titles(self) -> dict[int, str]:
        """Titles that a person gave kinds of steps."""
        return kind_titles(self.board.steps)

    @property
    def decision(self) -> str:
        """How its steps were found; empty if nothing was decided."""
        return self.board.decision.sentence if self.board.decision else ""

    @property
    def count(self) -> str:
        """How many steps there are, of how many kinds."""
        return counted_steps(self.board)


def counted_steps(board: Storyboard) -> str:
    """Count steps, and their kinds if some come more than once."""
    kinds = len({step.cluster for step in board.steps})
    steps = "1 step" if len(board.steps) == 1 else f"{len(board.steps)} steps"
    if kinds and kinds < len(board.steps):
        steps += f" of {kinds} kinds" if kinds > 1 else " of 1 kind"
    return steps


def view_of(board: Storyboard, pictures: Mapping[int, bytes]) -> View:
    """Return the view of a storyboard itself; a missing picture is left out."""
    cards = cards_of(board)
    addresses = {card.step.index: jpeg_address(pictures.get(card.step.index)) for card in cards}
    shown = {index: Picture(address) for index, address in addresses.items() if address}
    return _view(board, "", "", shown)


def views_of_alternatives(board: Storyboard, pictures: Mapping[str, bytes]) -> list[View]:
    """Return the views of the alternatives; a picture that the main view has is not repeated.

    pictures  by file
    """
    main = {card.step.picture: card.step.index for card in cards_of(board) if card.step.picture}
    views = []
    for number, other in enumerate(board.alternatives):
        own = board.alternative(number)
        shown = {}
        for card in cards_of(own):
            file = card.step.picture
            address = jpeg_address(pictures.get(file or ""))
            if file in main:
                shown[card.step.index] = Picture(same_as=main[file])
            elif address:
                shown[card.step.index] = Picture(address)
        views.append(_view(own, other.label, other.option, shown))
    return views


def _view(board: Storyboard, label: str, option: str, pictures: Mapping[int, Picture]) -> View:
    return View(
        board,
        label or ("1 step" if len(board.steps) == 1 else f"{len(board.steps)} steps"),
        option,
        pictures,
        cards_of(board),
        lay_out_timeline(board),
        Counter(step.cluster for step in board.steps),
    )
