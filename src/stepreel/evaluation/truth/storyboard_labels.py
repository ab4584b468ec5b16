"""Storyboards as labels: read as truth once corrected, or scored as predictions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stepreel.evaluation.truth.annotation import NO_STEP, Problems, labels_of_spans
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


def note_different_runs(storyboards: Iterable[Path], problems: Problems) -> None:
    """Note that letters do not mean the same in all of these storyboards, if so.

    Each recording's own figures are right all the same, so this is no reason to refuse them.
    """
    by_run: dict[str, Path] = {}
    for path in storyboards:
        by_run.setdefault(read_storyboard(path).clustering_id, path)
    if len(by_run) > 1:
        one, other = list(by_run.values())[:2]
        problems.notes.append(
            f"{_short(one)} and {_short(other)} are storyboards of different runs, in which the "
            "same letter is another kind of step. Protocols that match all recordings together say "
            "little about them; trust per-video protocols, coverage and borders"
        )


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def labels_of_storyboard(board: Storyboard, times: Seconds) -> Labels:
    """Return the cluster a storyboard shows at each time, -1 where it shows no step."""
    spans = [
        (segment.start, segment.end, segment.cluster)
        for segment in board.timeline
        if segment.kind == "step" and segment.cluster is not None
    ]
    return labels_of_spans(spans, times, NO_STEP)
