"""Show a storyboard in a notebook cell: static HTML, everything escaped, no script."""

from __future__ import annotations

from collections.abc import Mapping

from stepreel.report.html import environment, jpeg_address
from stepreel.storyboard.schema import Storyboard

MOST_STEPS = 24


def render_notebook(board: Storyboard, pictures: Mapping[int, bytes]) -> str:
    """Return HTML for a notebook cell: the first steps, and how many more there are.

    Styles are attributes, because notebooks drop style sheets. Text has the notebook's own colour,
    so that it can be read on light and dark.

    pictures  the JPEG of each step, by the step's index; anything that is not a JPEG is left out
    """
    shown = board.steps[:MOST_STEPS]
    return (
        environment()
        .get_template("notebook.html.j2")
        .render(
            board=board,
            n_hidden=len(board.steps) - len(shown),
            pictures={step.index: jpeg_address(pictures.get(step.index)) for step in shown},
            steps=shown,
        )
    )
