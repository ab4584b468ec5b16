"""Read named arrays from `.npy`, `.npz`, `.h5` and `.safetensors` files.

Pickles are never read, because they can run code. Headers are read first: only arrays that are
needed are read, and only if there is memory for them. Nothing but the file itself is read, although
HDF5 files can refer to others.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
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
from stepreel.system.files import check_regular_file
from stepreel.system.machine import check_memory
from stepreel.types import readable

Arrays = dict[str, NDArray[Any]]
REAL_NUMBERS = "fiub"  # kinds of NumPy dtypes; the others are text, dates, complex numbers, …
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib")
NPY_CUE = "features"
LONGEST_HEADER_BYTES = 65_536
MOST_CHUNK_BYTES = 64_000_000  # a whole chunk is unpacked to read any of it
NOT_NUMPY = "it is not a NumPy file; pickles can run code and are never read"
# What zipfile raises for damaged or encrypted archives and unknown compression methods.
DAMAGED = (BadZipFile, EOFError, LZMAError, RuntimeError, struct.error, zlib.error)
LARGEST_BYTES = 2**62  # of an array; NumPy cannot count more
COPY_BYTES = 16  # per value: two copies in single precision, or one of times and their differences
# NumPy's names of the types of .safetensors files; it has none for bfloat16 and 8-bit floats.
SAFETENSORS_TYPES = {
    **{"BOOL": "bool", "F16": "float16", "F32": "float32", "F64": "float64", "C64": "complex64"},
    **{
        f"{kind}{bits}": f"{name}{bits}"
        for kind, name in (("I", "int"), ("U", "uint"))
        for bits in (8, 16, 32, 64)
    },
}


def is_feature_file(path: Path) -> bool:
    """Return whether a file has a suffix of feature files."""
    return path.suffix.lower() in READERS


def read_arrays(path: Path, choose: Choice | None = None) -> Arrays:
    """Read arrays of a file by name; RecordingError says why a file cannot be read.

    choose  takes the headers of all arrays and returns the names of those to read; None: all
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        advice = "; pickles can run code and are never read" if suffix in PICKLES else ""
        raise RecordingError(
            f"{readable(path.name)}: expected a file with the suffix {', '.join(READERS)}, "
            f"not {suffix or 'a file without a suffix'}{advice}"
        )
    with explain_read_errors(path), READERS[suffix](path) as file:
        names = file.headers if choose is None else choose(file.headers)
        chosen = {name: file.headers[name] for name in names if name in file.headers}
        check_memory(
            sum(header.n_bytes + header.n_values * COPY_BYTES for header in chosen.values())
        )
        return {name: file.read(name) for name in chosen}


@contextmanager
def explain_read_errors(path: Path) -> Iterator[None]:
    """Turn errors while reading a file into a RecordingError that names the file."""
    try:
        with explain_memory_errors(path):
            check_regular_file(path)
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
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def n_values(self) -> int:
        """The number of values in the array."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Size of the array in memory."""
        return self.n_values * self.dtype.itemsize

    @property
    def is_possible(self) -> bool:
        """Whether NumPy can have such an array, even an empty one: (0, 10**20) is too large."""
        size = math.prod(n for n in self.shape if n) * max(1, self.dtype.itemsize)
        return size <= LARGEST_BYTES

    def __str__(self) -> str:
        return f"{str(self.dtype)[:40]} {str(self.shape)[:80]}"


@dataclass(frozen=True)
class ArrayFile:
    """An open file: the headers of its arrays, and a function that reads one of them."""

    headers: Mapping[str, ArrayHeader]
    read: Callable[[str], NDArray[Any]]


Choice = Callable[[Mapping[str, ArrayHeader]], Collection[str]]
"""Takes the headers of a file's arrays and returns the names of those to read."""


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
        _check_header_length(file, 2 if is_old else 4)
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
    if not header.is_possible:
        raise ValueError(f"its header states {header}, which no array can have; is it damaged?")
    return header


def _check_header_length(file: IO[bytes], n_bytes: int) -> None:
    """Raise ValueError if a header is absurdly long: NumPy reads all of it before it complains."""
    start = file.tell()
    if int.from_bytes(file.read(n_bytes), "little") > LONGEST_HEADER_BYTES:
        raise ValueError("its header is too long")
    file.seek(start)


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


@contextmanager
def _open_npy(path: Path) -> Iterator[ArrayFile]:
    yield ArrayFile(
        {NPY_CUE: read_headers(path)[""]}, lambda name: np.load(path, allow_pickle=False)
    )


@contextmanager
def _open_npz(path: Path) -> Iterator[ArrayFile]:
    with _unzipped(path) as archive:
        members = _members(archive)

        def read(name: str) -> NDArray[Any]:
            with archive.open(members[name]) as file:
                return npy_format.read_array(file, allow_pickle=False)

        headers = {name: _member_header(archive, member) for name, member in members.items()}
        yield ArrayFile(headers, read)


@contextmanager
def _open_safetensors(path: Path) -> Iterator[ArrayFile]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            types = {name: part.get_dtype() for name, part in slices.items()}
            if unknown := [name for name in types if types[name] not in SAFETENSORS_TYPES]:
                raise ValueError(
                    f"`{unknown[0]}` contains {types[unknown[0]]}, which NumPy does not have; "
                    "save it as F32"
                )
            headers = {
                name: ArrayHeader(tuple(part.get_shape()), np.dtype(SAFETENSORS_TYPES[types[name]]))
                for name, part in slices.items()
            }
            yield ArrayFile(headers, file.get_tensor)
    except SafetensorError as problem:
        raise ValueError(str(problem)) from problem


@contextmanager
def _open_h5(path: Path) -> Iterator[ArrayFile]:
    import h5py

    headers: dict[str, ArrayHeader] = {}

    # Both return what is wrong, if anything is, which ends the visit.
    def check_link(name: str, link: object) -> str | None:
        if isinstance(link, h5py.HardLink):
            return None
        return (
            f"`{name}` is a link to {_target(link)}; links are not followed, because they can "
            "lead to other files: copy the data itself into this file"
        )

    def check_item(name: str, item: object) -> str | None:
        if not isinstance(item, h5py.Dataset) or item.shape is None:
            return None
        if item.external is not None or item.is_virtual:
            return (
                f"`{name}` is stored in other files, which are not read; copy the data itself "
                "into this file"
            )
        header = ArrayHeader(item.shape, item.dtype)
        chunk = ArrayHeader(item.chunks or (), item.dtype)
        if chunk.n_bytes > max(MOST_CHUNK_BYTES, 2 * header.n_bytes):
            return (
                f"`{name}` is stored in chunks of {chunk}, which are far larger than itself "
                f"({header}); save it again without chunks"
            )
        if item.dtype.kind in REAL_NUMBERS:
            headers[name] = header
        return None

    with h5py.File(path, "r") as file:
        if wrong := file.visititems_links(check_link) or file.visititems(check_item):
            raise ValueError(wrong)
        yield ArrayFile(headers, lambda name: file[name][()])


def _target(link: object) -> str:
    file, place = getattr(link, "filename", ""), getattr(link, "path", "something else")
    return readable(f"{place} in {file}" if file else place)[:200]


READERS: Mapping[str, Callable[[Path], AbstractContextManager[ArrayFile]]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".safetensors": _open_safetensors,
    ".h5": _open_h5,
    ".hdf5": _open_h5,
}
