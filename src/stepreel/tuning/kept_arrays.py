"""Read files of arrays that an output folder keeps: only what its card says, or OutputError."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import OutputError
from stepreel.system.checked_arrays import CheckedArrays, DamagedError, Layout
from stepreel.system.machine import check_memory
from stepreel.tuning.card import FOLDER, run_again

Form = tuple[str, tuple[int | None, ...]]
"""Kinds of NumPy types that an array may have, such as "fiu", and its shape; None: any length."""

# What a file that was made to do harm raises, whatever its checksums say.
UNREADABLE = (DamagedError, OSError, ValueError, TypeError, OverflowError, MemoryError)


class MissingFileError(OutputError):
    """A file that the card names is not there: removed, or replaced together with the card."""


def open_kept(folder: Path, file: str) -> CheckedArrays:
    """Open a file in `tuning/` of the output folder of a recording."""
    path = folder / FOLDER / file
    if Path(file).name != file or path.parent.resolve() != (folder / FOLDER).resolve():
        raise OutputError(f"{folder / FOLDER}: its card names a file elsewhere: {file}")
    try:
        return CheckedArrays.open(path)
    except UNREADABLE as problem:
        raise damaged(folder, file, problem) from None


def read_kept(folder: Path, file: str, forms: Mapping[str, Form]) -> dict[str, NDArray[Any]]:
    """Read arrays of a file in `tuning/`; the others in it are left alone."""
    opened = open_kept(folder, file)
    try:
        for name, (kinds, shape) in forms.items():
            check_form(opened, name, kinds, shape)
        check_memory(sum(opened.layouts[name].stop - opened.layouts[name].start for name in forms))
        return {name: opened.read(name) for name in forms}
    except UNREADABLE as problem:
        raise damaged(folder, file, problem) from None


def read_cached(folder: Path, file: str) -> dict[str, NDArray[Any]]:
    """Read all arrays of a file that can be made again; none if it cannot be read."""
    try:
        opened = open_kept(folder, file)
        check_memory(sum(layout.stop - layout.start for layout in opened.layouts.values()))
        for name, layout in opened.layouts.items():
            check_form(opened, name, layout.dtype.kind, (None,) * len(layout.shape))
        return opened.read_all()
    except (OutputError, *UNREADABLE):
        return {}


def check_form(opened: CheckedArrays, name: str, kinds: str, shape: tuple[int | None, ...]) -> None:
    """Raise ValueError unless the header says that an array has this form, and where it is."""
    layout = opened.layouts.get(name)
    if layout is None:
        raise ValueError(f"it has no {name}")
    if layout.dtype.kind not in kinds or not _has_shape(layout, shape):
        raise ValueError(f"{name} is {layout.dtype.name} {layout.shape}")


def _has_shape(layout: Layout, shape: tuple[int | None, ...]) -> bool:
    if len(layout.shape) != len(shape) or not 0 <= layout.start <= layout.stop:
        return False
    pairs = zip(layout.shape, shape, strict=True)
    if any(type(n) is not int or n < 0 or expected not in (None, n) for n, expected in pairs):
        return False
    size = layout.dtype.itemsize
    for n in layout.shape:
        size *= n
    return size == layout.stop - layout.start


def require(condition: bool | np.bool_, problem: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not condition:
        raise ValueError(problem)


def damaged(folder: Path, file: str, problem: Exception) -> OutputError:
    """Say that a file is missing or damaged, and what to do."""
    path = folder / FOLDER / file
    if isinstance(problem, FileNotFoundError):
        return MissingFileError(f"{path}: is missing. {run_again(folder)}")
    reason = (problem.strerror or problem) if isinstance(problem, OSError) else problem
    return OutputError(f"{path}: is damaged ({reason}). {run_again(folder)}")
