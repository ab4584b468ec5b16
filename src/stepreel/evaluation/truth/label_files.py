"""Label files of any format: read first, numbered once the labels of all files are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError, StepreelError
from stepreel.evaluation.truth.annotation import Annotation, Problems, location
from stepreel.evaluation.truth.common_moments import MomentLabels, SpanLabels, TimedLabels
from stepreel.evaluation.truth.formats import FORMATS, LabelFormat, guess_format
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import RawMomentLabels, Row, build_annotation, cut_at_end
from stepreel.evaluation.truth.step_list import StepList, is_other_number
from stepreel.types import Labels, Seconds


@dataclass(frozen=True)
class LabelFile:
    """Labels as a file states them.

    rows     spans of time with a label
    moments  one label per moment, if the format has those
    """

    path: Path
    format: LabelFormat
    rows: list[Row]
    moments: RawMomentLabels | None = None

    @property
    def is_storyboard(self) -> bool:
        """Whether its steps are those of a storyboard."""
        return self.format is FORMATS["json"]

    @property
    def labels(self) -> Sequence[str]:
        """The label of every moment or row."""
        if self.moments is not None:
            return self.moments.labels
        return [row.label for row in self.rows]

    def numbered(
        self,
        steps: StepList,
        problems: Problems,
        *,
        shift: int = 0,
        ends: float | None = None,
        ends_about: float | None = None,
    ) -> TimedLabels:
        """Return the labels as ids, with `shift` added; report wrong rows.

        ends        when the recording ends, exactly: no row may end later
        ends_about  when it ends, according to a video header or an annotation
        """
        if self.moments is not None:
            ids = {label: (steps.id_of(label) or 0) + shift for label in set(self.labels)}
            return MomentLabels(
                self.moments.times, np.array([ids[label] for label in self.labels], np.int64)
            )
        annotation = build_annotation(
            self.path,
            cut_at_end(self.rows, ends_about),
            steps,
            problems,
            duration_seconds=ends if ends_about is None else ends_about,
            any_overlap=self.format.any_overlap,
        )
        return _spans(annotation, shift)


def read_label_file(path: Path, fps: float | None = None, format_name: str = "") -> LabelFile:
    """Read a label file; DatasetError names the file, and the line if there is one.

    format_name  one of FORMATS; recognized by the file if empty
    """
    if format_name and format_name not in FORMATS:
        raise DatasetError(f"unknown format {format_name!r}; known: {', '.join(FORMATS)}")
    file = SourceFile(path)
    return parse_label_file(file, FORMATS[format_name or guess_format(file)], fps)


def parse_label_file(
    file: SourceFile, label_format: LabelFormat, fps: float | None = None
) -> LabelFile:
    """Read a label file whose format is known."""
    try:
        content = label_format.read(file, fps)
    except DatasetError:
        raise
    except StepreelError as problem:
        raise DatasetError(str(problem)) from problem
    if isinstance(content, RawMomentLabels):
        labels = LabelFile(file.path, label_format, content.rows, content)
    else:
        labels = LabelFile(file.path, label_format, content)
    if wrong := min(filter(is_other_number, set(labels.labels)), default=""):
        raise DatasetError(
            f"{location(file.path)}: {wrong.strip()[:40]!r} is not a step; expected a name, or a "
            "whole number"
        )
    return labels


def _spans(annotation: Annotation, shift: int) -> SpanLabels:
    def labels_at(times: Seconds) -> Labels:
        return annotation.labels_at(times) + shift

    start = min((step.start for step in annotation.steps), default=0.0)
    end = max((step.end for step in annotation.steps), default=0.0)
    return SpanLabels(labels_at, start, end)
