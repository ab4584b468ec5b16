"""The cards of a page: one per step, or, if there are many steps, one per kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from stepreel.report.kind_titles import kind_titles
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import KeyStep, Storyboard

MOST_CARDS = 40  # more are not looked at one by one, and their pictures make a page too large
MOST_VISITS = 16  # of more, a card lists a few at first, and a button shows the others
FEW_VISITS = 12
MOST_CUES = 3  # named where a step starts or ends


@dataclass(frozen=True)
class Card:
    """A card with the picture of `step`.

    visits   all steps of its kind, if the card stands for a kind; otherwise empty
    repeats  other steps that are claimed to be the same step done again, or done before
    alike    other steps that look like this one; none that is a repeat, or if the card stands for
             a kind
    """

    step: KeyStep
    title: str
    visits: list[KeyStep] = field(default_factory=list)
    repeats: list[KeyStep] = field(default_factory=list)
    alike: list[KeyStep] = field(default_factory=list)

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

    @property
    def start_in_words(self) -> str:
        """Which cues change where the step starts; empty if none is known to.

        Where it ends is where the next one starts, whose card says the same of that.

        >>> from stepreel.storyboard.schema import StepExplanation
        >>> found = StepExplanation(start_cues={"motion": 4.0, "appearance": 2.5})
        >>> Card(KeyStep.model_construct(explanation=found), "Step A").start_in_words
        'Starts with a change in motion and appearance'
        """
        found = None if self.visits else self.step.explanation
        if found is None or not found.start_cues:
            return ""
        return f"Starts with a change in {_in_words(found.start_cues)}"


def _in_words(cues: Mapping[str, float]) -> str:
    """Name cues; of many, the strongest.

    >>> _in_words({"motion": 5.0, "gaze": 4.0, "hands": 3.0, "depth": 2.5})
    'motion, gaze, hands and others'
    """
    names = list(cues)
    if len(names) > MOST_CUES:
        names = [*names[:MOST_CUES], "others"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def is_folded(board: Storyboard) -> bool:
    """Tell whether the page shows one card per kind instead of one per step."""
    return len(board.steps) > MOST_CARDS


def cards_of(board: Storyboard) -> list[Card]:
    """Return the cards of a storyboard, in the order in which their steps or kinds start."""
    if is_folded(board):
        return _cards_of_kinds(board)
    return [
        Card(
            step,
            step.title.strip() or f"Step {step.index}",
            repeats=_repeats(board, step),
            alike=_alike(board, step),
        )
        for step in board.steps
    ]


def _repeats(board: Storyboard, step: KeyStep) -> list[KeyStep]:
    level = board.confidence.repeat
    if level is None or step.confidence < level:
        return []
    same = [s for s in board.steps if s.cluster == step.cluster and s.index != step.index]
    return [other for other in same if other.confidence >= level]


def _alike(board: Storyboard, step: KeyStep) -> list[KeyStep]:
    """Return the steps that look like one, in order; an edited file may name some that are gone."""
    found = step.explanation
    named = {other.step for other in found.looks_like} if found else set()
    named -= {step.index, *(other.index for other in _repeats(board, step))}
    return [s for s in board.steps if s.index in named]


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
