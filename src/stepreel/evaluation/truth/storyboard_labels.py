"""Storyboards as labels: read as truth once corrected, or scored as predictions."""

from __future__ import annotations

from stepreel.evaluation.truth.annotation import NO_STEP, labels_of_spans
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import Row
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import Storyboard, read_storyboard
from stepreel.types import Labels, Seconds


def read_storyboard_rows(file: SourceFile, fps: float | None = None) -> list[Row]:
    """Read the key steps of a storyboard as true steps; kind A is step 1."""
    board = read_storyboard(file.path)
    return [
        Row(step.start, step.end, f"{step.cluster + 1} kind {letter(step.cluster)}")
        for step in board.steps
    ]


def labels_of_storyboard(board: Storyboard, times: Seconds) -> Labels:
    """Return the cluster a storyboard shows at each time, -1 where it shows no step."""
    spans = [
        (segment.start, segment.end, segment.cluster)
        for segment in board.timeline
        if segment.kind == "step" and segment.cluster is not None
    ]
    return labels_of_spans(spans, times, NO_STEP)
