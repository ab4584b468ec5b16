"""The source of modules as this process runs it, which may differ from the files by now.

Guaranteed: `source_of` returns the same hash in two processes only if both run the same source.

* A module that is loaded and whose file has not changed since stepreel was imported: the hash of
  the file. It stays, whatever happens to the file later, until the module is loaded again.
* A module that is loaded and whose file has changed since: which version runs cannot be told. The
  hash is one that no other process has, so that results are kept for this process only.
* A module that is not loaded yet: the hash of the file as it is. Keys made from it are a promise.
  If the file changes before it is loaded, `check_code` refuses to keep results under those keys.

Not noticed: a change, before stepreel is imported, of a file that was loaded even earlier.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import StoreError
from stepreel.system.source_files import imports_of
from stepreel.version import LOADED_AT

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """The hash of a module's source, and all names it imports."""

    digest: str
    imports: frozenset[str]


@dataclass(frozen=True)
class _Known:
    """What was found out about a module.

    load   differs each time the module is loaded; None before that
    stamp  changes with the file
    """

    source: Source
    load: object | None
    stamp: tuple[int, ...]


_known: dict[str, _Known] = {}
_changed: list[Path] = []
_promised: dict[str, dict[str, tuple[Path, str]]] = {}


def source_of(module: str, path: Path) -> Source:
    """Return the source that a module runs, or will run once it is loaded; `path` is its file."""
    load = _load_of(module)
    known = _known.get(module)
    if (
        known is not None
        and known.load is load
        and (load is not None or known.stamp == _stamp(path.stat()))
    ):
        return known.source
    with path.open("rb") as file:
        content = file.read()
        status = os.fstat(file.fileno())
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    stamp = _stamp(status)
    was_loaded_so = known is not None and known.load is None and known.stamp == stamp
    is_older = max(status.st_mtime, status.st_ctime) < LOADED_AT
    if load is not None and not was_loaded_so and not is_older:
        _warn_of_change(path)
        digest = f"{digest} {secrets.token_hex(8)}"
    source = Source(digest, imports_of(content, package))
    _known[module] = _Known(source, load, stamp)
    return source


def _warn_of_change(path: Path) -> None:
    """Warn of the first file that has changed; a new version has many."""
    if not _changed:
        log.warning("%s has changed since stepreel was started; results are not shared", path)
    _changed.append(path)


def promise(key: str, sources: Iterable[tuple[str, Path, str]]) -> None:
    """Note that a key was made from modules, files and hashes; some are not loaded yet."""
    waiting = {module: (path, sha) for module, path, sha in sources if _load_of(module) is None}
    if waiting:
        _promised[key] = waiting


def check_code(fingerprint: str) -> None:
    """Raise StoreError if other code was loaded than a key in a fingerprint says."""
    for key in [key for key in _promised if key in fingerprint]:
        for module, (path, digest) in list(_promised[key].items()):
            if _load_of(module) is None:
                continue
            if not path.is_file() or source_of(module, path).digest != digest:
                raise StoreError(f"{path}: has changed while stepreel was running; run it again")
            del _promised[key][module]


def _load_of(module: str) -> object | None:
    loaded = sys.modules.get(module)
    return None if loaded is None else getattr(loaded, "__spec__", None) or loaded


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
