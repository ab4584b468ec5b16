"""The true steps of a recording, as annotated by a person who watched it.

Methods that learn never see any of this: annotations are used for scoring alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, ParamSpec, TypeVar

import numpy as np

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.types import Labels, Seconds, moment_seconds, readable

BACKGROUND = 0  # id of moments without a step in annotations
NO_STEP = -1  # cluster of moments without a step in predictions
ROUNDING = 1e-6
END_TOLERANCE_SECONDS = 1.0  # durations in video headers and annotations are no more exact
LENGTH_TOLERANCE = 0.02  # relative difference in length of labels and their own recording

P = ParamSpec("P")
T = TypeVar("T")
Report = Callable[[str], None]
"""Called with a message about something wrong; raises an error or makes a note of it."""


class Problems:
    """What is wrong with a dataset: the first problem raises an error, unless lenient.

    A lenient reader leaves out what is wrong and lists it in `skipped`. `notes` lists what is not
    wrong but worth knowing.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.skipped: list[str] = []
        self.notes: list[str] = []

    def report(self, message: str) -> None:
        """Raise DatasetError, or make a note of what is left out."""
        if not self.lenient:
            raise DatasetError(
                f"{message}; --lenient (lenient=True) leaves out what is wrong and counts it"
            )
        self.skipped.append(message)

    def attempt(self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return what `read` returns, or report why it failed and return None.

        `read` must not report problems itself. A missing file or folder is always an error.
        """
        try:
            return read(*args, **kwargs)
        except DatasetMissingError:
            raise
        except (DatasetError, RecordingError) as problem:
            self.report(str(problem))
            return None


def raise_dataset_error(message: str) -> NoReturn:
    """Raise DatasetError: a `Report` for parsers that must not leave anything out."""
    raise DatasetError(message)


def location(path: Path, line: int = 0) -> str:
    """Name a file and a line in it, for messages.

    >>> location(Path("truth/a.csv"), 3)
    'a.csv, line 3'
    """
    return readable(path.name) + (f", line {line}" if line else "")


@dataclass(frozen=True)
class TrueStep:
    """A span of a recording in which one step was done; `step` is its id, never 0.

    source  file and line it was read from, for messages
    """

    start: float
    end: float
    step: int
    source: str = field(default="", compare=False)


@dataclass(frozen=True)
class Annotation:
    """The true steps of one recording, in order, without overlap; the rest is background.

    duration_seconds  length of the recording, if the annotation states it
    any_overlap       a moment, which lasts until the next one, shows a step if any part of it
                      does, and the later one of two; otherwise only its start time counts
    """

    recording: str
    steps: tuple[TrueStep, ...]
    duration_seconds: float | None = None
    any_overlap: bool = False

    def labels_at(self, times: Seconds) -> Labels:
        """Return the id of the step done at each time, 0 for background.

        >>> Annotation("take", (TrueStep(1.0, 2.0, 5),)).labels_at(np.array([0.9, 1.0, 1.9, 2.0]))
        array([0, 5, 5, 0])
        """
        spans = ((step.start, step.end, step.step) for step in self.steps)
        return labels_of_spans(spans, times, BACKGROUND, any_overlap=self.any_overlap)

    def __repr__(self) -> str:
        return f"Annotation({self.recording!r}, {len(self.steps)} steps)"


def labels_of_spans(
    spans: Iterable[tuple[float, float, int]],
    times: Seconds,
    elsewhere: int,
    *,
    any_overlap: bool = False,
) -> Labels:
    """Return the label of the span (start, end, label) that contains each time, or `elsewhere`.

    times        increasing
    any_overlap  see `Annotation`

    >>> labels_of_spans([(1.0, 2.0, 5)], np.array([0.9, 1.0, 1.9, 2.0]), 0)
    array([0, 5, 5, 0])
    """
    labels: Labels = np.full(len(times), elsewhere, np.int64)
    # A single moment has no length that could overlap anything.
    moment = moment_seconds(times) if any_overlap and len(times) > 1 else 0.0
    for start, end, label in spans:
        if any_overlap:
            first = times.searchsorted(start - moment + ROUNDING, "right")
            labels[first : times.searchsorted(end + ROUNDING, "right")] = label
        else:
            labels[times.searchsorted(start) : times.searchsorted(end)] = label
    return labels
