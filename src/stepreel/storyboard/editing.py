"""Storyboards edited by hand: recognised, never overwritten by accident, and made consistent."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

from stepreel.errors import OutputError, StepreelError
from stepreel.storyboard.review_explanations import with_true_explanations
from stepreel.storyboard.review_notes import review_notes, without_unused_titles
from stepreel.storyboard.schema import (
    UNKNOWN_HASH,
    KeyStep,
    Span,
    Storyboard,
    TimelineSpan,
    read_storyboard,
)
from stepreel.storyboard.titles import Titles, default_title
from stepreel.system.files import explain_write_errors

STORYBOARD = "storyboard.json"


class EditedError(OutputError):
    """A storyboard was edited by hand and is not overwritten; `board` is that storyboard."""

    def __init__(self, message: str, board: Storyboard) -> None:
        super().__init__(message)
        self.board = board


def seal(board: Storyboard) -> Storyboard:
    """Return the storyboard with the hash of its content, by which later edits are recognised."""
    return board.model_copy(update={"content_hash": _hash(board)})


def is_edited(board: Storyboard) -> bool:
    """Tell whether a storyboard was changed since it was sealed; unknown of version 1."""
    return board.content_hash not in (UNKNOWN_HASH, _hash(board))


def _hash(board: Storyboard) -> str:
    # Without defaults, so that a field added by a later version does not look like an edit.
    text = board.model_dump_json(exclude={"content_hash"}, exclude_defaults=True)
    return f"blake2b:{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def check_not_edited(folder: Path) -> None:
    """Raise OutputError if the folder contains a storyboard that was edited by hand."""
    path = folder / STORYBOARD
    with explain_write_errors(folder):  # a name that is too long cannot even be looked for
        if not path.exists():
            return
    otherwise = (
        "choose another folder with -o (output=…), or overwrite it with --force (force=True)"
    )
    try:
        board = read_storyboard(path)
    except StepreelError as problem:
        raise OutputError(f"{problem}. It is kept; correct it, {otherwise}") from problem
    if is_edited(board):
        raise EditedError(
            f"{path}: was edited by hand and is kept as it is; `stepreel render` makes its page "
            f"and exports. To replace it, {otherwise}",
            board,
        )


def make_consistent(board: Storyboard, path: Path) -> Storyboard:
    """Return an edited storyboard with steps in time order, and a timeline and notes that fit.

    StepreelError names what a person has to correct. The hash stays, so it still counts as edited.
    """
    steps = sorted(board.steps, key=lambda step: (step.start, step.end))
    for step in steps:
        _check_times(step, board, path)
    for before, after in pairwise(steps):
        if after.start < before.end - 1e-6:
            raise StepreelError(
                f"{path}: {_name(before)} ends at {before.end:g} s, after the start of "
                f"{_name(after)} at {after.start:g} s; steps may not overlap"
            )
    numbered = _number(with_true_explanations(board, steps))
    if numbered == board.steps and _fits(board.timeline, numbered):
        return review_notes(board) if is_edited(board) else board
    changes = {
        "steps": numbered,
        "timeline": _timeline(board, numbered),
        "background": _without_steps(board.background, numbered),
        "uncertain": _without_steps(board.uncertain, numbered),
    }
    return review_notes(board.model_copy(update=changes))


def with_titles(board: Storyboard, titles: Titles) -> Storyboard:
    """Name steps; those that `titles` does not name keep their title."""
    steps = [
        step.model_copy(update={"title": titles.title_of(step.index, step.cluster) or step.title})
        for step in board.steps
    ]
    unused = titles.unused_note(step.cluster for step in steps)
    notes = [*without_unused_titles(board.notes), *unused]
    return board.model_copy(update={"steps": steps, "notes": notes})


def _check_times(step: KeyStep, board: Storyboard, path: Path) -> None:
    if not step.start <= step.time <= step.end:
        raise StepreelError(
            f"{path}: the moment of {_name(step)}, {step.time:g} s, is outside of it "
            f"({step.start:g} to {step.end:g} s)"
        )
    if step.end > board.recording.duration_seconds + 0.5:
        raise StepreelError(
            f"{path}: {_name(step)} ends at {step.end:g} s, but the recording lasts "
            f"{board.recording.duration_seconds:g} s"
        )


def _name(step: KeyStep) -> str:
    return f"step {step.index} ({step.title[:40]!r})"


def _number(steps: list[KeyStep]) -> list[KeyStep]:
    """Return steps numbered in order, with the occurrences of each kind counted again."""
    occurrences = Counter(step.cluster for step in steps)
    seen: Counter[int] = Counter()
    numbered = []
    for index, step in enumerate(steps, start=1):
        cluster = step.cluster
        seen[cluster] += 1
        is_repeat = step.is_repeat and seen[cluster] > 1
        changes: dict[str, object] = {
            "index": index,
            "occurrence": seen[cluster],
            "occurrences": occurrences[cluster],
            "is_repeat": is_repeat,
        }
        if step.title == default_title(cluster, step.occurrence, is_repeat=step.is_repeat):
            changes["title"] = default_title(cluster, seen[cluster], is_repeat=is_repeat)
        numbered.append(step.model_copy(update=changes))
    return numbered


def _without_steps(spans: list[Span], steps: list[KeyStep]) -> list[Span]:
    return [
        Span(start=start, end=end)
        for span in spans
        for start, end in _outside(span.start, span.end, steps)
    ]


def _fits(timeline: list[TimelineSpan], steps: list[KeyStep]) -> bool:
    """Tell whether the timeline shows exactly these steps."""
    extents: dict[tuple[int | None, int | None], list[float]] = {}
    for span in timeline:
        if span.kind == "step":
            extents.setdefault((span.step, span.cluster), []).extend([span.start, span.end])
    shown = {key: (min(times), max(times)) for key, times in extents.items()}
    return shown == {(step.index, step.cluster): (step.start, step.end) for step in steps}


def _timeline(board: Storyboard, steps: list[KeyStep]) -> list[TimelineSpan]:
    """Draw the steps over the old timeline; what was a step and is none any more is left out."""
    spans = []
    for old in board.timeline:
        kind = "left-out" if old.kind == "step" else old.kind
        for start, end in _outside(old.start, old.end, steps):
            changes = {"start": start, "end": end, "kind": kind, "step": None}
            spans.append(old.model_copy(update=changes))
    spans += [
        TimelineSpan(
            start=step.start, end=step.end, kind="step", cluster=step.cluster, step=step.index
        )
        for step in steps
    ]
    return sorted(spans, key=lambda span: (span.start, span.end))


def _outside(start: float, end: float, steps: list[KeyStep]) -> list[tuple[float, float]]:
    """Return the parts of a span that no step covers."""
    parts = []
    for step in steps:
        if step.end <= start or step.start >= end:
            continue
        if step.start > start:
            parts.append((start, step.start))
        start = step.end
    return [*parts, (start, end)] if start < end else parts
