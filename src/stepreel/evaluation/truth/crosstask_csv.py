"""CrossTask's label files: lines of `step,start_s,end_s`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from stepreel.evaluation.truth.annotation import Report, location, raise_dataset_error
from stepreel.evaluation.truth.lines import SourceFile, lines_below_header
from stepreel.evaluation.truth.rows import Row
from stepreel.evaluation.truth.step_list import is_background

COLUMNS = ("step", "start", "end")


def read_crosstask_csv(file: SourceFile, fps: float | None = None) -> list[Row]:
    """Read all lines, below a header or without one; the first wrong one raises DatasetError."""
    return parse_crosstask_lines(file.path, lines_below_header(file, COLUMNS), raise_dataset_error)


def parse_crosstask_lines(
    path: Path, lines: Sequence[str], report: Report, *, duration_seconds: float | None = None
) -> list[Row]:
    """Return the rows in the order of their starts; report wrong lines."""
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            step, start, end = _parse_line(line, duration_seconds)
        except ValueError as problem:
            report(f"{location(path, number)}: {problem}")
            continue
        rows.append(Row(start, end, step, number))
    return sorted(rows, key=lambda row: row.start)


def _parse_line(line: str, duration: float | None) -> tuple[str, float, float]:
    """Return step, start and end; ValueError says what is wrong with them."""
    parts = [part.strip() for part in line.split(",")]
    try:
        step, start, end = parts[0], float(parts[1]), float(parts[2])
    except (ValueError, IndexError):
        parts = []
    if len(parts) != 3:
        raise ValueError(f"{line.strip()!r}; expected step, start, end, such as 3,12.5,20")
    if is_background(step):
        raise ValueError(f"unknown step {step!r}; steps count from 1")
    if not (math.isfinite(start) and math.isfinite(end)) or start < 0 or end <= start:
        raise ValueError(f"{start:g} to {end:g} s (step {step}); expected start, then end")
    if duration is not None and (start >= duration or end > duration + 1):
        raise ValueError(
            f"{start:g} to {end:g} s (step {step}) lies past the end of the recording "
            f"({duration:g} s)"
        )
    return step, start, end
