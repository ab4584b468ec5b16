"""Steps as spans of video frames; messages about them name frames, as the files do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.evaluation.truth.annotation import BACKGROUND, Report
from stepreel.evaluation.truth.step_list import StepList


@dataclass(frozen=True)
class FrameSpan:
    """Frames in which one step was done, from the first to the last, both included.

    number  of its line, or of whatever unit the file consists of
    """

    first: int
    last: int
    label: str
    number: int

    def __str__(self) -> str:
        return f"frames {self.first} to {self.last} ({self.label})"


def drop_overlaps(
    spans: Sequence[FrameSpan], steps: StepList, report: Report, *, unit: str
) -> list[FrameSpan]:
    """Return spans in order without steps that begin before the previous one ends; report those.

    Background and unknown steps may overlap anything.

    unit  what a file consists of, such as lines
    """
    kept: list[FrameSpan] = []
    before: FrameSpan | None = None
    for span in sorted(spans, key=lambda span: (span.first, span.last)):
        if steps.id_of(span.label) not in (None, BACKGROUND):
            if before is not None and span.first <= before.last:
                report(
                    f"{unit} {span.number}: {span} overlap frames {before.first} to "
                    f"{before.last} ({before.label}, {unit} {before.number}); only one step can "
                    "be done at a time"
                )
                continue
            before = span
        kept.append(span)
    return kept
