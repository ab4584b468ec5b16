"""Report damaged files of a cache: the first at once, all others in one line at the end.

Many files are damaged together, as by a failing disk: a line for each would hide everything else.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Gathered:
    root: Path
    files: set[Path] = field(default_factory=set)


_open: list[_Gathered] = []


@contextlib.contextmanager
def gather_damage(root: Path) -> Iterator[None]:
    """Gather what is reported below `root` during the block; count it in one line at its end."""
    gathered = _Gathered(root)
    _open.append(gathered)
    try:
        yield
    finally:
        _open.remove(gathered)
        if len(gathered.files) > 1:
            _summarise(gathered)


def warn_of_damage(path: Path, reason: str) -> None:
    """Warn of a damaged file, unless another one was named before and this one will be counted."""
    gathered = next((g for g in reversed(_open) if path.is_relative_to(g.root)), None)
    level = logging.INFO if gathered is not None and gathered.files else logging.WARNING
    if gathered is not None:
        gathered.files.add(path)
    log.log(level, "%s is damaged (%s); making it again", path, reason)


def _summarise(gathered: _Gathered) -> None:
    n_more = len(gathered.files) - 1
    n_folders = len({path.parent for path in gathered.files})
    files = "1 more file was" if n_more == 1 else f"{n_more} more files were"
    folders = "" if n_folders == 1 else f", in {n_folders} folders in all"
    log.warning("%s: %s damaged%s; made again where needed", gathered.root, files, folders)
