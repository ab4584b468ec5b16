"""`stepreel run`: recordings of one task in, storyboards out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.terminal import (
    NOTHING_DONE,
    SOME_FAILED,
    clear_errors,
    progress_bar,
    refuse,
    say,
    warn,
)

if TYPE_CHECKING:
    from stepreel.config import Settings
    from stepreel.pipeline import TaskResult
    from stepreel.storyboard import Storyboard

Cache = Annotated[
    Path | None,
    typer.Option(help="Where features and models are kept (see `stepreel info`)."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def run(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            help="Video files of one task. A name that begins with a dash goes after `--`.",
            readable=False,  # one unreadable file must not stop the others
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the storyboards.")
    ] = Path("out"),
    clusters: Annotated[
        int | None, typer.Option("--clusters", "-k", help="Kinds of steps to look for [7].")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(help="Show so many steps, the clearest [all of 1 s or more, at most 20]."),
    ] = None,
    preset: Annotated[str, typer.Option(help="Named settings to start from.")] = "quick",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting: train.epochs=50."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random [0].")] = None,
    cache: Cache = None,
    quiet: Quiet = False,
) -> None:
    """Find the key steps of one or several recordings of a task.

    Several recordings are learned and clustered together: the same step gets the same colour
    in each storyboard. A second run re-uses everything that did not change.
    """
    with clear_errors():
        settings = resolve_settings(preset, assignments or [], clusters, top, seed)
        result = find(recordings, output, settings, cache=cache, quiet=quiet)
        report_result(result, output)
        if not result.boards:
            raise typer.Exit(NOTHING_DONE)
        if result.failures:
            raise typer.Exit(SOME_FAILED)


def resolve_settings(
    preset: str,
    assignments: list[str],
    clusters: int | None = None,
    top: int | None = None,
    seed: int | None = None,
) -> Settings:
    """Put options on top of `--set` on top of the preset, or explain what is wrong with them."""
    from stepreel.config import check_cue_choices, load_settings, parse_assignments
    from stepreel.cues import check_cue_names

    named = {"key_steps.n_clusters": clusters, "key_steps.top": top, "train.seed": seed}
    options = {name: value for name, value in named.items() if value is not None}
    try:
        settings = load_settings(preset, {**parse_assignments(assignments), **options})
        check_cue_names(settings.extract.cues)
        check_cue_choices(settings, settings.extract.cues)
    except ValueError as problem:
        raise refuse(str(problem)) from None
    return settings


def find(
    recordings: list[Path], output: Path, settings: Settings, *, cache: Path | None, quiet: bool
) -> TaskResult:
    """Run the pipeline with a progress bar."""
    from stepreel.folders import check_writable
    from stepreel.machine import cache_folder
    from stepreel.pipeline import run_task
    from stepreel.store import Store

    check_writable(output)
    store = Store(cache if cache is not None else cache_folder())
    unique: dict[str, Path] = {}
    for path in recordings:
        unique.setdefault(os.path.realpath(path), path)
    with progress_bar(quiet=quiet) as progress:
        return run_task(list(unique.values()), settings, store, output=output, progress=progress)


def report_result(result: TaskResult, output: Path) -> None:
    """Print every recording's steps and where its storyboard is, then what failed."""
    from stepreel.report.palette import letter

    for path, board in result.boards.items():
        say(f"{path.name}: {summary(board)}")
        for step in board.steps:
            again = (
                f"  again, {step.occurrence} of {step.occurrences}" if step.occurrence > 1 else ""
            )
            extent = f"{clock(step.start)} - {clock(step.end)}"
            say(f"  {step.index:>3}  {extent}  kind {letter(step.cluster)}{again}")
        for note in board.notes:
            say(f"  note: {note}")
        say(f"  storyboard: {result.folders[path] / 'storyboard.html'}")
    for reason in result.failures.values():
        warn(f"stepreel: {reason}")
    if len(result.boards) + len(result.failures) > 1:
        if result.boards:
            say(f"all recordings: {output / 'index.html'}")
        say(f"{len(result.boards)} done, {len(result.failures)} failed")


def summary(board: Storyboard) -> str:
    """Say in a few words what was found."""
    kinds = len({step.cluster for step in board.steps})
    seconds = clock(board.recording.duration_seconds)
    return f"{_count(len(board.steps), 'step')} of {_count(kinds, 'kind')} in {seconds}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def clock(seconds: float) -> str:
    """Write a time as a person reads it.

    >>> clock(75.25), clock(3675)
    ('1:15.2', '1:01:15.0')
    """
    tenths = int(seconds * 10)
    hours, rest = divmod(tenths, 36000)
    minutes, rest = divmod(rest, 600)
    tail = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"
