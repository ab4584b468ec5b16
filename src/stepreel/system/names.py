"""Names of output files and folders: portable, readable and unique."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

LONGEST_NAME = 80
LONGEST_BYTES = 200  # file systems allow 255, of which numbers and suffixes need some
# Device names reserved by Windows, in any case and with any suffix.
RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)[\d¹²³])(\..*)?", re.IGNORECASE)


def safe_name(stem: str) -> str:
    """Return a folder name that is valid on every system and needs no quoting in a shell.

    >>> safe_name('my "best" <script> take'), safe_name("-rf"), safe_name("Übung 1.v2")
    ('my-best-script-take', 'rf', 'Übung-1.v2')
    >>> safe_name("..."), safe_name("nul"), safe_name("COM¹.take")
    ('recording', 'nul-recording', 'COM¹.take-recording')
    """
    name = re.sub(r"[^\w.]+", "-", stem).strip("-. ")[:LONGEST_NAME]
    name = name.encode()[:LONGEST_BYTES].decode(errors="ignore").strip("-. ")
    if not name:
        return "recording"
    return f"{name}-recording" if RESERVED.fullmatch(name) else name


def free_name(
    name: str, taken: set[str], is_in_use: Callable[[str], bool] = lambda name: False
) -> str:
    """Return a safe name based on `name` that is not in `taken`, and add it to `taken`.

    Compared without case, because some file systems ignore case.

    >>> taken = {"tea"}
    >>> free_name("Tea", taken), free_name("a/b", taken), sorted(taken)
    ('Tea-2', 'a-b', ['a-b', 'tea', 'tea-2'])
    """
    free = base = safe_name(name)
    number = 2
    while free.casefold() in taken or is_in_use(free):
        free = f"{base}-{number}"
        number += 1
    taken.add(free.casefold())
    return free


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers inside names by their value.

    >>> sorted(["take10", "take2", "take"], key=natural_order)
    ['take', 'take2', 'take10']
    """
    parts = re.split(r"([0-9]{1,18})", name)  # more digits do not fit into 64 bits
    return [(int(part), "") if i % 2 else (-1, part) for i, part in enumerate(parts)]


def name_files(paths: Sequence[Path], folder: Path, suffix: str) -> dict[Path, Path]:
    """Return a unique file in `folder` for every recording, named after it."""
    taken: set[str] = set()
    return {path: folder / f"{free_name(path.stem, taken)}{suffix}" for path in paths}
