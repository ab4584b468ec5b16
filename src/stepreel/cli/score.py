"""`stepreel score`: true steps and predictions in, scores beside the null baselines out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepreel.cli.problems import problems_of_data, tell_left_out
from stepreel.cli.terminal import SOME_FAILED, clear_errors, counted, refuse, say

if TYPE_CHECKING:
    from stepreel.evaluation.compare import Outcome


def score(
    truth: Annotated[Path, typer.Option(help="Folder of true steps, one file per recording.")],
    prediction: Annotated[
        Path, typer.Option(help="Folder of storyboards, or of files with labels.")
    ],
    protocol: Annotated[str, typer.Option(help="A protocol by name, or all.")] = "all",
    clusters: Annotated[
        int | None,
        typer.Option("--clusters", "-k", min=1, max=1000, help="K, if the files do not say."),
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
            "usually the truth's own moments, or 10.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Of the baseline `random`.")] = 3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for results.json and a report.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out what is wrong, and say so.")
    ] = False,
) -> None:
    """Score predictions against true steps, paired by file name.

    Truth: EgoProceL CSV, ELAN .eaf, one label per frame, JIGSAWS
    transcriptions, .npz with labels, or storyboard.json. Predictions: what
    `stepreel run` or `stepreel embed` wrote, or labels of your own; -1 means
    no step here. Null baselines of the same K stand beside every score.
    Protocols: strict, strict-per-video, egoprocel, egoprocel-pooled,
    per-video, per-video-pooled.
    """
    with clear_errors(), problems_of_data(lenient=lenient) as problems:
        from stepreel.evaluation.metrics.localization import PROTOCOLS
        from stepreel.evaluation.predictions import read_predictions
        from stepreel.evaluation.score_predictions import score_predictions

        if protocol != "all" and protocol not in PROTOCOLS:
            raise refuse(f"unknown protocol {protocol!r}; known: all, {', '.join(PROTOCOLS)}")
        found = read_predictions(prediction, problems, fps=fps)
        results, outcome = score_predictions(
            truth,
            found,
            problems,
            fps=fps,
            rate=rate,
            n_clusters=clusters,
            seeds=tuple(range(seeds)),
        )
        names = list(PROTOCOLS) if protocol == "all" else [protocol]
        _report(results, outcome, names, output)
        tell_left_out(problems)
        if problems.skipped:
            raise typer.Exit(SOME_FAILED)


def _report(
    results: dict[str, Any], outcome: Outcome, protocols: Sequence[str], output: Path | None
) -> None:
    from stepreel.evaluation.report.text import text_table, verdict
    from stepreel.evaluation.run import write_evaluation
    from stepreel.system.files import check_writable

    if output is not None:
        check_writable(output)
        write_evaluation(output, results, [outcome])
    shown = {name: results["protocols"][name] for name in protocols}
    n_seeds = len(results["settings"]["seeds"])
    say(text_table(shown, n_seeds))
    say(f"{counted(len(outcome.prepared.names), 'recording')} scored, K = {outcome.n_clusters}")
    for name in protocols if len(protocols) == 1 else ["strict"]:
        say(verdict(shown[name], name, n_seeds))
    if output is not None:
        say(f"results: {output / 'results.json'}, {output / 'report.html'}")
