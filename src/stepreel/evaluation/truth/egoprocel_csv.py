"""EgoProceL's label files: lines of `start_s,end_s,N step name`."""

from __future__ import annotations

from pathlib import Path

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.lines import SourceFile, lines_below_header, read_lines
from stepreel.evaluation.truth.rows import Row
from stepreel.evaluation.truth.step_list import split_number

COLUMNS = ("start", "end", "step")
EXPECTED = "`start_s,end_s,N step name`, such as `12.5,20,3 fold`"


def read_egoprocel_csv(file: SourceFile, fps: float | None = None) -> list[Row]:
    """Read all lines, below a header or without one; the first wrong one raises DatasetError."""
    return [
        _parse_line(file.path, number, line)
        for number, line in enumerate(lines_below_header(file, COLUMNS), 1)
        if line.strip()
    ]


def read_egoprocel_rows(path: Path, problems: Problems) -> list[Row] | None:
    """Read all lines and report each wrong one; None if the file cannot be read at all.

    An empty file means that no step was done; the dataset has such files.
    """
    lines = problems.attempt(read_lines, path)
    if lines is None:
        return None
    rows = (
        problems.attempt(_parse_line, path, number, line)
        for number, line in enumerate(lines, 1)
        if line.strip()
    )
    return [row for row in rows if row is not None]


def _parse_line(path: Path, number: int, line: str) -> Row:
    """Parse one line; a step's name may contain commas and may be quoted."""
    start, end, label = (*(_unquoted(part) for part in line.split(",", 2)), "", "")[:3]
    try:
        seconds = float(start), float(end)
    except ValueError:
        seconds = None
    step = split_number(label)[0]
    if seconds is None or step is None:
        raise DatasetError(f"{location(path, number)}: {line.strip()[:60]!r}; expected {EXPECTED}")
    return Row(*seconds, label if step else "background", number)


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"').strip() if quoted else text
