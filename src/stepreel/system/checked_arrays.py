"""Files of arrays whose content is checked whenever it is read, in whole or in part.

The format is safetensors: 8 bytes of header length, a JSON header, then the raw arrays. The header
also has a checksum of every block of 64 KiB of the arrays, and one of itself. A slice is checked by
the blocks it lies in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import StoreError
from stepreel.system.files import atomic_writer, open_regular

Arrays = Mapping[str, NDArray[Any]]

BLOCK_BYTES = 1 << 16
CHECKED_AT_ONCE = 64 * BLOCK_BYTES
DIGEST_BYTES = 8
LARGEST_HEADER = 100_000_000  # bytes; safetensors refuses more
DTYPES = {
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    "bool": "BOOL",
}
NUMPY_NAMES = {name: numpy_name for numpy_name, name in DTYPES.items()}


class DamagedError(StoreError):
    """A file of arrays is not as it was written."""


@dataclass(frozen=True)
class Layout:
    """Type, shape and place of one array; `start` and `stop` count bytes after the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def row_bytes(self) -> int:
        """The size of one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    def described(self) -> dict[str, object]:
        """Return the array's entry in the header."""
        dtype, shape = DTYPES[self.dtype.name], list(self.shape)
        return {"dtype": dtype, "shape": shape, "data_offsets": [self.start, self.stop]}


def write_arrays(path: Path, arrays: Arrays, metadata: Mapping[str, str]) -> None:
    """Write arrays to a file, atomically."""
    shapes = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    _write(path, shapes, lambda name: [arrays[name]], metadata)


def join_arrays(shards: Sequence[CheckedArrays], path: Path, metadata: Mapping[str, str]) -> None:
    """Write the arrays of all shards, concatenated, with one array of a shard in memory at a time.

    A damaged shard raises DamagedError.
    """
    shapes = {}
    for name, first in shards[0].layouts.items():
        n_rows = sum(shard.layouts[name].shape[0] for shard in shards)
        shapes[name] = (first.dtype, (n_rows, *first.shape[1:]))
    _write(path, shapes, lambda name: (shard.read(name) for shard in shards), metadata)


@dataclass(frozen=True)
class CheckedArrays:
    """A file of arrays whose header has been read and checked.

    layouts   by the name of the array
    metadata  as it was written
    blocks    checksum of every block of the arrays
    offset    where the arrays begin in the file
    """

    path: Path
    layouts: Mapping[str, Layout]
    metadata: Mapping[str, str]
    blocks: bytes
    offset: int

    @classmethod
    def open(cls, path: Path) -> CheckedArrays:
        """Read the header; DamagedError if it or the file's size is not as it was written."""
        with open_regular(path) as file:
            length = int.from_bytes(file.read(8), "little")
            if length > LARGEST_HEADER:
                raise DamagedError("its header is wrong")
            text = file.read(length)
            size = file.seek(0, 2)
        try:
            header = json.loads(text)
            metadata = header.pop("__metadata__")
            checksum = metadata.pop("checksum")
            if checksum != _header_checksum(header, metadata):
                raise DamagedError("its header is wrong")
            blocks = bytes.fromhex(metadata.pop("blocks"))
            layouts = {name: _layout(described) for name, described in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            raise DamagedError("its header is wrong") from problem
        opened = cls(path, layouts, metadata, blocks, 8 + length)
        if size != (expected := opened.offset + opened._size):
            raise DamagedError(f"it has {size} bytes instead of {expected}")
        return opened

    def read(self, name: str) -> NDArray[Any]:
        """Return one array; DamagedError if its content is not as it was written."""
        layout = self.layouts[name]
        array = np.frombuffer(self._bytes(layout.start, layout.stop), layout.dtype)
        return array.reshape(layout.shape)

    def read_all(self) -> dict[str, NDArray[Any]]:
        """Return all arrays."""
        return {name: self.read(name) for name in self.layouts}

    def read_rows(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Return rows start..stop of one array without reading the rest."""
        layout = self.layouts[name]
        start, stop, _ = slice(start, stop).indices(layout.shape[0])
        first = layout.start + start * layout.row_bytes
        last = layout.start + stop * layout.row_bytes
        array = np.frombuffer(self._bytes(first, last), layout.dtype)
        return array.reshape(stop - start, *layout.shape[1:])

    def check(self) -> None:
        """Raise DamagedError unless all arrays are as they were written."""
        for start in range(0, self._size, CHECKED_AT_ONCE):
            self._bytes(start, min(start + CHECKED_AT_ONCE, self._size))

    @property
    def _size(self) -> int:
        return max((layout.stop for layout in self.layouts.values()), default=0)

    def _bytes(self, start: int, stop: int) -> memoryview:
        """Return bytes start..stop of the arrays, after checking the blocks they lie in."""
        first, last = start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)
        before = first * BLOCK_BYTES
        content = memoryview(bytearray(max(0, min(last * BLOCK_BYTES, self._size) - before)))
        with self.path.open("rb") as file:
            file.seek(self.offset + before)
            if file.readinto(content) != len(content):
                raise DamagedError("it is too short")
        for number in range(first, last):
            block = content[number * BLOCK_BYTES - before :][:BLOCK_BYTES]
            place = number * DIGEST_BYTES
            if _digest(block) != self.blocks[place : place + DIGEST_BYTES]:
                raise DamagedError(f"the checksum of block {number} is wrong")
        return content[start - before : stop - before]


def _write(
    path: Path,
    shapes: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]],
    pieces: Callable[[str], Iterable[NDArray[Any]]],
    metadata: Mapping[str, str],
) -> None:
    """Write the header with empty checksums, then the arrays, then the header again.

    pieces  called with the name of an array; returns its parts, in order
    """
    layouts = _arrange(shapes)
    end = max((layout.stop for layout in layouts.values()), default=0)
    empty = bytes(DIGEST_BYTES * -(-end // BLOCK_BYTES))
    with atomic_writer(path) as file:
        file.write(_header(layouts, metadata, empty))
        blocks = _BlockChecksums()
        for name in layouts:
            for piece in pieces(name):
                content = np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
                file.write(content)
                blocks.update(content)
        file.seek(0)
        file.write(_header(layouts, metadata, blocks.finished()))


def _arrange(
    shapes: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]],
) -> dict[str, Layout]:
    """Place arrays with larger items first, so that each is aligned to its item size."""
    layouts, end = {}, 0
    for name in sorted(shapes, key=lambda name: (-shapes[name][0].itemsize, name)):
        dtype, shape = shapes[name]
        start, end = end, end + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        layouts[name] = Layout(dtype, shape, start, end)
    return layouts


def _layout(described: Mapping[str, Any]) -> Layout:
    dtype = np.dtype(NUMPY_NAMES[described["dtype"]])
    return Layout(dtype, tuple(described["shape"]), *described["data_offsets"])


def _header(layouts: Mapping[str, Layout], metadata: Mapping[str, str], blocks: bytes) -> bytes:
    header = {name: layout.described() for name, layout in layouts.items()}
    full = {**metadata, "blocks": blocks.hex()}
    full["checksum"] = _header_checksum(header, full)
    text = json.dumps({"__metadata__": full, **header}).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _header_checksum(header: Mapping[str, object], metadata: Mapping[str, str]) -> str:
    text = json.dumps([header, metadata], sort_keys=True)
    return _digest(text.encode()).hex()


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


class _BlockChecksums:
    """Checksums of consecutive blocks of what is passed to `update`, however it is cut."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._open = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._filled = 0

    def update(self, content: memoryview) -> None:
        for part in self._parts(content):
            self._open.update(part)
            self._filled += len(part)
            if self._filled == BLOCK_BYTES:
                self._close()

    def _parts(self, content: memoryview) -> Iterable[memoryview]:
        """Cut at the borders of blocks."""
        first = BLOCK_BYTES - self._filled
        cuts = [0, *range(first, len(content), BLOCK_BYTES), len(content)]
        return (content[a:b] for a, b in pairwise(cuts))

    def _close(self) -> None:
        self._digests.append(self._open.digest())
        self._open = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._filled = 0

    def finished(self) -> bytes:
        if self._filled:
            self._close()
        return b"".join(self._digests)
