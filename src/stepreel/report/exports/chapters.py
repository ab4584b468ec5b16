"""Divide a recording into chapters for players, one per key step.

A chapter starts where its step starts and ends where its step ends; time without a shown step is in
no chapter. Steps do not overlap, but a storyboard edited by hand may contain steps that do, and
chapters may not. Then a chapter whose step starts at or before the best moment of the previous one
starts where that one ends, or at its own best moment if that comes first. So every chapter contains
the best moment of its step, and starts strictly increase. Two steps with the same start (to the
millisecond) share a chapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from stepreel.report.wording import one_line
from stepreel.storyboard.schema import KeyStep, Storyboard


@dataclass(frozen=True)
class Chapter:
    """A named part of a recording, in whole milliseconds of player time."""

    start: int
    end: int
    titles: tuple[str, ...]

    @property
    def title(self) -> str:
        """The titles of its steps: all of them, or the first and the last."""
        return join_titles(self.titles)


def chapters_of(board: Storyboard) -> list[Chapter]:
    """Return the chapters of `board` in player time; the rules are in the module docstring."""
    offset = board.recording.player_offset_seconds
    steps = sorted(board.steps, key=lambda step: step.time)
    titles: dict[int, list[str]] = {}
    ends: dict[int, int] = {}
    for step, seconds in zip(steps, _starts(steps), strict=True):
        start, end = round(1000 * (seconds + offset)), round(1000 * (step.end + offset))
        titles.setdefault(start, []).append(one_line(step.title, otherwise=f"Step {step.index}"))
        ends[start] = max(ends.get(start, start + 1), end)  # a chapter without length is invalid
    for start, next_start in pairwise(titles):
        ends[start] = min(ends[start], next_start)
    return [Chapter(start, ends[start], tuple(titles[start])) for start in titles]


def _starts(steps: list[KeyStep]) -> list[float]:
    starts = [step.start for step in steps[:1]]
    for before, step in pairwise(steps):
        overlapping = step.start <= before.time
        start = min(max(before.end, before.time), step.time) if overlapping else step.start
        starts.append(max(start, starts[-1]))
    return starts


def join_titles(titles: Sequence[str]) -> str:
    """Name a chapter that contains several steps.

    >>> join_titles(["Fold", "Glue", "Fold"]), join_titles([f"Step {i}" for i in range(3, 8)])
    ('Fold / Glue', 'Step 3 … Step 7')
    """
    distinct = list(dict.fromkeys(titles))
    return " / ".join(distinct) if len(distinct) <= 3 else f"{distinct[0]} … {distinct[-1]}"
