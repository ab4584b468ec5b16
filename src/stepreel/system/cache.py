"""The cache as a whole: its size and limit, what is removed first, and clearing it.

Only files with the names that stepreel gives are counted and removed; others in the folder are left
alone. So are those that a running process has used.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from stepreel.errors import OutputError, SettingsError
from stepreel.system import sessions
from stepreel.system.damage import gather_damage
from stepreel.system.files import read_regular, write_text
from stepreel.system.locks import remove_lock, try_lock
from stepreel.system.machine import cache_folder
from stepreel.system.store import Store, explain_cache_write_errors

log = logging.getLogger(__name__)

AnyCache = str | PathLike[str] | bool | None
"""The folder of a cache; None or True: the usual one; False: none at all."""

VARIABLE = "STEPREEL_CACHE_LIMIT"
SETTINGS = "cache.json"
DEFAULT_LIMIT = 20_000_000_000
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

FOLDERS = ("recordings", "models", "predictions", "measures", "backbones")
_RECORDING = r"recordings/[0-9a-f]{32}(@[^/]+)?"
_DIGEST = r"[0-9a-f]{16}"
# Plug-ins keep files of their own in backbones/: there, only names of the network that earlier
# versions kept count.
_ENTRY = (
    rf"({_RECORDING}/[^/]+-{_DIGEST}|models/model-{_DIGEST}|(predictions|measures)/[^/]+-{_DIGEST}"
    rf"|backbones/efficientnet-lite0-[0-9a-f]{{8}}-{_DIGEST})"
)
_FOLDER = rf"({_RECORDING}|models|predictions|measures|backbones)"
_PART = r"\.[a-z0-9_]{8}\.part"  # what is being written; see `files.atomic_path`
OWN_FILE = re.compile(
    rf"{_ENTRY}\.(safetensors|json)|{_ENTRY}\.parts-\d+/(\d+\.safetensors|{_PART})"
    rf"|{_FOLDER}/{_PART}|backbones/efficientnet-lite0-[0-9a-f]{{8}}-v\d+\.onnx"  # of 0.1.0
)
OWN_FOLDER = re.compile(rf"{'|'.join(FOLDERS)}|{_RECORDING}|{_ENTRY}\.parts-\d+")
OWN_LOCK = re.compile(rf"{_ENTRY}\.lock|{_RECORDING}/extraction\.lock")


@dataclass(frozen=True)
class CachedFile:
    """One file in the cache; `used` is the time of its last use, in seconds since 1970."""

    path: Path
    kind: str
    size: int
    used: float


@dataclass(frozen=True)
class Removal:
    """What was removed from the cache, and what was not because a running process uses it."""

    n_files: int
    n_bytes: int
    kept_bytes: int = 0


@dataclass(frozen=True)
class Limit:
    """The largest size of the cache, None for no limit, and where that was set."""

    n_bytes: int | None
    origin: str

    def __str__(self) -> str:
        return "no limit" if self.n_bytes is None else f"at most {format_size(self.n_bytes)}"


@contextlib.contextmanager
def open_cache(cache: AnyCache = None, *, hold: bool = False) -> Iterator[Store]:
    """Open a cache; afterwards reduce it to its limit.

    cache  its folder; None or True: the usual one; False: a new one, which is removed afterwards
    hold   what was found there is used after the block, too: until the process ends, or, in a cache
           that is removed, for as long as the store is referred to
    """
    if cache is False:
        with _temporary_store(hold=hold) as store:
            yield store
        return
    root = cache_folder() if cache is None or cache is True else Path(cache)
    limit = read_limit(root)  # first: a wrong limit is reported before any work
    if hold:
        sessions.hold(root)
        with gather_damage(root):
            yield Store(root)
        trim(root, limit)
        return
    try:
        with sessions.in_use(root), gather_damage(root):
            yield Store(root)
    finally:
        trim(root, limit)


@contextlib.contextmanager
def _temporary_store(*, hold: bool) -> Iterator[Store]:
    store = Store(Path(tempfile.mkdtemp(prefix="stepreel-")))
    remove = weakref.finalize(store, shutil.rmtree, store.root, ignore_errors=True)
    try:
        yield store
    except BaseException:
        remove()
        raise
    if not hold:
        remove()


def parse_size(text: str) -> int | None:
    """Parse a size in bytes; None for no limit.

    >>> parse_size("5GB"), parse_size("1.5 MiB"), parse_size("none")
    (5000000000, 1572864, None)
    """
    if text.strip().lower() == "none":
        return None
    parts = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]+)\s*", text)
    if parts is None or parts[2].upper() not in UNITS:
        raise SettingsError(f"{text!r} is not a size; expected one such as 5GB or 500MB, or none")
    return round(float(parts[1]) * UNITS[parts[2].upper()])


def format_size(n_bytes: int) -> str:
    """Format a size.

    >>> format_size(0), format_size(5_000_000_000), format_size(12_345_678)
    ('0 MB', '5 GB', '12 MB')
    """
    if n_bytes >= 1e9:
        return f"{n_bytes / 1e9:.3g} GB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 1e6 or not n_bytes else f"{n_bytes / 1e6:.2g} MB"


def read_limit(root: Path) -> Limit:
    """Return the limit of a cache: of the environment, else the stored one, else the usual one."""
    if stated := os.environ.get(VARIABLE):
        try:
            return Limit(parse_size(stated), VARIABLE)
        except SettingsError as problem:
            raise SettingsError(f"{VARIABLE}: {problem}") from None
    try:
        stored = json.loads(read_regular(root / SETTINGS))["limit"]
        return Limit(parse_size(stored), "set with `stepreel cache --limit`")
    except OSError:
        return Limit(DEFAULT_LIMIT, "default")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        log.warning("%s is damaged; the limit is the default one", root / SETTINGS)
        return Limit(DEFAULT_LIMIT, "default")


def set_limit(root: Path, size: str) -> None:
    """Store the limit of a cache: "5GB", or "none"."""
    parse_size(size)
    path = root / SETTINGS
    with explain_cache_write_errors(path):
        write_text(path, json.dumps({"limit": size.strip()}) + "\n")


def cached_files(root: Path) -> list[CachedFile]:
    """Return stepreel's own files in a cache, those not used for longest first."""
    found = []
    for path in _matching(root, OWN_FILE):
        with contextlib.suppress(OSError):  # removed by another process in the meantime
            status = path.stat()
            kind = path.relative_to(root).parts[0]
            found.append(CachedFile(path, kind, status.st_size, status.st_mtime))
    return sorted(found, key=lambda file: file.used)


def trim(root: Path, limit: Limit | None = None) -> Removal:
    """Remove what was not used for longest, until the cache is no larger than its limit."""
    n_bytes = (limit or read_limit(root)).n_bytes
    sessions.running(root)  # removes what killed processes left
    if n_bytes is None or _size(cached_files(root)) <= n_bytes:
        return Removal(0, 0)
    with contextlib.suppress(OutputError), sessions.removal(root):
        files = cached_files(root)  # again: another process may have removed some by now
        return _remove(root, files, _size(files) - n_bytes)
    return Removal(0, 0)  # another user is removing files


def clear(root: Path) -> Removal:
    """Remove everything that no running process uses."""
    if not root.is_dir():
        return Removal(0, 0)
    with sessions.removal(root):
        for path in list(_matching(root, OWN_LOCK)):
            with contextlib.suppress(OSError):
                if (abandoned := try_lock(path)) is not None:
                    remove_lock(abandoned)
        return _remove(root, cached_files(root), None)


def _size(files: list[CachedFile]) -> int:
    return sum(file.size for file in files)


def _remove(root: Path, files: list[CachedFile], excess: int | None) -> Removal:
    """Remove files in order, until `excess` bytes are gone; None: all of them."""
    since = sessions.used_since(root)
    n_files = n_bytes = kept = 0
    for file in files:
        if excess is not None and n_bytes >= excess:
            break
        try:
            if not _remove_unless_used(file.path, since):
                kept += file.size
                continue
        except OSError:  # not ours to remove, or removed by the process that made it
            continue
        n_files, n_bytes = n_files + 1, n_bytes + file.size
    if since is None:  # else a process may be about to write into them
        _remove_empty_folders(root)
    return Removal(n_files, n_bytes, kept)


def _remove_unless_used(path: Path, since: float | None) -> bool:
    """Remove a file unless it was used since some time; return whether it was removed.

    Whoever uses a file notes the time first, and then opens it. So the file is moved aside before
    the time is looked at: it is either too late to use it, or the time is there.
    """
    if since is None:
        path.unlink()
        return True
    if path.stat().st_mtime >= since:
        return False
    aside = path.with_name(f".{secrets.token_hex(4)}.part")
    path.rename(aside)
    is_used = aside.stat().st_mtime >= since
    if is_used and not path.exists():
        aside.rename(path)
    else:
        aside.unlink()
    return not is_used


def _remove_empty_folders(root: Path) -> None:
    for top in _tops(root):
        for name, _, _ in os.walk(top, topdown=False):
            folder = Path(name)
            if OWN_FOLDER.fullmatch(folder.relative_to(root).as_posix()):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _tops(root: Path) -> list[Path]:
    return [root / name for name in FOLDERS if not (root / name).is_symlink()]


def _matching(root: Path, names: re.Pattern[str]) -> Iterator[Path]:
    """Yield files of the cache by their names from its root; links are not followed."""
    for top in _tops(root):
        for folder, _, files in os.walk(top):
            for name in files:
                path = Path(folder, name)
                is_own = names.fullmatch(path.relative_to(root).as_posix())
                if is_own and not path.is_symlink():
                    yield path
