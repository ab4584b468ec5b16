"""Read named arrays from `.npy`, `.npz`, `.h5` and `.safetensors` files.

Pickles are never read, because they can run code. Sizes in headers are checked before memory is
allocated.
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
REAL_NUMBERS = "fiub"  # kinds of NumPy dtypes; the others are text, dates, complex numbers, …
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib")
NPY_CUE = "features"
NOT_NUMPY = "it is not a NumPy file; pickles can run code and are never read"
# What zipfile raises for damaged or encrypted archives and unknown compression methods.
DAMAGED = (BadZipFile, EOFError, LZMAError, RuntimeError, struct.error, zlib.error)


def is_feature_file(path: Path) -> bool:
    """Return whether a file has a suffix of feature files."""
    return path.suffix.lower() in READERS


def read_arrays(path: Path) -> Arrays:
    """Read all arrays of a file by name; RecordingError says why a file cannot be read."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        advice = "; pickles can run code and are never read" if suffix in PICKLES else ""
        raise RecordingError(
            f"{readable(path.name)}: expected a file with the suffix {', '.join(READERS)}, "
            f"not {suffix or 'a file without a suffix'}{advice}"
        )
    with explain_read_errors(path):
        return READERS[suffix](path)


@contextmanager
def explain_read_errors(path: Path) -> Iterator[None]:
    """Turn errors while reading a file into a RecordingError that names the file."""
    try:
        with explain_memory_errors(path):
            yield
    except FileNotFoundError:
        raise RecordingError(
            f"{readable(path.name)}: does not exist; check the name and the folder"
        ) from None
    except (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError) as problem:
        reason = (problem.strerror or problem) if isinstance(problem, OSError) else problem
        raise RecordingError(
            f"{readable(path.name)}: cannot be read as {path.suffix.lower()} ({reason})"
        ) from problem


@contextmanager
def explain_memory_errors(path: Path) -> Iterator[None]:
    """Turn a MemoryError while reading a file into a RecordingError."""
    try:
        yield
    except MemoryError as problem:
        raise RecordingError(
            f"{readable(path.name)}: needs more memory than is available ({problem}); "
            "save fewer moments or features, or use float32"
        ) from problem


@dataclass(frozen=True)
class ArrayHeader:
    """The shape and type of an array, from the header of its file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Size of the array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{str(self.dtype)[:40]} {self.shape}"


def read_headers(path: Path) -> dict[str, ArrayHeader]:
    """Read only the headers of a .npy file (whose array has the name "") or .npz file.

    ValueError if it is not such a file, contains pickled objects, or is shorter than it states.
    """
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return {"": _header(file, path.stat().st_size)}
    with _unzipped(path) as archive:
        return {name: _member_header(archive, member) for name, member in _members(archive).items()}


def _header(file: IO[bytes], n_bytes: int) -> ArrayHeader:
    """Read the header of a .npy file or .npz member with a length of `n_bytes`."""
    try:
        version = npy_format.read_magic(file)
    except ValueError:
        raise ValueError(NOT_NUMPY if n_bytes else "it is empty") from None
    try:
        is_old = version == (1, 0)
        read = npy_format.read_array_header_1_0 if is_old else npy_format.read_array_header_2_0
        shape, _, dtype = read(file)
    except (SyntaxError, TokenError, TypeError, ValueError) as problem:
        raise ValueError("its header is damaged") from problem
    header = ArrayHeader(tuple(shape), dtype)
    if dtype.hasobject:
        raise ValueError(
            "it contains pickled objects, which can run code and are never read; save only numbers"
        )
    rest = n_bytes - file.tell()
    if min(shape, default=0) < 0 or header.n_bytes > rest:
        raise ValueError(
            f"its header states {header}, which is {header.n_bytes:,} bytes, but the file "
            f"contains only {rest:,}; is it damaged or truncated?"
        )
    return header


@contextmanager
def _unzipped(path: Path) -> Iterator[ZipFile]:
    """Open a .npz file; ValueError if it is not a valid zip archive."""
    with path.open("rb") as file:
        if not is_zipfile(file):
            file.seek(0)
            raise ValueError("it is truncated" if file.read(2) == b"PK" else NOT_NUMPY)
        try:
            with ZipFile(file) as archive:
                yield archive
        except DAMAGED as problem:
            reason = str(problem) or "it ends too early"
            raise ValueError(
                f"it is damaged or uses an unsupported zip feature: {reason}"
            ) from problem


def _members(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the members of a .npz file by the names of their arrays."""
    members: dict[str, ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in members:
            raise ValueError(f"it contains `{name}` twice")
        members[name] = member
    return members


def _member_header(archive: ZipFile, member: ZipInfo) -> ArrayHeader:
    with archive.open(member) as file:
        try:
            return _header(file, member.file_size)
        except ValueError as problem:
            raise ValueError(
                f"its member `{member.filename}` is not an array: {problem}"
            ) from problem


def _check_memory(n_bytes: int) -> None:
    """Raise ValueError if arrays are larger than the machine's memory, where that is known."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # unknown on Windows; reading may fail later
        return
    if n_bytes > memory:
        raise ValueError(
            f"it contains {n_bytes:,} bytes of numbers, but this machine's memory is "
            f"{memory:,} bytes"
        )


def _read_npy(path: Path) -> Arrays:
    _check_memory(sum(header.n_bytes for header in read_headers(path).values()))
    return {NPY_CUE: np.load(path, allow_pickle=False)}


def _read_npz(path: Path) -> Arrays:
    with _unzipped(path) as archive:
        members = _members(archive)
        headers = [_member_header(archive, member) for member in members.values()]
        _check_memory(sum(header.n_bytes for header in headers))
        return {
            name: npy_format.read_array(archive.open(member), allow_pickle=False)
            for name, member in members.items()
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

    def read_item(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in REAL_NUMBERS:
            _check_memory(sum(x.nbytes for x in arrays.values()) + item.size * item.dtype.itemsize)
            arrays[name] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(read_item)
    return arrays


READERS: Mapping[str, Callable[[Path], Arrays]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".h5": _read_h5,
    ".hdf5": _read_h5,
}
