"""The steps as a table for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io

from stepreel.report.wording import one_line
from stepreel.storyboard.schema import KeyStep, Storyboard

COLUMNS = (
    "index",
    "title",
    "time_s",
    "start_s",
    "end_s",
    "duration_s",
    "cluster",
    "occurrence",
    "occurrences",
    "distance",
    "confidence",
    "picture",
    "is_repeat",
)


def to_csv(board: Storyboard) -> str:
    """Write one row per step; times are seconds since the recording's first moment."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(_row(step) for step in board.steps)
    return text.getvalue()


def _row(step: KeyStep) -> tuple[str | int, ...]:
    return (
        step.index,
        as_plain_text(one_line(step.title)),
        f"{step.time:.3f}",
        f"{step.start:.3f}",
        f"{step.end:.3f}",
        f"{step.seconds:.3f}",
        step.cluster,
        step.occurrence,
        step.occurrences,
        f"{step.distance:.6g}",
        f"{step.confidence:.4f}",
        as_plain_text(step.picture or ""),
        int(step.is_repeat),
    )


def as_plain_text(text: str) -> str:
    """Keep a spreadsheet from running a title as a formula.

    >>> as_plain_text("=1+1"), as_plain_text("Turn 1+1")
    ("'=1+1", 'Turn 1+1')
    """
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
