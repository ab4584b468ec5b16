"""Read a storyboard's pictures back from its folder, to render its page again."""

from __future__ import annotations

from pathlib import Path

from stepreel.report.addresses import path_inside
from stepreel.storyboard.schema import Storyboard


def read_pictures(board: Storyboard, folder: Path) -> tuple[dict[int, bytes], bytes | None]:
    """Return the JPEG of each step by the step's index, and the strip; what is missing is left out.

    A storyboard may come from someone else: files outside of `folder` are not read.
    """
    files = {step.index: _read(folder, step.picture) for step in board.steps}
    strip = _read(folder, board.strip.file) if board.strip else None
    return {index: jpeg for index, jpeg in files.items() if jpeg is not None}, strip


def _read(folder: Path, file: str | None) -> bytes | None:
    path = path_inside(folder, file) if file else None
    try:
        return path.read_bytes() if path else None
    except OSError:
        return None
