"""`stepreel render`: page and exports of a storyboard that was edited by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepreel.cli.terminal import NOTHING_DONE, SOME_FAILED, counted, report_errors, say, warn


def render(
    storyboards: Annotated[
        list[Path],
        typer.Argument(
            help="storyboard.json files, or the folders that contain them.", readable=False
        ),
    ],
) -> None:
    """Make the page and all exports again after editing storyboard.json.

    The file is checked, and its steps are numbered in time order. Edited
    storyboards are not overwritten by `stepreel run` without --force.
    """
    from stepreel.errors import OutputError, StepreelError

    done = 0
    with report_errors():
        for path in storyboards:
            try:
                _render(path / "storyboard.json" if path.is_dir() else path)
                done += 1
            except (StepreelError, OutputError) as problem:
                warn(f"stepreel: {problem}")
        if not done:
            raise typer.Exit(NOTHING_DONE)
        if done < len(storyboards):
            raise typer.Exit(SOME_FAILED)


def _render(path: Path) -> None:
    from stepreel.report.pictures import retake_pictures
    from stepreel.report.write import PAGE, render_again
    from stepreel.storyboard.editing import make_consistent
    from stepreel.storyboard.schema import read_storyboard
    from stepreel.system.locks import lock_output

    board = make_consistent(read_storyboard(path), path)
    with lock_output(path.parent):
        board, problems = retake_pictures(board, path.parent)
        render_again(board, path)
    for problem in problems:
        warn(f"stepreel: {path}: {problem}")
    say(f"{board.title}: {counted(len(board.steps), 'step')}")
    say(f"  storyboard: {path.parent / PAGE}")
