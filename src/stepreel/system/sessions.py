"""Which processes use a cache: each holds a lock in it for as long as it runs.

What a process has used since it began is not removed from the cache. If a session cannot be read,
nothing is removed. The lock of a process that was killed is free, and is removed by whoever looks
next.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from stepreel.errors import OutputError
from stepreel.system.locks import Holder, locked, read_holder, remove_lock, try_lock

FOLDER = "sessions"
REMOVAL = "removal.lock"
ATTEMPTS = 100  # at a new lock, which others may take for an abandoned one before it is held
SLACK_SECONDS = 5.0  # clocks of file systems are coarse, and those of other machines differ

_held: dict[Path, FileLock] = {}


@contextlib.contextmanager
def in_use(root: Path) -> Iterator[None]:
    """Declare that this process uses the cache `root`, for the time of the block."""
    session = _begin(root)
    try:
        yield
    finally:
        if session is not None:
            remove_lock(session)


def hold(root: Path) -> None:
    """Declare that this process uses the cache `root` until it ends."""
    if root not in _held and (session := _begin(root)) is not None:
        _held[root] = session


def running(root: Path) -> list[Holder]:
    """Return the processes that use a cache, also unknown ones; remove what killed ones left."""
    found = []
    for path in sorted((root / FOLDER).glob("*.lock")):
        holder = read_holder(path)
        try:
            abandoned = try_lock(path)
        except IsADirectoryError:
            continue
        except OSError:  # cannot be told: assume that it is in use
            abandoned = None
        if abandoned is not None:
            remove_lock(abandoned)
        elif path.exists():
            found.append(holder or read_holder(path) or Holder.unknown(path))
    return found


def used_since(root: Path) -> float | None:
    """Return the time since when something may be in use; None if no process uses the cache."""
    began = [holder.since for holder in running(root)]
    return min(began) - SLACK_SECONDS if began else None


def removal(root: Path) -> contextlib.AbstractContextManager[None]:
    """Keep others from removing files of the cache, and from beginning to use it, meanwhile."""
    return locked(root / REMOVAL, f"{root}: files are being removed")


def _begin(root: Path) -> FileLock | None:
    """Register this process; None where that cannot be written.

    Not while files are being removed: whoever removes them has counted the sessions already.
    """
    try:
        (root / FOLDER).mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OutputError), removal(root):  # a lock file of another user
            return _register(root)
        return _register(root)
    except OSError:  # read-only, or a file system without locks
        return None


def _register(root: Path) -> FileLock | None:
    for _ in range(ATTEMPTS):
        path = root / FOLDER / f"{os.getpid()}-{secrets.token_hex(4)}.lock"
        if (session := try_lock(path)) is not None:
            return session
    return None
