"""The files made from a storyboard, by name; a new export is one function and one line here."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from stepreel.report.chapters import to_ffmetadata, to_webvtt, to_youtube, youtube_problem
from stepreel.report.wording import clock, length, one_line
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import KeyStep, Storyboard

__all__ = ["EXPORTS", "Export", "to_csv", "to_markdown", "youtube_problem"]


class Export(NamedTuple):
    """One kind of export: the file it becomes, and how its text is made."""

    file: str
    make: Callable[[Storyboard], str]


CSV_COLUMNS = (
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
)


def to_csv(board: Storyboard) -> str:
    """Write one row per step; times count from the recording's first frame."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(CSV_COLUMNS)
    rows.writerows(_csv_row(step) for step in board.steps)
    return text.getvalue()


def _csv_row(step: KeyStep) -> tuple[str | int, ...]:
    return (
        step.index,
        _as_plain_text(one_line(step.title)),
        f"{step.time:.3f}",
        f"{step.start:.3f}",
        f"{step.end:.3f}",
        f"{step.seconds:.3f}",
        step.cluster,
        step.occurrence,
        step.occurrences,
        f"{step.distance:.6g}",
        f"{step.confidence:.4f}",
        _as_plain_text(step.picture or ""),
    )


def _as_plain_text(text: str) -> str:
    """Keep a spreadsheet from running a title as a formula.

    >>> _as_plain_text("=1+1"), _as_plain_text("Turn 1+1")
    ("'=1+1", 'Turn 1+1')
    """
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def to_markdown(board: Storyboard) -> str:
    """Write a table of the steps with their pictures."""
    recording = board.recording
    facts = f"{clock(recording.duration_seconds)} · {len(board.steps)} key steps"
    lines = [
        f"# {_escape_markdown(one_line(board.title))}",
        "",
        f"{facts} · {_escape_markdown(one_line(recording.name))}",
    ]
    if board.steps:
        lines += ["", "| # | Picture | Step | Kind | Moment | From – to | Lasts |"]
        lines += ["| ---: | --- | --- | --- | ---: | --- | ---: |"]
        lines += [_markdown_row(step) for step in board.steps]
    if board.notes:
        lines += ["", *(f"- {_escape_markdown(one_line(note))}" for note in board.notes)]
    return "\n".join(lines) + "\n"


def _markdown_row(step: KeyStep) -> str:
    picture = f"![Step {step.index}]({quote(step.picture)})" if step.picture else ""
    kind = letter(step.cluster)
    if step.occurrences > 1:
        kind += f" ({step.occurrence} of {step.occurrences})"
    cells = [
        str(step.index),
        picture,
        _escape_markdown(one_line(step.title, otherwise=f"Step {step.index}")),
        kind,
        clock(step.time),
        f"{clock(step.start)} – {clock(step.end)}",
        length(step.seconds),
    ]
    return "| " + " | ".join(cells) + " |"


def _escape_markdown(text: str) -> str:
    r"""Keep a title from becoming markup.

    >>> _escape_markdown("Use `a|b` <here>")
    'Use \\`a\\|b\\` &lt;here&gt;'
    """
    text = re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text.replace("&", "&amp;"))
    return text.replace("<", "&lt;").replace(">", "&gt;")


EXPORTS = {
    "csv": Export("steps.csv", to_csv),
    "markdown": Export("steps.md", to_markdown),
    "webvtt": Export("chapters.vtt", to_webvtt),
    "youtube": Export("chapters-youtube.txt", to_youtube),
    "ffmetadata": Export("chapters.ffmeta", to_ffmetadata),
}
