"""JIGSAWS' transcriptions: lines of `first_frame last_frame gesture`, frames counted from 1."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepreel.evaluation.truth.annotation import Report, location, raise_dataset_error
from stepreel.evaluation.truth.frame_spans import FrameSpan
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import Row

JIGSAWS_FPS = 30.0
FRAME_NUMBER = re.compile(r"\d{1,9}")  # a video of more frames would last a year


def read_jigsaws_text(file: SourceFile, fps: float | None = None) -> list[Row]:
    """Read all lines, at 30 frames per second by default; the first wrong one raises an error."""

    def report(message: str) -> None:
        raise_dataset_error(f"{location(file.path)}, {message}")

    spans = parse_jigsaws_lines(file.lines, report)
    return [row_of_gesture(span, fps or JIGSAWS_FPS) for span in spans]


def parse_jigsaws_lines(lines: Sequence[str], report: Report) -> list[FrameSpan]:
    """Return the gestures; report wrong lines."""
    spans = []
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 3 or not all(map(FRAME_NUMBER.fullmatch, parts[:2])):
            shown = repr(line.strip()[:80])
            report(f"line {number}: {shown}; expected first frame, last frame, gesture")
            continue
        span = FrameSpan(int(parts[0]), int(parts[1]), parts[2], number)
        if span.first < 1 or span.last < span.first:
            report(f"line {number}: {span}; expected the first frame, from 1, then the last")
            continue
        spans.append(span)
    return spans


def row_of_gesture(span: FrameSpan, fps: float) -> Row:
    """Return a span in seconds, half a frame early so that rounding moves no frame out of it."""
    start, end = max(span.first - 1.5, 0.0) / fps, (span.last - 0.5) / fps
    return Row(start, end, span.label, span.number)
