"""The cards of a page: one per step, or, if there are many steps, one per kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from stepreel.report.kind_titles import kind_titles
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import KeyStep, Storyboard

MOST_CARDS = 40  # more are not looked at one by one, and their pictures make a page too large
MOST_VISITS = 16  # of more, a card lists a few at first, and a button shows the others
FEW_VISITS = 12


@dataclass(frozen=True)
class Card:
    """A card with the picture of `step`.

    visits   all steps of its kind, if the card stands for a kind; otherwise empty
    repeats  other steps that are claimed to be the same step done again, or done before
    """

    step: KeyStep
    title: str
    visits: list[KeyStep] = field(default_factory=list)
    repeats: list[KeyStep] = field(default_factory=list)

    @property
    def confidence(self) -> float:
        """The step's confidence; of a kind, the median over its visits."""
        return median(step.confidence for step in self.visits or [self.step])

    @property
    def confidence_in_words(self) -> str:
        """The confidence in percent; of several visits, also how many there are and their range.

        >>> steps = [KeyStep.model_construct(confidence=value) for value in (0.48, 0.03, 0.31)]
        >>> Card(steps[0], "Step A", visits=steps).confidence_in_words
        'Confidence 31 %, the median of 3 visits, 3 to 48 %'
        """
        words = f"Confidence {100 * self.confidence:.0f} %"
        if len(self.visits) < 2:
            return words
        percent = [round(100 * visit.confidence) for visit in self.visits]
        return f"{words}, the median of {len(percent)} visits, {min(percent)} to {max(percent)} %"


def is_folded(board: Storyboard) -> bool:
    """Tell whether the page shows one card per kind instead of one per step."""
    return len(board.steps) > MOST_CARDS


def cards_of(board: Storyboard) -> list[Card]:
    """Return the cards of a storyboard, in the order in which their steps or kinds start."""
    if is_folded(board):
        return _cards_of_kinds(board)
    return [
        Card(step, step.title.strip() or f"Step {step.index}", repeats=_repeats(board, step))
        for step in board.steps
    ]


def _repeats(board: Storyboard, step: KeyStep) -> list[KeyStep]:
    level = board.confidence.repeat
    if level is None or step.confidence < level:
        return []
    same = [s for s in board.steps if s.cluster == step.cluster and s.index != step.index]
    return [other for other in same if other.confidence >= level]


def _cards_of_kinds(board: Storyboard) -> list[Card]:
    visits: dict[int, list[KeyStep]] = {}
    for step in board.steps:
        visits.setdefault(step.cluster, []).append(step)
    titles = kind_titles(board.steps)
    return [
        Card(
            step=max(steps, key=lambda step: (step.confidence, -step.distance)),
            title=titles.get(cluster, f"Step {letter(cluster)}"),
            visits=steps,
        )
        for cluster, steps in visits.items()
    ]
