"""Explanations of steps after an edit by hand: what may no longer be true is dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stepreel.storyboard.schema import KeyStep, Likeness, Storyboard


def with_true_explanations(board: Storyboard, steps: Sequence[KeyStep]) -> list[KeyStep]:
    """Return steps in time order whose explanations name other steps by their new number.

    The timeline still has the steps as they were. A step that starts or ends elsewhere now has no
    explanation, and is not said to look like any other; nor is one that was added or removed.
    """
    extents = _extents(board)
    indices = Counter(step.index for step in steps)
    unchanged = {
        step.index: number
        for number, step in enumerate(steps, start=1)
        if indices[step.index] == 1 and extents.get(step.index) == (step.start, step.end)
    }
    return [_reviewed(step, unchanged) for step in steps]


def _extents(board: Storyboard) -> dict[int, tuple[float, float]]:
    """Return start and end of every step of the timeline, by its index."""
    extents: dict[int, tuple[float, float]] = {}
    for span in board.timeline:
        if span.step is not None:
            start, end = extents.get(span.step, (span.start, span.end))
            extents[span.step] = min(start, span.start), max(end, span.end)
    return extents


def _reviewed(step: KeyStep, numbers: Mapping[int, int]) -> KeyStep:
    if step.explanation is None:
        return step
    if step.index not in numbers:
        return step.model_copy(update={"explanation": None})
    looks_like = [
        Likeness(step=numbers[other.step], similarity=other.similarity)
        for other in step.explanation.looks_like
        if other.step in numbers and other.step != step.index
    ]
    explanation = step.explanation.model_copy(update={"looks_like": looks_like})
    return step.model_copy(update={"explanation": explanation})
