"""Files of named arrays: `.npy`, `.npz`, `.h5` and `.safetensors`, and what can be wrong with them.

Nothing that could run code is read, and nothing is allocated on a header's word alone.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from stepreel.errors import RecordingError
from stepreel.types import readable

Arrays = dict[str, NDArray[Any]]
REAL_NUMBERS = "fiub"  # kinds of numpy's types; what is left are texts, dates, complex numbers, …
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib")
NPY_CUE = "features"
SOMETHING_ELSE = "it is something else; pickles, which can run code, are refused"
# What zipfile raises for bad archives, for those with passwords, and for unknown compressions.
DAMAGED = (BadZipFile, EOFError, LZMAError, RuntimeError, struct.error, zlib.error)


def is_feature_file(path: Path) -> bool:
    """Tell by its name whether a file holds features."""
    return path.suffix.lower() in READERS


def read_arrays(path: Path) -> Arrays:
    """Read all arrays of a file by name; RecordingError says why that cannot be done."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        advice = "; pickles can run code and are never read" if suffix in PICKLES else ""
        raise RecordingError(
            f"{readable(path.name)}: features are read from {', '.join(READERS)}, "
            f"not {suffix or 'a file without such an ending'}{advice}"
        )
    with explain_read_errors(path):
        return READERS[suffix](path)


@contextmanager
def explain_read_errors(path: Path) -> Iterator[None]:
    """Turn what readers of arrays trip over into a RecordingError that names the file."""
    try:
        with explain_memory_errors(path):
            yield
    except FileNotFoundError:
        raise RecordingError(f"{readable(path.name)}: does not exist") from None
    except (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError) as problem:
        why = (problem.strerror or problem) if isinstance(problem, OSError) else problem
        raise RecordingError(
            f"{readable(path.name)}: cannot be read as {path.suffix.lower()} ({why})"
        ) from problem


@contextmanager
def explain_memory_errors(path: Path) -> Iterator[None]:
    """Turn a lack of memory while a file is read into a RecordingError."""
    try:
        yield
    except MemoryError as problem:
        raise RecordingError(
            f"{readable(path.name)}: needs more memory than there is ({problem}); "
            "save fewer moments or features, or smaller numbers (float32)"
        ) from problem


@dataclass(frozen=True)
class ArrayHeader:
    """What a file says of an array before its numbers come."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """How much memory the array takes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{str(self.dtype)[:40]} {self.shape}"


def read_headers(path: Path) -> dict[str, ArrayHeader]:
    """Return what a .npy (its array has no name) or .npz file says of its arrays; read no more.

    ValueError if it is something else, has pickled objects in it, or less than it says.
    """
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return {"": _header(file, path.stat().st_size)}
    with _unzipped(path) as archive:
        return {name: _member_header(archive, one) for name, one in _members(archive).items()}


def _header(file: IO[bytes], n_bytes: int) -> ArrayHeader:
    """Read the header of a .npy file, or of a member of a .npz file, that is `n_bytes` long."""
    try:
        version = npy_format.read_magic(file)
    except ValueError:
        raise ValueError(SOMETHING_ELSE if n_bytes else "it is empty") from None
    try:
        old = version == (1, 0)
        read = npy_format.read_array_header_1_0 if old else npy_format.read_array_header_2_0
        shape, _, dtype = read(file)
    except (SyntaxError, TokenError, TypeError, ValueError) as problem:
        raise ValueError("its header is damaged") from problem
    header = ArrayHeader(tuple(shape), dtype)
    if dtype.hasobject:
        raise ValueError(
            "it holds pickled objects, which can run code and are refused; save numbers instead"
        )
    rest = n_bytes - file.tell()
    if min(shape, default=0) < 0 or header.n_bytes > rest:
        raise ValueError(
            f"it says that it holds {header}, which is {header.n_bytes:,} bytes, but there are "
            f"{rest:,}; is it damaged or cut short?"
        )
    return header


@contextmanager
def _unzipped(path: Path) -> Iterator[ZipFile]:
    """Open a .npz file; ValueError for what the zip format can be wrong in."""
    with path.open("rb") as file:
        if not is_zipfile(file):
            file.seek(0)
            raise ValueError("it is cut short" if file.read(2) == b"PK" else SOMETHING_ELSE)
        try:
            with ZipFile(file) as archive:
                yield archive
        except DAMAGED as problem:
            why = str(problem) or "it ends too early"
            raise ValueError(f"it is damaged, or packed in an unusual way: {why}") from problem


def _members(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the files in a .npz file by the names of their arrays."""
    members: dict[str, ZipInfo] = {}
    for one in archive.infolist():
        name = one.filename.removesuffix(".npy")
        if name in members:
            raise ValueError(f"`{name}` is in it twice")
        members[name] = one
    return members


def _member_header(archive: ZipFile, one: ZipInfo) -> ArrayHeader:
    with archive.open(one) as file:
        try:
            return _header(file, one.file_size)
        except ValueError as problem:
            raise ValueError(f"`{one.filename}` in it is no array: {problem}") from problem


def _check_memory(n_bytes: int) -> None:
    """Raise ValueError if arrays are larger than the machine's memory, as far as it tells."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # as on Windows: reading it will tell
        return
    if n_bytes > there:
        raise ValueError(
            f"it says that it holds {n_bytes:,} bytes of numbers, but this machine's memory is "
            f"{there:,} bytes"
        )


def _read_npy(path: Path) -> Arrays:
    _check_memory(sum(one.n_bytes for one in read_headers(path).values()))
    return {NPY_CUE: np.load(path, allow_pickle=False)}


def _read_npz(path: Path) -> Arrays:
    _check_memory(sum(one.n_bytes for one in read_headers(path).values()))
    with _unzipped(path) as archive:
        return {
            name: npy_format.read_array(archive.open(one), allow_pickle=False)
            for name, one in _members(archive).items()
        }


def _read_safetensors(path: Path) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: Arrays = load_file(path)
    except SafetensorError as problem:
        raise ValueError(str(problem)) from problem
    return arrays


def _read_h5(path: Path) -> Arrays:
    import h5py

    arrays: Arrays = {}

    def take(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in REAL_NUMBERS:
            _check_memory(sum(x.nbytes for x in arrays.values()) + item.size * item.dtype.itemsize)
            arrays[name] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(take)
    return arrays


READERS: Mapping[str, Callable[[Path], Arrays]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".h5": _read_h5,
    ".hdf5": _read_h5,
}
