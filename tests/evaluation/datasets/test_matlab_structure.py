from __future__ import annotations

import io
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from limits import HANG_SECONDS, within
from scipy.io import savemat

from stepreel.errors import DatasetError
from stepreel.evaluation.datasets.convert_mapping import convert
from stepreel.evaluation.datasets.matlab_structure import check_matlab
from stepreel.evaluation.datasets.procel_matlab import _load_cells

HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(flags: int, shape: tuple[int, ...], *parts: bytes, name: bytes = b"") -> bytes:
    head = element(6, struct.pack("<II", flags, 0)) + element(
        5, struct.pack(f"<{len(shape)}i", *shape)
    )
    return element(14, head + element(1, name) + b"".join(parts))


def file_of(variable: bytes, *, compressed: bool = False) -> bytes:
    packed = zlib.compress(variable)
    return HEADER + (struct.pack("<II", 15, len(packed)) + packed if compressed else variable)


def test_what_scipy_writes_passes() -> None:
    inner = np.empty((2, 1), object)
    inner[:, 0] = [np.array([[1.0, 2.0]]), np.zeros((0, 0))]
    outer = np.empty((2, 1), object)
    outer[:, 0] = [inner, "a text"]
    for compressed in (False, True):
        file = io.BytesIO()
        savemat(file, {"cells": outer, "more": {"a": 1}}, do_compression=compressed)
        check_matlab(file.getvalue(), ["cells"])


@pytest.mark.parametrize("compressed", [False, True])
def test_cells_in_cells_are_refused_where_scipy_would_end_the_process(
    tmp_path: Path, compressed: bool
) -> None:
    head = matrix(1, (1, 1))[8:]
    total, parts = 0, []
    for depth in range(20_000):
        named = matrix(1, (1, 1), name=b"grammar")[8:] if depth == 19_999 else head
        total += len(named)
        parts.append(struct.pack("<II", 14, total) + named)
        total += 8
    path = tmp_path / "data.mat"
    path.write_bytes(file_of(b"".join(reversed(parts)), compressed=compressed))
    with pytest.raises(DatasetError, match="cells within cells, more than 8 deep"):
        _load_cells("task", path)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (matrix(4, (1, 2_000_000_000), element(2, b""), name=b"x"), "has 0 bytes"),
        (matrix(1, (3, 1), name=b"x"), r"shape \(3, 1\) has 0 cells"),
        (matrix(1, (-1, 1), name=b"x"), r"the shape \(-1, 1\)"),
        (matrix(6, (1, 1), name=b"x"), "consists of 0 parts"),
        (matrix(6, (1, 1), matrix(6, (1, 1)), name=b"x"), "values of the type 14"),
        (matrix(4, (1, 8), element(0, b"close it"), name=b"x"), "values of the type 0"),
        (matrix(4, (1, 8), element(2064, b"close it"), name=b"x"), "values of the type 2064"),
        (matrix(3, (1, 1), name=b"x"), "a matrix of class 3"),
        (element(9, b"12345678"), "of the type 9"),
        (struct.pack("<II", 14, 1000) + b"short", "an element is cut off"),
    ],
)
def test_a_variable_that_is_not_what_it_says_is_refused(variable: bytes, message: str) -> None:
    for compressed in (False, True):
        with pytest.raises(ValueError, match=message):
            check_matlab(file_of(variable, compressed=compressed), ["x"])


def test_a_matlab_4_file_is_refused() -> None:
    file = io.BytesIO()
    savemat(file, {"x": np.ones(3)}, format="4")
    with pytest.raises(ValueError, match="not a MATLAB 5 file"):
        check_matlab(file.getvalue(), ["x"])


def _nested_tuples(levels: int) -> bytes:
    """Tuples of two equal tuples: comparing or hashing them takes 2**levels steps."""
    return b"}" + b")" + b"2\x86" * levels + b"K\x01s."


@pytest.mark.parametrize(
    "content",
    [
        b"}r\xff\xff\xff\x0f.",  # a memo of two thousand million entries
        b"}p99999999999\n.",
        _nested_tuples(60),
        pickle.dumps({"frames/0003/00001.jpg": 2**70_000}),
        pickle.dumps({"frames/0003/00001.jpg": [[]]}),
        b"(" * 100_000 + b"d" * 100_000 + b".",
    ],
)
def test_a_mapping_that_would_take_all_time_or_memory_is_refused(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "map.pkl"
    path.write_bytes(content)
    with within(HANG_SECONDS), pytest.raises(DatasetError, match=r"map\.pkl: "):
        convert(path)
