"""Tracks on disk: one file of arrays per (recording, cue), written atomically, checked when read.

Every file also contains a fingerprint of its source, settings and code, and is used only if that
matches. What is damaged is reported in one line, removed, and made again. While a recording is
being extracted, a cue has a folder of shards instead of the finished file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from stepreel.errors import StoreError
from stepreel.system.checked_arrays import (
    Arrays,
    CheckedArrays,
    DamagedError,
    join_arrays,
    write_arrays,
)
from stepreel.system.damage import warn_of_damage
from stepreel.system.files import read_regular, write_text
from stepreel.system.locks import locked
from stepreel.system.running_code import check_code
from stepreel.types import FeatureTrack, Progress, no_progress

T = TypeVar("T")


def digest(description: object) -> str:
    """Return a short hash of a JSON-serialisable description."""
    text = json.dumps(description, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Entry:
    """The path of one file of arrays in the store, and the fingerprint it must have."""

    folder: Path
    name: str
    description: dict[str, object]
    shard_rows: int = 0

    @property
    def path(self) -> Path:
        """The finished file."""
        return self.folder / f"{self.name}-{digest(self.description)}.safetensors"

    @property
    def fingerprint(self) -> str:
        """The source, settings and code the file was made from, as JSON."""
        return json.dumps(self.description, sort_keys=True, default=str)

    def shard(self, number: int) -> Path:
        """Return the path of one shard, which exists while extraction is in progress."""
        return self._shards / f"{number:04d}.safetensors"

    @property
    def _shards(self) -> Path:
        # The shard length is in the name, because shards of another length cannot be joined.
        return self.path.with_suffix(f".parts-{self.shard_rows}")

    def exists(self) -> bool:
        """Return whether there is a matching file whose header is not damaged."""
        return self.opened() is not None

    def opened(self) -> CheckedArrays | None:
        """Open the finished file; None if it is missing, damaged or does not match."""
        return self._use(self.path, lambda file: file)

    def opened_intact(self) -> CheckedArrays | None:
        """Open the finished file after checking all of it; None as in `opened`."""

        def checked(file: CheckedArrays) -> CheckedArrays:
            file.check()
            return file

        return self._use(self.path, checked)

    def load(self) -> dict[str, NDArray[Any]] | None:
        """Return all arrays of the finished file; None if missing, damaged or not matching."""
        return self._use(self.path, CheckedArrays.read_all)

    def load_track(self, recording: str) -> FeatureTrack | None:
        """Return the finished file as a track of `recording`; None as in `load`."""
        arrays = self.load()
        if arrays is None:
            return None
        return FeatureTrack(
            recording, self.name, arrays["times"], arrays["features"], arrays["valid"]
        )

    def _use(self, path: Path, use: Callable[[CheckedArrays], T]) -> T | None:
        """Open a file and use it; report and remove it if it is damaged."""
        mark_as_used(path)  # first: see `cache._remove_unless_used`
        version = _version(path)
        try:
            file = CheckedArrays.open(path)
            if file.metadata.get("fingerprint") != self.fingerprint:
                return None
            used = use(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            _give_up_unless_irregular(path, problem)
            return None
        except DamagedError as problem:
            report_damage(path, problem, version)
            return None
        return used

    def rows_in_shard(self, number: int) -> int | None:
        """Count the moments in one shard; None if it is missing, damaged or does not match."""
        return self._use(self.shard(number), _rows)

    def write(self, arrays: Arrays) -> None:
        """Write the finished file."""
        self._write(self.path, arrays)

    def write_shard(self, number: int, arrays: Arrays) -> None:
        """Write one shard."""
        self._write(self.shard(number), arrays)

    def write_track(self, track: FeatureTrack) -> None:
        """Write a track as the finished file."""
        self.write({"features": track.features, "times": track.times, "valid": track.valid})

    def _write(self, path: Path, arrays: Arrays) -> None:
        check_code(self.fingerprint)
        with explain_cache_write_errors(path):
            write_arrays(path, arrays, {"fingerprint": self.fingerprint})

    def join_shards(self, count: int) -> bool:
        """Join shards 0..count-1 into the finished file; False if one is missing or damaged."""
        shards = [self._use(self.shard(number), lambda file: file) for number in range(count)]
        opened = [shard for shard in shards if shard is not None]
        if len(opened) < count:
            return False
        check_code(self.fingerprint)
        try:
            with explain_cache_write_errors(self.path):
                join_arrays(opened, self.path, {"fingerprint": self.fingerprint})
        except DamagedError:
            for number in range(count):  # find, report and remove those that are damaged
                self._use(self.shard(number), CheckedArrays.check)
            return False
        shutil.rmtree(self._shards, ignore_errors=True)
        return True

    def lock(self, purpose: str, progress: Progress = no_progress) -> AbstractContextManager[None]:
        """Keep other processes from making the same; `purpose` is for those that wait."""
        return locked(self.path.with_suffix(".lock"), purpose, progress=progress)


@dataclass(frozen=True)
class Store:
    """The cache folder: `recordings/<source>/…` and `models/…`."""

    root: Path

    def recording_entry(
        self,
        source: str,
        name: str,
        settings: Mapping[str, object],
        *,
        code: Mapping[str, object] | None = None,
        shard_rows: int = 0,
    ) -> Entry:
        """Return the entry for the output `name` of a source file with these settings.

        code  by which it is made; see `source_hashes`
        """
        description: dict[str, object] = {
            "source": source,
            "name": name,
            "settings": dict(settings),
            "code": dict(code or {}),
        }
        return Entry(self.root / "recordings" / source, name, description, shard_rows)

    def model_entry(self, description: Mapping[str, object]) -> Entry:
        """Return the entry for the model trained from `description` (tracks, settings, code)."""
        return Entry(self.root / "models", "model", dict(description))

    def lock_recording(
        self, source: str, purpose: str, progress: Progress = no_progress
    ) -> AbstractContextManager[None]:
        """Keep other processes from extracting the same recording."""
        path = self.root / "recordings" / source / "extraction.lock"
        return locked(path, purpose, progress=progress)

    @property
    def backbones(self) -> Path:
        """Folder that every cue gets in `prepare`, and that is kept between runs."""
        return self.root / "backbones"


def read_facts(entry: Entry) -> dict[str, Any] | None:
    """Read the JSON file next to an entry; None if it is missing, damaged or does not match."""
    path = entry.path.with_suffix(".json")
    mark_as_used(path)
    version = _version(path)
    try:
        stored = json.loads(read_regular(path))
        facts: dict[str, Any] = stored["facts"]
        is_whole = stored["checksum"] == digest(facts)
        if not is_whole or stored["fingerprint"] != entry.fingerprint:
            raise DamagedError("its checksum is wrong")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        _give_up_unless_irregular(path, problem)
        return None
    except (DamagedError, ValueError, KeyError, TypeError, RecursionError) as problem:
        report_damage(path, problem, version)
        return None
    return facts


def write_facts(entry: Entry, facts: Mapping[str, object]) -> None:
    """Write a JSON file next to an entry."""
    check_code(entry.fingerprint)
    path = entry.path.with_suffix(".json")
    stored = json.loads(json.dumps(facts))  # as it will be read: keys are text, tuples are lists
    content = {"facts": stored, "checksum": digest(stored), "fingerprint": entry.fingerprint}
    with explain_cache_write_errors(path):
        write_text(path, json.dumps(content, indent=1))


def _give_up_unless_irregular(path: Path, problem: OSError) -> None:
    """Report a folder or pipe in the place of a file as damage; raise for any other reason.

    A file that cannot be read may be whole: too many open files, or a disk that is gone, are no
    reason to remove it.
    """
    if not path.exists() or path.is_file():
        raise StoreError(f"{path}: cannot be read ({problem.strerror or problem})") from problem
    report_damage(path, DamagedError(problem.strerror or str(problem)), _version(path))


def _version(path: Path) -> tuple[int, ...] | None:
    """Return what changes when another process makes a file again."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def report_damage(path: Path, problem: Exception, version: tuple[int, ...] | None) -> None:
    """Warn of a damaged file and remove it, so that it is made again; a folder is moved aside.

    version  of the damaged file: what another process has made in the meantime is not removed
    """
    reason = str(problem) if isinstance(problem, DamagedError) else "not as written"
    warn_of_damage(path, reason)
    if _version(path) != version:
        return
    with contextlib.suppress(OSError):
        if path.is_dir():
            path.rename(path.with_name(f"{path.name}.moved-{time.time_ns()}"))
        else:
            path.unlink()


def mark_as_used(path: Path) -> None:
    """Note the time of use: what was not used for longest is removed first."""
    with contextlib.suppress(OSError):  # a cache that is only read
        os.utime(path)


def _rows(file: CheckedArrays) -> int:
    return file.layouts["times"].shape[0]


@contextmanager
def explain_cache_write_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` while writing `path` into a `StoreError` that says what to do."""
    try:
        yield
    except OSError as problem:
        advice = "choose another folder with --cache or STEPREEL_CACHE"
        if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            advice = f"free some space or {advice}"
        reason = f"cannot write to the cache folder {path.parent} ({problem.strerror})"
        raise StoreError(f"{reason}; {advice}") from problem
