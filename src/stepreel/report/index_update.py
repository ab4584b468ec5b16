"""Bring the index of a folder up to date after a run; what earlier runs left there stays listed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stepreel.errors import StepreelError
from stepreel.report.index import rebuild_index
from stepreel.report.index_contents import IndexContents, read_contents


def update_index(
    folder: Path,
    folders: Sequence[str],
    *,
    names: Sequence[str],
    failed: Sequence[tuple[str, str]],
) -> Path | None:
    """Make index.html of `folder` again after a run; return its path.

    A run of one recording starts no index, and returns None if there is none. StepreelError if
    there is one that does not say what it was made from: then only a run of several replaces it.

    folders  of the storyboards of this run, in the order of its recordings
    names    of all recordings of this run
    failed   the name of each recording without a storyboard, and the reason
    """
    try:
        earlier = read_contents(folder)
    except StepreelError:
        if len(names) == 1:
            raise
        earlier = None
    if earlier is None and len(names) == 1:
        return None
    contents = _merge(earlier or IndexContents(folders=[], failed=[]), folders, names, failed)
    return rebuild_index(folder, contents)


def _merge(
    earlier: IndexContents,
    folders: Sequence[str],
    names: Sequence[str],
    failed: Sequence[tuple[str, str]],
) -> IndexContents:
    """Add a run to what an index lists; the order is the run's, if that has all of them."""
    others = [name for name in earlier.folders if name not in folders]
    new = [name for name in folders if name not in earlier.folders]
    return IndexContents(
        folders=[*earlier.folders, *new] if others else list(folders),
        failed=[*(old for old in earlier.failed if old[0] not in names), *failed],
    )
