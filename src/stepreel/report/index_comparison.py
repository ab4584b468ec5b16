"""The comparison that an index links to, and whether it is of the storyboards as they are now."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from stepreel.storyboard.schema import Storyboard
from stepreel.system.files import read_regular

COMPARISON = "compare.html"
_STATED = re.compile(rb'<meta name="stepreel-storyboards" content="([0-9a-f]+)">')
_HEAD_BYTES = 4000  # of the page, in which it states what it is made from


def storyboards_hash(boards: Iterable[tuple[str, Storyboard]]) -> str:
    """Return a hash of storyboards and their folders, in any order."""
    texts = sorted(f"{folder}\n{board.model_dump_json()}" for folder, board in boards)
    return hashlib.blake2b("\n".join(texts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def find_comparison(folder: Path, boards: Iterable[tuple[str, Storyboard]]) -> bool | None:
    """Tell whether the comparison in `folder` is of these storyboards; None if there is none."""
    try:
        head = read_regular(folder / COMPARISON)[:_HEAD_BYTES]
    except OSError:
        return None
    stated = _STATED.search(head)
    return None if stated is None else stated[1].decode() == storyboards_hash(boards)
