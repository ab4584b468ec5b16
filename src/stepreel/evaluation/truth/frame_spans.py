"""Steps as some files have them: from which frame to which; what is wrong is told in frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stepreel.evaluation.truth.annotation import BACKGROUND, StepList


@dataclass(frozen=True)
class FrameSpan:
    """Frames in which one step was done, the first and the last of them inside.

    number  of its line, or of whatever else the file is made of
    """

    first: int
    last: int
    label: str
    number: int

    def __str__(self) -> str:
        return f"frames {self.first} to {self.last} ({self.label})"


def one_at_a_time(
    spans: Sequence[FrameSpan], steps: StepList, complain: Callable[[str], None], *, unit: str
) -> list[FrameSpan]:
    """Return spans in their order without those of steps that begin within another one.

    Complaints are in frames, as files are; background and unknown steps are in nobody's way.

    unit  what a file is made of: its lines, say
    """
    kept: list[FrameSpan] = []
    before: FrameSpan | None = None
    for span in sorted(spans, key=lambda one: (one.first, one.last)):
        if steps.id_of(span.label) not in (None, BACKGROUND):
            if before is not None and span.first <= before.last:
                complain(
                    f"{unit} {span.number}: {span} overlap frames {before.first} to "
                    f"{before.last} ({before.label}, {unit} {before.number}); only one step can "
                    "be done at a time"
                )
                continue
            before = span
        kept.append(span)
    return kept
