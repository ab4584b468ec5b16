"""`stepreel evaluate`: a labelled dataset in, every score next to its null baselines out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import (
    Assignments,
    Cache,
    DeviceName,
    NoCache,
    Quiet,
    named_overrides,
    open_store,
)
from stepreel.cli.problems import show_left_out, showing_left_out
from stepreel.cli.progress import progress_bar
from stepreel.cli.terminal import (
    SOME_FAILED,
    counted,
    refuse,
    report_errors,
    say,
    warn,
)
from stepreel.system.machine import usable_device

if TYPE_CHECKING:
    from stepreel.evaluation.results import Results


def evaluate(
    dataset: Annotated[str, typer.Argument(help="Kind of dataset: npz, videos, egoprocel, …")],
    root: Annotated[Path, typer.Argument(help="Its folder.", readable=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for results.")] = Path(
        "results"
    ),
    truth: Annotated[
        Path | None, typer.Option(help="Folder with the labels of videos, if not ROOT.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="One task, or one group of tasks.")] = None,
    cues: Annotated[
        str | None,
        typer.Option(metavar="CUE,CUE", help="Arrays of feature files to use; main one first."),
    ] = None,
    clusters: Annotated[
        int, typer.Option("--clusters", "-k", min=1, max=1000, help="K: kinds of steps to find.")
    ] = 7,
    window_seconds: Annotated[
        float | None,
        typer.Option(min=1e-3, help="σ of learned methods: moments this near are similar."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="Repeat with this many seeds: 0, 1, 2, …")
    ] = 3,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Compare only these methods (listed above).")
    ] = None,
    baselines_only: Annotated[
        bool, typer.Option("--baselines-only", help="Learn nothing: null baselines only.")
    ] = False,
    preset: Annotated[
        str | None, typer.Option(help="Settings of the method `paper` (paper-small).")
    ] = None,
    assignments: Assignments = None,
    fps: Annotated[
        float | None,
        typer.Option(min=1e-6, help="Frames per second of labels or features counted in frames."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=1e-3, max=1e3, help="Score this many moments per second.")
    ] = None,
    task_metrics: Annotated[
        list[str] | None,
        typer.Option("--task-metric", help="Also compute phases, kendall, key-steps or samplers."),
    ] = None,
    sweep_clusters: Annotated[
        str | None, typer.Option(metavar="K,K", help="Compare again for each K: 7,10,12,15.")
    ] = None,
    sweep_cues: Annotated[
        bool, typer.Option("--sweep-cues", help="Compare each cue alone at inference.")
    ] = False,
    sweep_recordings: Annotated[
        str | None,
        typer.Option(
            metavar="N,N", help="Compare methods that train on so many recordings: 1,2,5."
        ),
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out what is wrong with the data, and list it.")
    ] = False,
    device: DeviceName = "auto",
    cache: Cache = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods on labelled recordings, under every protocol.

    Writes results.json, report.html and predictions/ and prints the tables.
    Also measures what storyboards are worth: coverage and borders.
    Kinds of datasets: npz (a folder of .npz files), videos (with --truth),
    egoprocel, steps-release, crosstask, procel, ikea, penn, breakfast,
    50salads, gtea, jigsaws. Methods: random, equal-split, concatenated-split,
    one-cluster, raw-kmeans, time-kmeans, context-kmeans (null baselines),
    paper, stepreel (learned). `stepreel info` lists those that other packages
    add. Labels are used for scoring only. After an interruption the same
    command continues.
    To score predictions made elsewhere: stepreel score.
    """
    with report_errors(), showing_left_out():
        usable = usable_device(device)  # before libraries are loaded that need much memory
        from stepreel.config import load_settings
        from stepreel.evaluation.run import evaluate as evaluate_dataset

        overrides = named_overrides(assignments or [])
        load_settings(overrides=overrides)  # so that a wrong name is reported as it was typed
        with (
            open_store(cache, no_cache=no_cache) as store,
            progress_bar(quiet=quiet) as progress,
        ):
            results = evaluate_dataset(
                dataset,
                root,
                clusters=clusters,
                seeds=seeds,
                methods=methods,
                cues=cues or (),
                task=task,
                truth=truth,
                window_seconds=window_seconds,
                preset=preset,
                fps=fps,
                rate=rate,
                lenient=lenient,
                baselines_only=baselines_only,
                task_metrics=",".join(task_metrics or []),
                sweep_clusters=_numbers(sweep_clusters, "--sweep-clusters"),
                sweep_cues=sweep_cues,
                sweep_recordings=_numbers(sweep_recordings, "--sweep-recordings"),
                output=output,
                device=usable,
                cache=store.root,
                progress=progress,
                **{name.replace(".", "__", 1): value for name, value in overrides.items()},
            )
        _report(results, output)


def _numbers(text: str | None, option: str) -> list[int]:
    from stepreel.types import as_names

    try:
        return [int(part) for part in as_names(text)]
    except ValueError:
        raise refuse(
            f"{option} {text}: expected whole numbers from 1 to 1000, comma-separated"
        ) from None


def _report(results: Results, output: Path) -> None:
    from stepreel.evaluation.report.figures import merge_notes
    from stepreel.evaluation.report.text import (
        more_tables,
        protocol_tables,
        storyboard_tables,
        verdict_text,
    )

    for note in merge_notes(results.notes):
        warn(f"stepreel: note: {note}")
    show_left_out(results.left_out)
    say(protocol_tables(results.protocols))
    if results.storyboard is not None:
        say(storyboard_tables(results.storyboard))
    for text in more_tables(results):
        say(text)
    say(_what_was_scored(results))
    if verdict := verdict_text(results):
        say(verdict)
    for method, reason in results.skipped.items():
        say(f"{method}: not run: {reason}")
    if "learned" in results.method_kinds.values():
        say("learned methods learn, without labels, from the recordings that are scored")
    say(f"results: {output / 'results.json'}, {output / 'report.html'}")
    if results.left_out:
        warn(f"stepreel: left out because of --lenient: {counted(len(results.left_out), 'thing')}")
        raise typer.Exit(SOME_FAILED)


def _what_was_scored(results: Results) -> str:
    tasks = list(results.dataset.tasks)
    name = tasks[0] if len(tasks) == 1 else f"{results.dataset.root}, {len(tasks)} tasks"
    return (
        f"{name}: {counted(results.n_recordings, 'recording')} scored, "
        f"K = {results.settings.n_clusters}, {counted(len(results.settings.seeds), 'seed')}"
    )
