"""`stepreel score`: true steps and predictions in, scores next to the null baselines out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.problems import show_left_out, showing_left_out
from stepreel.cli.terminal import SOME_FAILED, counted, refuse, report_errors, say, show, warn
from stepreel.system.machine import SPACE_FOR_SCORES, check_address_space

if TYPE_CHECKING:
    from stepreel.evaluation.results import Results

MEASURES = ("coverage", "borders")


def score(
    truth: Annotated[Path, typer.Option(help="Folder of true steps, one file per recording.")],
    prediction: Annotated[
        Path, typer.Option(help="Folder of storyboards, or of files with labels.")
    ],
    protocol: Annotated[str, typer.Option(help="A protocol or measure by name, or all.")] = "all",
    clusters: Annotated[
        int | None,
        typer.Option("--clusters", "-k", min=1, max=1000, help="K, if the files do not state it."),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(min=1e-6, help="Frames per second of per-frame labels.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1e-3,
            max=1e3,
            help="Moments per second to score storyboards and spans at; "
            "by default the truth's own moments, or 10.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of seeds of the baseline `random`.")
    ] = 3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for results.json and a report.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out what is wrong, and list it.")
    ] = False,
) -> None:
    """Score predictions against true steps, paired by file name.

    Truth: EgoProceL CSV, ELAN .eaf, one label per frame, JIGSAWS
    transcriptions, .npz with labels, or storyboard.json. Predictions: what
    `stepreel run` or `stepreel embed` wrote, or labels of your own; -1 means
    no step. Null baselines of the same K are scored next to them.
    Protocols: strict, strict-per-video, egoprocel, egoprocel-pooled,
    per-video, per-video-pooled. Measures of storyboards: coverage, borders.
    """
    with report_errors(), showing_left_out():
        check_address_space(SPACE_FOR_SCORES)
        from stepreel.evaluation.metrics.localization import PROTOCOLS
        from stepreel.evaluation.report.figures import merge_notes
        from stepreel.evaluation.score_predictions import score as score_predictions

        known = [*PROTOCOLS, *MEASURES]
        if protocol != "all" and protocol not in known:
            raise refuse(f"unknown protocol {protocol!r}; known: all, {', '.join(known)}")
        results = score_predictions(
            truth,
            prediction,
            clusters=clusters,
            fps=fps,
            rate=rate,
            seeds=seeds,
            output=output,
            lenient=lenient,
        )
        # Without files, what is printed is the only result.
        _report(
            results, known if protocol == "all" else [protocol], show if output is None else say
        )
        if output is not None:
            say(f"results: {output / 'results.json'}, {output / 'report.html'}")
        for note in merge_notes(results.notes):
            warn(f"stepreel: note: {note}")
        show_left_out(results.left_out)
        if results.left_out:
            raise typer.Exit(SOME_FAILED)


def _report(results: Results, names: Sequence[str], report: Callable[[str], None]) -> None:
    """Print what is asked for: protocols, measures of storyboards, or all of them."""
    from stepreel.evaluation.report.text import protocol_tables, storyboard_tables, verdict_text

    protocols = {name: table for name, table in results.protocols.items() if name in names}
    if protocols:
        report(protocol_tables(protocols))
    measures = [name for name in MEASURES if name in names]
    if measures and results.storyboard is not None:
        report(storyboard_tables(results.storyboard, measures))
    report(
        f"{counted(results.n_recordings, 'recording')} scored, K = {results.settings.n_clusters}"
    )
    if protocols:
        report(verdict_text(results, "strict" if "strict" in protocols else names[0]))
