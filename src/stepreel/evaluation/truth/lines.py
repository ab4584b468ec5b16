"""Text files of datasets, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.truth.annotation import location
from stepreel.system.files import read_regular


class SourceFile:
    """A file of a dataset; if it is text, its lines are read once, when first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def lines(self) -> list[str]:
        """Its lines without line ends."""
        return read_lines(self.path)


def is_header(line: str, columns: Sequence[str]) -> bool:
    """Tell whether a line names these columns; `_s` for seconds may be added.

    >>> is_header("Step, start_s, end_s", ("step", "start", "end"))
    True
    """
    return [_column(cell) for cell in line.split(",")] == [*columns]


def _column(cell: str) -> str:
    name = cell.strip(' "').lower().removesuffix("_s")
    return "step" if name in ("n step name", "step name") else name


def lines_below_header(file: SourceFile, columns: Sequence[str]) -> list[str]:
    """Return the lines with the header emptied, if there is one, so that numbers of lines stay.

    DatasetError if there is a header and nothing below it.
    """
    filled = [number for number, line in enumerate(file.lines) if line.strip()]
    if not filled or not is_header(file.lines[filled[0]], columns):
        return file.lines
    header = file.lines[filled[0]].strip()[:60]
    if len(filled) == 1:
        raise DatasetError(
            f"{location(file.path, filled[0] + 1)}: has the header {header!r} and no step below "
            "it; expected a line per step"
        )
    return [*file.lines[: filled[0]], "", *file.lines[filled[0] + 1 :]]


def read_lines(path: Path) -> list[str]:
    """Read UTF-8 text, with or without byte-order mark; lines without line ends."""
    try:
        text = read_regular(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise DatasetMissingError(f"{path}: does not exist") from None
    except OSError as problem:
        raise DatasetError(f"{path}: cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise DatasetError(
            f"{location(path)}: is not UTF-8 text (byte {problem.start + 1}); save it as UTF-8"
        ) from problem
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
