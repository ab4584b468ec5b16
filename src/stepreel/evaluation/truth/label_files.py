"""A file of labels, of any format: read first, numbered once all labels of all files are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.evaluation.truth.annotation import (
    Annotation,
    Problems,
    Row,
    StepList,
    annotate,
    cut_at_end,
)
from stepreel.evaluation.truth.common_moments import MomentLabels, SpanLabels, TimedLabels
from stepreel.evaluation.truth.formats import (
    PER_MOMENT,
    WHOLE_FRAMES,
    guess_format,
    read_label_rows,
    read_moment_labels,
)
from stepreel.types import Labels, Seconds


@dataclass(frozen=True)
class LabelFile:
    """Labels as they stand in a file: of moments, which then have times, or of rows."""

    path: Path
    kind: str
    labels: Sequence[str]
    times: Seconds | None
    rows: Sequence[Row]

    def numbered(
        self,
        steps: StepList,
        problems: Problems,
        *,
        shift: int = 0,
        ends: float | None = None,
        ends_about: float | None = None,
    ) -> TimedLabels:
        """Return the labels as ids, with `shift` added; report rows that cannot be.

        ends        when the recording ends, exactly: no row may go on after that
        ends_about  when it ends, but for what headers and watches differ
        """
        if self.times is not None:
            ids = {label: (steps.id_of(label) or 0) + shift for label in set(self.labels)}
            return MomentLabels(
                self.times, np.array([ids[label] for label in self.labels], np.int64)
            )
        return _spans(
            annotate(
                self.path,
                cut_at_end(self.rows, ends_about),
                steps,
                problems,
                duration_seconds=ends if ends_about is None else ends_about,
                whole_frames=self.kind in WHOLE_FRAMES,
            ),
            shift,
        )


def read_label_file(path: Path, fps: float | None) -> LabelFile:
    """Read a file of labels; DatasetError says what is wrong with it, and in which line."""
    kind = guess_format(path)
    if kind in PER_MOMENT:
        labels, times = read_moment_labels(path, fps, kind)
        return LabelFile(path, kind, labels, times, ())
    rows = read_label_rows(path, fps, kind)
    return LabelFile(path, kind, [row.label for row in rows], None, rows)


def _spans(annotation: Annotation, shift: int) -> SpanLabels:
    def labels_at(times: Seconds) -> Labels:
        return annotation.labels_at(times) + shift

    begin = min((step.start for step in annotation.steps), default=0.0)
    end = max((step.end for step in annotation.steps), default=0.0)
    return SpanLabels(labels_at, begin, end)
