"""Read chosen features of TFRecord files of SequenceExamples, without TensorFlow.

A file is a series of records: the length of the data (8 bytes), a checksum of these 8 bytes, the
data, and a checksum of the data. The data is a Protocol Buffers message.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import location
from stepreel.system.files import open_regular
from stepreel.system.machine import check_memory

CHECKED_BYTES = 1_000_000  # checksums of longer data are not checked, which would be too slow
HEADER, FOOTER = 12, 4
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5  # wire types

Values = list[bytes | int]


@dataclass(frozen=True)
class Record:
    """The data of one record, and the byte of the file at which the record begins."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class SequenceExample:
    """Features of a recording as a whole (`context`) and of its moments (`lists`), by name."""

    context: dict[str, Values]
    lists: dict[str, list[Values]]


def read_records(path: Path) -> Iterator[Record]:
    """Read the records of a file; DatasetError names the byte at which it is damaged."""
    try:
        size = path.stat().st_size
        with open_regular(path) as file:
            offset = 0
            while offset < size:
                header = file.read(HEADER)
                if len(header) < HEADER:
                    raise _damaged(path, offset, "ends within a record's header")
                length, check = struct.unpack("<QI", header)
                if masked_crc32c(header[:8]) != check:
                    raise _damaged(path, offset, "is not a TFRecord (wrong checksum of a length)")
                if offset + HEADER + length + FOOTER > size:
                    raise _damaged(path, offset, f"ends within a record of {length} bytes")
                check_memory(2 * length)
                data = file.read(length)
                (check,) = struct.unpack("<I", file.read(FOOTER))
                if length < CHECKED_BYTES and masked_crc32c(data) != check:
                    raise _damaged(path, offset, "the checksum of a record is wrong")
                yield Record(offset, data)
                offset += HEADER + length + FOOTER
    except (OSError, struct.error) as problem:
        raise DatasetError(f"{location(path)}: cannot be read ({problem})") from problem


def read_examples(path: Path, wanted: Collection[str]) -> Iterator[tuple[int, SequenceExample]]:
    """Read the `wanted` features of every example in a file, and the byte it begins at."""
    for record in read_records(path):
        try:
            yield record.offset, parse_example(record.data, wanted)
        except ValueError as problem:
            raise _damaged(
                path, record.offset, f"is not a SequenceExample ({problem})"
            ) from problem


def _damaged(path: Path, offset: int, why: str) -> DatasetError:
    return DatasetError(f"{location(path)}, byte {offset}: {why}; download it again")


def parse_example(data: bytes, wanted: Collection[str]) -> SequenceExample:
    """Parse the `wanted` features of a SequenceExample; ValueError if it is something else."""
    context: dict[str, Values] = {}
    lists: dict[str, list[Values]] = {}
    for field, part in _messages(memoryview(data)):
        for name, value in _entries(part):
            if name in wanted and field == 1:
                context[name] = _values(value)
            elif name in wanted and field == 2:
                lists[name] = [_values(item) for number, item in _messages(value) if number == 1]
    return SequenceExample(context, lists)


def _entries(features: memoryview) -> Iterator[tuple[str, memoryview]]:
    """Yield the names and messages of a map."""
    for field, entry in _messages(features):
        if field == 1:
            pair = dict(_messages(entry))
            yield str(pair.get(1, b""), "utf-8"), pair.get(2, memoryview(b""))


def _values(feature: memoryview) -> Values:
    """Return the bytes or integers of a Feature; floats are ignored."""
    values: Values = []
    for kind, content in _messages(feature):
        for field, value in _fields(content) if kind in (1, 3) else ():
            if field != 1:
                continue
            if kind == 1 and isinstance(value, memoryview):
                values.append(bytes(value))
            elif kind == 3 and isinstance(value, memoryview):  # packed
                position = 0
                while position < len(value):
                    number, position = _varint(value, position)
                    values.append(_signed(number))
            elif kind == 3 and isinstance(value, int):
                values.append(_signed(value))
    return values


def _messages(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the fields that are messages or bytes."""
    for field, value in _fields(data):
        if isinstance(value, memoryview):
            yield field, value


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Yield number and value of each field of a message."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == VARINT:
            number, position = _varint(data, position)
            yield key >> 3, number
            continue
        if kind not in (EIGHT_BYTES, LENGTH, FOUR_BYTES):
            raise ValueError(f"wire type {kind}")
        if kind == LENGTH:
            length, position = _varint(data, position)
        else:
            length = 8 if kind == EIGHT_BYTES else 4
        if position + length > len(data):
            raise ValueError("a field is longer than its message")
        yield key >> 3, data[position : position + length]
        position += length


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """Return a number stored in seven bits per byte, and the position after it."""
    number = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & (2**64 - 1), position
    raise ValueError("a number has no end")


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Return the Castagnoli checksum.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the checksum as TFRecords write it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
