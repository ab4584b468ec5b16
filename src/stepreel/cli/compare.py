"""`stepreel compare`: the takes of a task side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.terminal import SOME_FAILED, counted, report_errors, say, warn

if TYPE_CHECKING:
    from stepreel.comparison.schema import Comparison


def compare(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Output folder of `stepreel run` with several takes of one task.", readable=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the comparison; default: the same one."),
    ] = None,
) -> None:
    """Compare takes: which one skips, swaps, repeats or adds a step, and how long each step takes.

    Works from the storyboards alone, also from edited ones. Writes
    compare.html, compare.json and compare.csv.
    """
    with report_errors():
        from stepreel.comparison.run import compare_takes
        from stepreel.comparison.write import CSV, JSON, PAGE

        written = output or folder
        comparison = compare_takes(folder, written)
        for line in summary(comparison):
            say(line)
        for left_out in comparison.left_out:
            warn(f"stepreel: left out: {left_out.reason}")
        say(f"data: {written / JSON}, {written / CSV}")
        say(f"comparison: {written / PAGE}")
        if comparison.left_out:
            raise typer.Exit(SOME_FAILED)


def summary(comparison: Comparison) -> list[str]:
    """Return what a comparison says, in lines."""
    from stepreel.comparison.sentences import Words

    titles = {kind.cluster: kind.title for kind in comparison.kinds if kind.title}
    words = Words({take.folder: take.name for take in comparison.takes}, titles)
    n_kinds = counted(len(comparison.kinds), "kind of step")
    lines = [f"{counted(len(comparison.takes), 'take')}, {n_kinds}"]
    lines += [f"note: {note}" for note in comparison.notes]
    lines.append(f"usual order: {words.list_of(comparison.usual_order) or 'none'}")
    lines += [
        words.either_order(one.first, one.second, one.takes_each) for one in comparison.either_order
    ]
    said = [(one.sentence, one.certainty) for one in comparison.departures]
    said += [(one.sentence, one.certainty) for one in comparison.unusual_paces]
    for sentence, certainty in said:
        lines.append(f"  {sentence}{' (uncertain)' if certainty == 'uncertain' else ''}")
    if not comparison.departures:
        lines.append("No departures found.")
    lines += [words.outlier(take.folder) for take in comparison.takes if take.is_outlier]
    return lines
