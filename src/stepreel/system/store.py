"""Tracks on disk: one safetensors file per (recording, cue), written atomically.

Every file also contains a fingerprint of its source and settings, and is used only if that matches.
While a recording is being extracted, a cue has a folder of shards instead of the finished file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from stepreel.errors import StoreError
from stepreel.system.files import atomic_writer, write_bytes, write_text
from stepreel.types import FeatureTrack

Arrays = Mapping[str, NDArray[np.generic]]

log = logging.getLogger(__name__)

DTYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


def digest(description: object) -> str:
    """Return a short hash of a JSON-serialisable description."""
    text = json.dumps(description, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Entry:
    """The path of one array file in the store, and the fingerprint it must have."""

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
        """The source and settings the file was made from, as JSON."""
        return json.dumps(self.description, sort_keys=True, default=str)

    def shard(self, number: int) -> Path:
        """Return the path of one shard, which exists while extraction is in progress."""
        return self._shards / f"{number:04d}.safetensors"

    @property
    def _shards(self) -> Path:
        # The shard length is in the name, because shards of another length cannot be joined.
        return self.path.with_suffix(f".parts-{self.shard_rows}")

    def exists(self) -> bool:
        """Return whether there is a complete, matching file; a damaged one counts as missing."""
        return _rows(self.path, self.fingerprint) is not None

    def rows_in_shard(self, number: int) -> int | None:
        """Count the moments in one shard; None if it is missing, damaged or does not match."""
        return _rows(self.shard(number), self.fingerprint)

    def write(self, arrays: Arrays) -> None:
        """Write the finished file."""
        _write(self.path, arrays, self.fingerprint)

    def write_shard(self, number: int, arrays: Arrays) -> None:
        """Write one shard."""
        _write(self.shard(number), arrays, self.fingerprint)

    def read(self) -> dict[str, NDArray[Any]]:
        """Return all arrays of the finished file."""
        with _explain_cache_read_errors(self.path), _open(self.path) as file:
            return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118

    def join_shards(self, count: int) -> None:
        """Join shards 0..count-1 into the finished file, with one shard in memory at a time."""
        shards = [self.shard(number) for number in range(count)]
        try:
            with explain_cache_write_errors(self.path):
                _join(shards, self.path, self.fingerprint)
        except (StoreError, SafetensorError):
            if not self.exists():  # otherwise another process finished this recording first
                raise
        shutil.rmtree(self._shards, ignore_errors=True)

    def write_track(self, track: FeatureTrack) -> None:
        """Write a track as the finished file."""
        self.write({"features": track.features, "times": track.times, "valid": track.valid})

    def read_track(self, recording: str) -> FeatureTrack:
        """Read the finished file as a track of `recording`."""
        arrays = self.read()
        return FeatureTrack(
            recording, self.name, arrays["times"], arrays["features"], arrays["valid"]
        )


@dataclass(frozen=True)
class Store:
    """The cache folder: `recordings/<source>/…` and `models/…`."""

    root: Path

    def recording_entry(
        self, source: str, name: str, settings: Mapping[str, object], *, shard_rows: int = 0
    ) -> Entry:
        """Return the entry for the output `name` of a source file with these settings."""
        description: dict[str, object] = {
            "source": source,
            "name": name,
            "settings": dict(settings),
        }
        return Entry(self.root / "recordings" / source, name, description, shard_rows)

    def model_entry(self, description: Mapping[str, object]) -> Entry:
        """Return the entry for the model trained from `description` (tracks and settings)."""
        return Entry(self.root / "models", "model", dict(description))

    @property
    def backbones(self) -> Path:
        """Folder of exported networks."""
        return self.root / "backbones"

    def size_bytes(self) -> int:
        """Return the size of the store on disk."""
        return sum(f.stat().st_size for f in self.root.rglob("*") if f.is_file())


def read_facts(entry: Entry) -> dict[str, Any] | None:
    """Read the JSON file next to an entry; None if it is missing, damaged or does not match."""
    try:
        facts = json.loads(entry.path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(facts, dict) or facts.pop("fingerprint", None) != entry.fingerprint:
        return None
    return facts


def write_facts(entry: Entry, facts: Mapping[str, object]) -> None:
    """Write a JSON file next to an entry."""
    path = entry.path.with_suffix(".json")
    with explain_cache_write_errors(path):
        write_text(path, json.dumps({**facts, "fingerprint": entry.fingerprint}, indent=1))


def read_slice(path: Path, name: str, start: int, stop: int) -> NDArray[Any]:
    """Read rows start..stop of one array without loading the rest."""
    with _explain_cache_read_errors(path), _open(path) as file:
        rows: NDArray[Any] = file.get_slice(name)[start:stop]
        return rows


def _open(path: Path) -> Any:
    return safe_open(path, framework="np")


def _rows(path: Path, fingerprint: str) -> int | None:
    """Return the number of rows of a complete file with this fingerprint; None if there is none."""
    if not path.exists():
        return None
    try:
        with _open(path) as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError) as problem:
        log.warning("%s is damaged (%s); recreating it", path, problem)
        return None
    return int(metadata["rows"]) if metadata.get("fingerprint") == fingerprint else None


def _write(path: Path, arrays: Arrays, fingerprint: str) -> None:
    metadata = {"fingerprint": fingerprint, "rows": str(_count_rows(arrays))}
    content = save({key: np.ascontiguousarray(a) for key, a in arrays.items()}, metadata)
    with explain_cache_write_errors(path):
        write_bytes(path, content)


def _count_rows(arrays: Arrays) -> int:
    """Count moments; 0 for an array file that is not a track."""
    return len(arrays["times"]) if "times" in arrays else 0


def _join(shards: Sequence[Path], path: Path, fingerprint: str) -> None:
    """Write a safetensors file with the arrays of all shards concatenated.

    The format is 8 bytes of header length, a JSON header, then the raw arrays. Writing it directly
    avoids loading hours of features into memory.
    """
    files = [_open(shard) for shard in shards]
    names = sorted(files[0].keys())
    rows = sum(int(file.metadata()["rows"]) for file in files)
    metadata = {"fingerprint": fingerprint, "rows": str(rows)}
    header: dict[str, object] = {"__metadata__": metadata}
    end = 0
    # Arrays with larger items first, so that every array is aligned to its item size.
    names.sort(key=lambda name: (-files[0].get_slice(name)[:0].itemsize, name))
    for name in names:
        pieces = [file.get_slice(name) for file in files]
        sample = pieces[0][:0]
        shape = [sum(piece.get_shape()[0] for piece in pieces), *sample.shape[1:]]
        start, end = end, end + int(np.prod(shape)) * sample.itemsize
        dtype = DTYPES[sample.dtype.name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_writer(path) as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            for file in files:
                out.write(np.ascontiguousarray(file.get_tensor(name)).data)


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


@contextmanager
def _explain_cache_read_errors(path: Path) -> Iterator[None]:
    """Turn a damaged or missing cache file into a `StoreError` that says what to do."""
    try:
        yield
    except (OSError, SafetensorError) as problem:
        raise StoreError(
            f"{path}: cannot be read ({problem}); delete it and run again"
        ) from problem
