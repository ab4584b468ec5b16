"""Rows of annotation files, checked and put in order: they become an `Annotation`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stepreel.evaluation.truth.annotation import (
    BACKGROUND,
    END_TOLERANCE_SECONDS,
    Annotation,
    Problems,
    TrueStep,
    location,
)
from stepreel.evaluation.truth.step_list import StepList
from stepreel.types import Seconds, moment_seconds, readable

ROUNDING_SECONDS = 0.05  # rounding to a frame or a tenth of a second adds no more
OVERLAP_SECONDS = 1e-9  # overlaps up to this come from floating point


@dataclass(frozen=True)
class Row:
    """One line of an annotation file: from when to when which step was done.

    label  the step as the file names it, or a name for background
    line   line number in the file, from 1; 0 for files without lines
    """

    start: float
    end: float
    label: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.start:g} to {self.end:g} s ({self.label})"


@dataclass(frozen=True)
class RawMomentLabels:
    """One label per moment, as text read from a file; `MomentLabels` has ids of steps.

    end_seconds  when the last moment ends, if the file states it
    has_lines    whether the file has one line per moment
    """

    labels: list[str]
    times: Seconds
    end_seconds: float | None = None
    has_lines: bool = False

    @property
    def rows(self) -> list[Row]:
        """The spans of equal labels."""
        rows = rows_of_labels(self.labels, self.times, end_seconds=self.end_seconds)
        return rows if self.has_lines else [replace(row, line=0) for row in rows]

    @property
    def moment_seconds(self) -> float:
        """How long a moment typically lasts; 0 if there is only one."""
        return moment_seconds(self.times) if len(self.times) > 1 else 0.0


def build_annotation(
    path: Path,
    rows: Sequence[Row],
    steps: StepList,
    problems: Problems,
    *,
    recording: str | None = None,
    duration_seconds: float | None = None,
    any_overlap: bool = False,
) -> Annotation:
    """Check rows, put them in order and report wrong ones with file and line.

    path       the file they were read from
    recording  its name, if not that of the file
    """
    kept: list[tuple[TrueStep, Row]] = []
    for row in sorted(rows, key=lambda row: (row.start, row.end)):
        step = steps.id_of(row.label)
        mistake = _mistake(row, step, steps, duration_seconds)
        if mistake is None and step != BACKGROUND and kept:
            mistake = _overlap(row, *kept[-1])
        if mistake is not None:
            problems.report(f"{location(path, row.line)}: {mistake}")
        elif step is not None and step != BACKGROUND:
            end = row.end if duration_seconds is None else min(row.end, duration_seconds)
            source = location(path, row.line)
            kept.append((TrueStep(row.start, max(end, row.start), step, source), row))
    name = readable(path.stem) if recording is None else recording
    return Annotation(name, tuple(step for step, _ in kept), duration_seconds, any_overlap)


def _overlap(row: Row, step: TrueStep, other: Row) -> str | None:
    """Say that a row overlaps the one before, which became `step`; None if it does not."""
    if row.start >= step.end - OVERLAP_SECONDS:
        return None
    line = f", line {other.line}" if other.line else ""
    return (
        f"{row} overlaps {other.start:g} to {other.end:g} s ({other.label}{line}); "
        "only one step can be done at a time"
    )


def _mistake(row: Row, step: int | None, steps: StepList, duration: float | None) -> str | None:
    """Say what is wrong with a row by itself; None if nothing is."""
    if not (np.isfinite(row.start) and np.isfinite(row.end)):
        return f"{row.start} to {row.end} ({row.label}): times must be finite seconds"
    if row.start < 0:
        return f"{row} begins before the recording does"
    if row.end <= row.start:
        return f"{row} ends before it begins; expected start, then end, in seconds"
    if duration is not None and row.end > duration + ROUNDING_SECONDS:
        return (
            f"{row} lies past the end of the recording ({duration:g} s); "
            "does it belong to another recording, or to another frame rate?"
        )
    if step is None:
        known = ", ".join(
            name if name == str(number) else f"{number} {name}"
            for number, name in sorted(steps.names.items())
        )
        return f"unknown step {row.label!r}; known here: {known or 'none'}"
    return None


def cut_at_end(
    rows: Sequence[Row], seconds: float | None, tolerance: float = END_TOLERANCE_SECONDS
) -> list[Row]:
    """End rows with the recording that last a little longer; drop those entirely after it."""
    if seconds is None:
        return list(rows)
    latest = seconds + tolerance
    return [
        replace(row, end=seconds) if seconds < row.end <= latest else row
        for row in rows
        if not seconds <= row.start < row.end <= latest
    ]


def rows_of_labels(
    labels: Sequence[str], times: Seconds, *, end_seconds: float | None = None
) -> list[Row]:
    """Turn one label per moment into rows that meet halfway between two moments.

    Halfway, so that rounding of times never moves a moment into the neighbouring step. The last
    moment lasts as long as the one before, or until `end_seconds`. Lines count moments from 1.

    >>> rows_of_labels(["a", "a", "b"], np.array([0.0, 1.0, 2.0]))
    [Row(start=0.0, end=1.5, label='a', line=1), Row(start=1.5, end=2.5, label='b', line=3)]
    """
    if len(labels) == 0:
        return []
    middles = (times[1:] + times[:-1]) / 2
    last = float(times[-1] + (times[-1] - times[-2] if len(times) > 1 else 1.0) / 2)
    first = float(times[0])
    if first > 0 and len(times) > 1:  # times do not start at 0: rounding may go either way
        first = max(0.0, first - float(times[1] - times[0]) / 2)
    edges = [first, *map(float, middles), last if end_seconds is None else end_seconds]
    starts = [0, *(i for i in range(1, len(labels)) if labels[i] != labels[i - 1])]
    stops = [*starts[1:], len(labels)]
    return [Row(edges[a], edges[b], labels[a], 1 + a) for a, b in zip(starts, stops, strict=True)]
