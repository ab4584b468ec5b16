"""Check MATLAB 5 files before scipy reads them.

scipy trusts what a file says about itself: cells in cells in cells end the whole process, and the
size of an empty text fills the memory. Here, a wanted variable must consist of cells, texts and
numbers only, each exactly as long as it says.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from stepreel.system.machine import check_memory

HEADER_BYTES = 128
TAG_BYTES = 8
MATRIX, COMPRESSED = 14, 15  # types of elements
CELL, CHAR, NUMBERS = 1, 4, range(6, 16)  # classes of matrices
VALUE_TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18}  # integers, floats and Unicode
COMPLEX = 0x800
DEEPEST = 8  # cells in cells; labels need two
UNPACKED_BYTES = 2**24  # at a time
OBJECT_BYTES = 200  # of an array or a text in Python


@dataclass(frozen=True)
class _Element:
    """One part of a file: its type, and its content without padding."""

    kind: int
    content: memoryview


def check_matlab(content: bytes, wanted: Collection[str]) -> None:
    """Raise ValueError if the `wanted` variables are not cells of texts and numbers.

    OSError if there is not enough memory for them. Other variables are not read.
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[HEADER_BYTES - 2 : HEADER_BYTES])
    if order is None or 0 in content[:4]:
        raise ValueError("it is not a MATLAB 5 file; save it in MATLAB with save(…, '-v7')")
    for element in _elements(memoryview(content)[HEADER_BYTES:], order):
        if element.kind == COMPRESSED:
            unpacked = memoryview(_decompressed(element.content))
            element = next(_elements(unpacked, order, padded=False), _Element(0, unpacked))
        if element.kind != MATRIX:
            raise ValueError(f"a variable is of the type {element.kind}; expected a matrix")
        parts = list(_elements(element.content, order, most=3))
        if len(parts) == 3 and bytes(parts[2].content).decode("latin-1") in wanted:
            _check_matrix(element.content, order, depth=1)


def _decompressed(content: memoryview) -> bytes:
    stream = zlib.decompressobj()
    unpacked = bytearray()
    rest = bytes(content)
    try:
        while rest and not stream.eof:
            unpacked += stream.decompress(rest, UNPACKED_BYTES)
            rest = stream.unconsumed_tail
            check_memory(2 * len(unpacked))  # scipy unpacks it again
    except zlib.error as problem:
        raise ValueError(f"a compressed variable is damaged ({problem})") from problem
    return bytes(unpacked)


def _elements(
    content: memoryview, order: str, *, most: int | None = None, padded: bool = True
) -> Iterator[_Element]:
    """Yield the elements of a file or matrix, `most` of them; ValueError if one is cut off."""
    position, number = 0, 0
    while position < len(content) and number != most:
        if len(content) - position < TAG_BYTES:
            raise ValueError("an element is cut off")
        kind, length = struct.unpack_from(f"{order}II", content, position)
        start = position + TAG_BYTES
        if kind >> 16:  # a small element: type, length and content in eight bytes
            kind, length, start = kind & 0xFFFF, kind >> 16, position + TAG_BYTES // 2
            end = position + TAG_BYTES
            if length > TAG_BYTES // 2:
                raise ValueError("a small element is too long")
        else:
            end = start + length
            if padded and kind != COMPRESSED:
                end += -length % TAG_BYTES
        if start + length > len(content):
            raise ValueError("an element is cut off")
        yield _Element(kind, content[start : start + length])
        position, number = end, number + 1


def _check_matrix(content: memoryview, order: str, *, depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"it has cells within cells, more than {DEEPEST} deep")
    parts = list(_elements(content, order, most=6))
    if len(parts) < 3 or len(parts[0].content) != 8 or len(parts[1].content) % 4:
        raise ValueError("a matrix has no flags, size and name")
    (flags,) = struct.unpack_from(f"{order}I", parts[0].content)
    shape = struct.unpack(f"{order}{len(parts[1].content) // 4}i", parts[1].content)
    inside, n_values = parts[3:], math.prod(shape)
    if min(shape, default=-1) < 0:
        raise ValueError(f"a matrix has the shape {shape}")
    if flags & 0xFF == CELL:
        check_memory(OBJECT_BYTES * min(n_values, len(content)))
        inside = list(_elements(content, order))[3:]
        if len(inside) != n_values or any(part.kind != MATRIX for part in inside):
            raise ValueError(f"a cell array of the shape {shape} has {len(inside)} cells")
        for part in inside:
            if len(part.content):  # an empty cell can be left out
                _check_matrix(part.content, order, depth=depth + 1)
        return
    n_parts = 2 if flags & COMPLEX else 1
    if flags & 0xFF not in (CHAR, *NUMBERS):
        raise ValueError(f"it contains a matrix of class {flags & 0xFF}; expected cells or numbers")
    if len(inside) != n_parts:
        raise ValueError(f"a matrix consists of {len(inside)} parts; expected {n_parts}")
    if wrong := [part.kind for part in inside if part.kind not in VALUE_TYPES]:
        raise ValueError(f"a matrix has values of the type {wrong[0]}; expected numbers or text")
    if n_values > len(inside[0].content):
        raise ValueError(f"a matrix of the shape {shape} has {len(inside[0].content)} bytes")
