"""Notes on the steps after an edit by hand: what is no longer true is corrected or dropped.

A note is text, also in storyboard.json. Notes that state something about the steps are recognised
by their wording; all others stay as they are.
"""

from __future__ import annotations

import re

from stepreel.steps.confidence import has_clear_structure
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import Storyboard

UNCLEAR_NOTE = (
    "No clear structure found: nothing confirms that most of these steps are more reliable than "
    "equal parts of the recording. Other or more takes of the same task in one run, or another cue "
    "(--embed-cues), may help."
)
_UNCLEAR = UNCLEAR_NOTE.partition(":")[0]
_LIMITED = re.compile(r"(\d{1,9}) of the \d{1,9} steps found are shown, ")
_MISSING_KINDS = re.compile(
    r"Found (\d{1,9}) of (?:the )?\d{1,9} kinds of steps(?: asked for)?: "  # until 0.1.0: asked for
)
_UNUSED_TITLES = re.compile(r"(Not found in this recording, but named in .+: )([^:]+)\.")


def is_unclear(board: Storyboard) -> bool:
    """Tell whether a storyboard says that no clear structure was found."""
    return any(map(is_unclear_note, board.notes))


def is_unclear_note(note: str) -> bool:
    """Tell whether a note says that no clear structure was found."""
    return note.startswith(_UNCLEAR)


def without_unused_titles(notes: list[str]) -> list[str]:
    """Leave out the note about titles that no step has."""
    return [note for note in notes if not _UNUSED_TITLES.fullmatch(note)]


def review_notes(board: Storyboard) -> Storyboard:
    """Return a storyboard that was edited by hand with notes that are true of its steps."""
    is_limited = any(_is_still_limited(note, board) for note in board.notes)
    notes = [kept for note in board.notes if (kept := _review(note, board, is_limited=is_limited))]
    if not is_limited:  # otherwise steps that are not shown counted too, and nothing changed
        notes = _judge_structure(notes, board)
    return board.model_copy(update={"notes": notes})


def _is_still_limited(note: str, board: Storyboard) -> bool:
    """Tell whether a note says that only some steps are shown, and these are the same as then."""
    match = _LIMITED.match(note)
    by_hand = any(step.margin is None for step in board.steps)
    return match is not None and int(match[1]) == len(board.steps) and not by_hand


def _review(note: str, board: Storyboard, *, is_limited: bool) -> str | None:
    """Return a note as it is now true; None if it no longer is."""
    if _LIMITED.match(note):
        return note if is_limited else None
    if match := _MISSING_KINDS.match(note):
        n_kinds = len({step.cluster for step in board.steps})
        return note if is_limited or int(match[1]) == n_kinds else None
    if match := _UNUSED_TITLES.fullmatch(note):
        unused = [name for name in match[2].split(", ") if name not in _names(board)]
        return f"{match[1]}{', '.join(unused)}." if unused else None
    return note


def _names(board: Storyboard) -> set[str]:
    """Return the steps and kinds of a storyboard as titles name them."""
    kinds = {f"kind {letter(step.cluster)}" for step in board.steps}
    return kinds | {f"step {step.index}" for step in board.steps}


def _judge_structure(notes: list[str], board: Storyboard) -> list[str]:
    """Say that no clear structure was found, or no longer say it.

    Steps that a person added have no margin, and nothing to be unsure about.
    """
    level = board.confidence.clear
    if level is None:
        return notes
    values = [step.confidence for step in board.steps if step.margin is not None]
    found = None if board.decision is None else board.decision.found_structure
    if not values or has_clear_structure(values, level, found=found):
        return [note for note in notes if not is_unclear_note(note)]
    return notes if any(map(is_unclear_note, notes)) else [*notes, UNCLEAR_NOTE]
