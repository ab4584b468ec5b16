"""Text files of datasets, line by line."""

from __future__ import annotations

from pathlib import Path

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.truth.annotation import place


def read_lines(path: Path) -> list[str]:
    """Read UTF-8 text, with or without byte-order mark; lines without their ends."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DatasetMissingError(f"{path}: is not there") from None
    except OSError as problem:
        raise DatasetError(f"{path}: cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise DatasetError(
            f"{place(path)}: is no UTF-8 text (byte {problem.start + 1}); save it as UTF-8"
        ) from problem
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
