"""The steps as a Markdown table, for a wiki or a README."""

from __future__ import annotations

import re
from urllib.parse import quote

from stepreel.report.wording import clock, clock_in, extent, length, one_line
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import KeyStep, Storyboard

_COLUMNS = {  # how each is aligned
    "#": "---:",
    "Picture": "---",
    "Step": "---",
    "Kind": "---",
    "Moment": "---:",
    "From – to": "---",
    "Lasts": "---:",
}


def to_markdown(board: Storyboard) -> str:
    """Write a table of the steps, with their pictures if there are any."""
    recording, n_steps = board.recording, len(board.steps)
    facts = f"{clock(recording.duration_seconds)} · {n_steps} key step{'s' * (n_steps != 1)}"
    lines = [
        f"# {_escape_markdown(one_line(board.title))}",
        "",
        f"{facts} · {_escape_markdown(one_line(recording.name))}",
    ]
    if board.steps:
        with_pictures = any(step.picture for step in board.steps)
        columns = [name for name in _COLUMNS if with_pictures or name != "Picture"]
        lines += ["", _row(columns), _row([_COLUMNS[name] for name in columns])]
        lines += [_row([_cells(step)[name] for name in columns]) for step in board.steps]
    if board.notes:
        lines += ["", *(f"- {_escape_markdown(one_line(note))}" for note in board.notes)]
    return "\n".join(lines) + "\n"


def _cells(step: KeyStep) -> dict[str, str]:
    kind = letter(step.cluster)
    if step.is_repeat:
        kind += " (again)"
    return {
        "#": str(step.index),
        "Picture": f"![Step {step.index}]({quote(step.picture)})" if step.picture else "",
        "Step": _escape_markdown(one_line(step.title, otherwise=f"Step {step.index}")),
        "Kind": kind,
        "Moment": clock_in(step.time, step),
        "From – to": extent(step),
        "Lasts": length(step.seconds),
    }


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape_markdown(text: str) -> str:
    r"""Keep a title from becoming markup.

    >>> _escape_markdown("Use `a|b` <here>")
    'Use \\`a\\|b\\` &lt;here&gt;'
    """
    text = re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text.replace("&", "&amp;"))
    return text.replace("<", "&lt;").replace(">", "&gt;")
