"""What really happened in a recording, as somebody who watched it wrote it down.

Readers hand on `Row`s as they stand in a file; `annotate` checks them and makes an `Annotation`.
Nothing here is seen by anything that learns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError
from stepreel.types import Labels, Seconds, readable

BACKGROUND = 0
BACKGROUND_NAMES = frozenset({"", "0", "background", "bg", "sil", "na", "none", "null", "idle"})
ROUNDING = 1e-6
PAST_THE_END_SECONDS = 1.0  # headers and watches are no better than that
OTHER_LENGTH = 0.02  # by which labels and recording of one length do not differ
SLACK_SECONDS = 0.05  # what rounding to a frame or a tenth of a second may add


class Problems:
    """What is wrong with a dataset: the first problem stops the reading, unless lenient.

    A lenient reader leaves out what is wrong, and says afterwards what that was. Notes are about
    what is not wrong, but should be known.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.skipped: list[str] = []
        self.notes: list[str] = []

    def report(self, what: str) -> None:
        """Raise DatasetError, or note that something is left out."""
        if not self.lenient:
            raise DatasetError(f"{what} (--lenient leaves such things out and counts them)")
        self.skipped.append(what)


@dataclass(frozen=True)
class Row:
    """One line of an annotation file: from when to when which step was done.

    label  the step as the file names it; a name of background makes the row count for nothing
    line   its number in the file, from 1; 0 where files have no lines
    """

    start: float
    end: float
    label: str
    line: int = 0


@dataclass(frozen=True)
class TrueStep:
    """A stretch of a recording in which one step was done; `step` is its id, never 0.

    written  file and line it stands in
    """

    start: float
    end: float
    step: int
    written: str = field(default="", compare=False)


@dataclass(frozen=True)
class Annotation:
    """The true steps of one recording, in order, without overlap; the rest is background.

    duration_seconds  how long the recording lasts, where the annotation knows it
    whole_frames      a moment shows a step if any part of it, until the next moment, does, and the
                      later one of two; otherwise its own instant decides
    """

    recording: str
    steps: tuple[TrueStep, ...]
    duration_seconds: float | None = None
    whole_frames: bool = False

    def labels_at(self, times: Seconds) -> Labels:
        """Return the id of the step done at each time, 0 for none.

        >>> Annotation("take", (TrueStep(1.0, 2.0, 5),)).labels_at(np.array([0.9, 1.0, 1.9, 2.0]))
        array([0, 5, 5, 0])
        """
        spans = ((one.start, one.end, one.step) for one in self.steps)
        return labels_of_spans(spans, times, BACKGROUND, whole_frames=self.whole_frames)

    def __repr__(self) -> str:
        return f"Annotation({self.recording!r}, {len(self.steps)} steps)"


def labels_of_spans(
    spans: Iterable[tuple[float, float, int]],
    times: Seconds,
    elsewhere: int,
    *,
    whole_frames: bool = False,
) -> Labels:
    """Return the label of the span (start, end, label) each time falls into, or `elsewhere`.

    whole_frames  any part of a moment, until the next one, is enough; of two spans the later wins

    >>> labels_of_spans([(1.0, 2.0, 5)], np.array([0.9, 1.0, 1.9, 2.0]), 0)
    array([0, 5, 5, 0])
    """
    labels: Labels = np.full(len(times), elsewhere, np.int64)
    frame = float(np.median(np.diff(times))) if whole_frames and len(times) > 1 else 0.0
    for start, end, label in spans:
        if whole_frames:
            inside = (times > start - frame + ROUNDING) & (times <= end + ROUNDING)
        else:
            inside = (times >= start) & (times < end)
        labels[inside] = label
    return labels


@dataclass
class StepList:
    """The ids and names of a task's steps.

    fixed  true where the dataset lists its steps: any other is an error. Otherwise steps are
           numbered by the number they begin with ("3 cut"), or, if they have none, as they come.
    """

    ids: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    fixed: bool = False

    @classmethod
    def of(cls, ids: Mapping[str, int], names: Mapping[int, str] | None = None) -> StepList:
        """Return a list that allows these labels only."""
        return cls(dict(ids), dict(names or {i: label for label, i in ids.items()}), fixed=True)

    def id_of(self, label: str) -> int | None:
        """Return a step's id, 0 for background; None if there is no such step."""
        if is_background(label):
            return BACKGROUND
        if label in self.ids:
            return self.ids[label]
        number, name = split_number(label)
        if number == BACKGROUND:
            return None  # a step of that number could not be told from background
        if self.fixed:
            return number if number in self.names else None
        if number is None:
            number = max(self.names, default=0) + 1
            self.ids[label] = number
        self.names.setdefault(number, name)
        return number


def is_background(label: str) -> bool:
    """Tell whether a label stands for no step."""
    return label.strip().lower() in BACKGROUND_NAMES


def split_number(label: str) -> tuple[int | None, str]:
    """Part the number from the name of a step.

    >>> split_number("10 align and screw"), split_number("G3"), split_number("7")
    ((10, 'align and screw'), (None, 'G3'), (7, '7'))
    """
    match = re.fullmatch(r"\s*([0-9]{1,18})[.:]?(?:\s+(.*\S))?\s*", label)
    if match is None:
        return None, label.strip()
    return int(match[1]), match[2] or match[1]


def number_by_name(labels: Iterable[str], *, numbers_decide: bool = False) -> StepList:
    """Return steps under their own numbers if all have one, each a different one.

    Otherwise they are numbered in the order of their names: the order of files does not matter,
    and "2 eggs" and "2 pans" stay two steps, unless `numbers_decide`.

    >>> number_by_name(["sew", "SIL", "cut"]).names, number_by_name(["7 sew", "3"]).names
    ({1: 'cut', 2: 'sew'}, {3: '3', 7: 'sew'})
    """
    steps = sorted({label for label in labels if not is_background(label)}, key=_natural)
    numbers = [split_number(label)[0] for label in steps]
    known = [number for number in numbers if number]
    if len(known if numbers_decide else set(known)) == len(steps):
        named: dict[int, str] = {}
        for number, label in zip(known, steps, strict=True):
            named.setdefault(number, split_number(label)[1])
        return StepList.of(dict(zip(steps, known, strict=True)), dict(sorted(named.items())))
    return StepList.of({label: place for place, label in enumerate(steps, start=1)})


def _natural(label: str) -> list[tuple[int, str]]:
    """Sort G2 before G10."""
    parts = re.split(r"([0-9]{1,18})", label)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]


def annotate(
    path: Path,
    rows: Sequence[Row],
    steps: StepList,
    problems: Problems,
    *,
    recording: str | None = None,
    duration_seconds: float | None = None,
    whole_frames: bool = False,
) -> Annotation:
    """Check rows and put them in order; report what is wrong with file and line."""
    kept: list[tuple[TrueStep, Row]] = []
    for row in sorted(rows, key=lambda one: (one.start, one.end)):
        step = steps.id_of(row.label)
        complaint = _complaint(row, step, steps, duration_seconds)
        if complaint is None and step != BACKGROUND and kept and row.start < kept[-1][0].end - 1e-9:
            other = kept[-1][1]
            complaint = (
                f"{row.start:g} to {row.end:g} s ({row.label}) overlaps {other.start:g} to "
                f"{other.end:g} s ({other.label}{_at(other)}); only one step can be done at a time"
            )
        if complaint is not None:
            problems.report(f"{place(path, row.line)}: {complaint}")
        elif step is not None and step != BACKGROUND:
            end = row.end if duration_seconds is None else min(row.end, duration_seconds)
            written = place(path, row.line)
            kept.append((TrueStep(row.start, max(end, row.start), step, written), row))
    name = readable(path.stem) if recording is None else recording
    return Annotation(name, tuple(step for step, _ in kept), duration_seconds, whole_frames)


def _complaint(row: Row, step: int | None, steps: StepList, duration: float | None) -> str | None:
    if not (np.isfinite(row.start) and np.isfinite(row.end)):
        return f"{row.start} to {row.end} ({row.label}): times must be finite seconds"
    if row.start < 0:
        return f"{row.start:g} to {row.end:g} s ({row.label}) begins before the recording does"
    if row.end <= row.start:
        return (
            f"{row.start:g} to {row.end:g} s ({row.label}) ends before it begins; "
            "expected start, then end, in seconds"
        )
    if duration is not None and row.end > duration + SLACK_SECONDS:
        return (
            f"{row.start:g} to {row.end:g} s ({row.label}) lies past the end of the recording "
            f"({duration:g} s); is this of another recording, or at another frame rate?"
        )
    if step is None:
        known = ", ".join(_shown(number, name) for number, name in sorted(steps.names.items()))
        return f"unknown step {row.label!r}; known here: {known or 'none'}"
    return None


def _shown(number: int, name: str) -> str:
    return name if name == str(number) else f"{number} {name}"


def cut_at_end(
    rows: Sequence[Row], seconds: float | None, slack: float = PAST_THE_END_SECONDS
) -> list[Row]:
    """Let rows that last a little longer than the recording end with it."""
    if seconds is None:
        return list(rows)
    latest = seconds + slack
    return [
        replace(row, end=seconds) if seconds < row.end <= latest else row
        for row in rows
        if not seconds <= row.start < row.end <= latest
    ]


def place(path: Path, line: int = 0) -> str:
    """Name a file, and the line in it.

    >>> place(Path("truth/a.csv"), 3)
    'a.csv, line 3'
    """
    return readable(path.name) + (f", line {line}" if line else "")


def _at(row: Row) -> str:
    return f", line {row.line}" if row.line else ""


def rows_of_labels(
    labels: Sequence[str], times: Seconds, *, first_line: int = 1, end_seconds: float | None = None
) -> list[Row]:
    """Turn one label per moment into rows, which meet halfway between two moments.

    Halfway, so that rounding of times never moves a moment into the neighbouring step. The last
    moment lasts as long as the one before, or until `end_seconds`.

    >>> rows_of_labels(["a", "a", "b"], np.array([0.0, 1.0, 2.0]))
    [Row(start=0.0, end=1.5, label='a', line=1), Row(start=1.5, end=2.5, label='b', line=3)]
    """
    if len(labels) == 0:
        return []
    middles = (times[1:] + times[:-1]) / 2
    last = float(times[-1] + (times[-1] - times[-2] if len(times) > 1 else 1.0) / 2)
    first = float(times[0])
    if first > 0 and len(times) > 1:  # the clock started before: rounding may go either way
        first = max(0.0, first - float(times[1] - times[0]) / 2)
    edges = [first, *map(float, middles), last if end_seconds is None else end_seconds]
    starts = [0, *(i for i in range(1, len(labels)) if labels[i] != labels[i - 1])]
    stops = [*starts[1:], len(labels)]
    return [
        Row(edges[a], edges[b], labels[a], first_line + a)
        for a, b in zip(starts, stops, strict=True)
    ]


FormatReader = Callable[[Path, float | None], list[Row]]
"""Reads one annotation file; the number is frames per second, where the file counts in frames."""
