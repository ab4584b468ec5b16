"""Show a storyboard in a notebook: a static strip of steps, no script, everything escaped."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from stepreel.report.html import environment
from stepreel.storyboard.schema import Storyboard

MOST_SHOWN = 24


def render_notebook(board: Storyboard, pictures: Mapping[int, bytes]) -> str:
    """Return HTML for a notebook cell; `pictures` maps a step's index to its JPEG."""
    shown = board.steps[:MOST_SHOWN]
    encoded = {
        step.index: "data:image/jpeg;base64," + base64.b64encode(pictures[step.index]).decode()
        for step in shown
        if step.index in pictures
    }
    template = environment().get_template("notebook.html.j2")
    hidden = len(board.steps) - len(shown)
    return template.render(board=board, steps=shown, hidden=hidden, pictures=encoded)
