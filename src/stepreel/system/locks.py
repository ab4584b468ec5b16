"""Locks between processes: what one of them makes or writes, the others wait for.

A lock is a file that the operating system locks for the process, so that the lock of a killed
process is free at once. The file says who holds it, for messages, and is removed afterwards.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from stepreel.errors import OutputError
from stepreel.system.files import read_regular
from stepreel.types import WAITING, Progress, no_progress

log = logging.getLogger(__name__)

OUTPUT_LOCK = ".stepreel.lock"
POLL_SECONDS = 0.1
SHOWN_AFTER_SECONDS = 0.5
CLOCKS_DIFFER_SECONDS = 3600.0  # at most, between machines that share a folder
WITHOUT_LOCKS = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK})


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock; `since` is in seconds since 1970."""

    pid: int
    host: str
    since: float

    @classmethod
    def this_process(cls) -> Holder:
        """Describe this process, as of now."""
        return cls(os.getpid(), socket.gethostname(), time.time())

    @classmethod
    def unknown(cls, path: Path) -> Holder:
        """Describe a process of which nothing is known but its lock."""
        return cls(0, path.name, 0.0)

    def __str__(self) -> str:
        if not self.pid:
            return f"an unknown process ({self.host})"
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        return f"process {self.pid} on {self.host}, since {since}"


def read_holder(path: Path) -> Holder | None:
    """Return who holds a lock; None if that cannot be read, as just before it is written."""
    try:
        stated = json.loads(read_regular(path))
        holder = Holder(int(stated["pid"]), str(stated["host"]), float(stated["since"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    is_plausible = holder.pid > 0 and 0 <= holder.since <= time.time() + CLOCKS_DIFFER_SECONDS
    return holder if is_plausible else None


@contextlib.contextmanager
def locked(path: Path, purpose: str, *, progress: Progress = no_progress) -> Iterator[None]:
    """Hold the lock file `path`; wait while another process holds it.

    Where no lock can be had, the work goes on without one: on a file system without locks with a
    warning, and where nothing can be written because the work itself says so better.

    purpose  what is locked, for messages: "out: is being written"
    """
    lock = make_lock(path)
    try:
        _acquire(lock, path, purpose, progress)
    except OSError as problem:
        if problem.errno in WITHOUT_LOCKS:
            _warn_of_missing_locks(path.parent)
        elif os.access(path, os.F_OK) and os.access(path.parent, os.W_OK):
            raise OutputError(
                f"{path}: cannot be used as a lock ({problem.strerror}); it may belong to another "
                "user. Remove it if nobody else is using this folder"
            ) from problem
        yield
        return
    try:
        yield
    finally:
        remove_lock(lock)


def lock_output(
    folder: Path, progress: Progress = no_progress
) -> contextlib.AbstractContextManager[None]:
    """Keep other processes from writing into an output folder; wait while one does."""
    return locked(folder / OUTPUT_LOCK, f"{folder}: is being written", progress=progress)


def make_lock(path: Path) -> FileLock:
    """Return a lock that writes into its file who holds it."""
    return FileLock(path, on_acquired=_write_holder)


def try_lock(path: Path) -> FileLock | None:
    """Return an acquired lock, or None if another process holds it; OSError if it cannot be had."""
    lock = make_lock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def remove_lock(lock: FileLock) -> None:
    """Release a lock and remove its file, before that where the system allows it.

    Whoever waits for a removed file notices, and makes a new one.
    """
    with contextlib.suppress(OSError):
        os.unlink(lock.lock_file)
    lock.release()


def _acquire(lock: FileLock, path: Path, purpose: str, progress: Progress) -> None:
    """Acquire a lock; say once for whom this process waits, and show that it does as progress."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=SHOWN_AFTER_SECONDS, poll_interval=POLL_SECONDS)
        return
    except Timeout:
        log.warning("%s by %s; waiting", purpose, read_holder(path) or "another process")
    while True:
        progress(WAITING, 0, 0)
        try:
            lock.acquire(timeout=1.0, poll_interval=POLL_SECONDS)
        except Timeout:
            continue
        progress(WAITING, 1, 1)
        return


def _write_holder(descriptor: int) -> None:
    content = json.dumps(vars(Holder.this_process())).encode()
    with contextlib.suppress(OSError):  # it serves messages only
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, content)


@cache
def _warn_of_missing_locks(folder: Path) -> None:
    log.warning("%s: this file system has no locks; run only one command at a time", folder)
