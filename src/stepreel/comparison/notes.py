"""What a reader should know before trusting a comparison: agreement may be made, not found."""

from __future__ import annotations

from collections.abc import Sequence

from stepreel.storyboard.review_notes import is_unclear
from stepreel.storyboard.schema import Storyboard


def notes_on(boards: Sequence[Storyboard]) -> list[str]:
    """Say so if most takes have no clear structure, or if steps were told apart by their time."""
    notes = []
    n_unclear = sum(map(is_unclear, boards))
    if 2 * n_unclear > len(boards):
        which = "any" if n_unclear == len(boards) else f"{n_unclear} of {len(boards)}"
        notes.append(
            f"No clear structure was found in {which} of these takes: their steps may be hardly "
            "more than equal parts. Such steps come in the same order and take the same share of "
            "time in every take, whatever was done: that takes agree proves nothing then. Check "
            "with the pictures and videos. More takes in one run, eight or more, may help."
        )
    elif 2 * sum(map(_is_by_time, boards)) > len(boards):
        notes.append(
            "Steps were told apart also by when they come in a take. So a step that is skipped, "
            "swapped, repeated or added can be missed here, and that takes agree in their order "
            "proves little. Running them with --decoder hmm tells steps apart only by what is "
            "shown."
        )
    return notes


def _is_by_time(board: Storyboard) -> bool:
    """Tell whether relative time was part of how moments were grouped; 0 says that it was not."""
    return board.decision is not None and board.decision.figures.get("time_weight", 0.0) != 0
