"""`stepreel run`: recordings of one task in, storyboards out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import (
    Assignments,
    Cache,
    Clusters,
    DeviceName,
    EmbedCues,
    Preset,
    Quiet,
    Seed,
    checked_device,
    named_once,
    named_overrides,
    open_store,
    resolve_settings,
    settings_of_model,
)
from stepreel.cli.terminal import (
    NOTHING_DONE,
    SOME_FAILED,
    clear_errors,
    counted,
    progress_bar,
    say,
    warn,
)

if TYPE_CHECKING:
    from stepreel.config import Settings
    from stepreel.learn.model import TaskModel
    from stepreel.pipeline import TaskResult
    from stepreel.storyboard.schema import Storyboard
    from stepreel.system.machine import Device


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
    model: Annotated[
        Path | None,
        typer.Option(help="A trained model, or the output folder of an earlier run: no learning."),
    ] = None,
    clusters: Clusters = None,
    top: Annotated[
        int | None,
        typer.Option(help="Show so many steps, the clearest (all of 1 s or more, at most 20)."),
    ] = None,
    preset: Preset = None,
    assignments: Assignments = None,
    embed_cues: EmbedCues = None,
    seed: Seed = None,
    device: DeviceName = "auto",
    cache: Cache = None,
    quiet: Quiet = False,
) -> None:
    """Find the key steps of one or several recordings of a task.

    Several recordings are learned and clustered together: the same step
    gets the same colour in each storyboard. A second run re-uses everything
    that did not change. What was learned is kept in the output folder too:
    with --model, the same steps are found in later takes.
    """
    with clear_errors():
        overrides = named_overrides(
            assignments or [], clusters=clusters, top=top, seed=seed, embed_cues=embed_cues
        )
        trained = None
        if model is None:
            settings = resolve_settings(preset, overrides)
        else:
            from stepreel.learn.model import read_model

            trained = read_model(model)
            settings = settings_of_model(trained, preset, overrides)
        result = find(
            recordings,
            output,
            settings,
            model=trained,
            device=checked_device(device),
            cache=cache,
            quiet=quiet,
        )
        report_result(result)
        if not result.boards:
            raise typer.Exit(NOTHING_DONE)
        if result.failures or result.unsaved:
            raise typer.Exit(SOME_FAILED)


def find(
    recordings: list[Path],
    output: Path,
    settings: Settings,
    *,
    model: TaskModel | None = None,
    device: Device = "auto",
    cache: Path | None,
    quiet: bool,
) -> TaskResult:
    """Run the pipeline with a progress bar."""
    from stepreel.pipeline import run_task
    from stepreel.storyboard.folders import check_writable

    check_writable(output)
    paths = named_once(recordings)
    store = open_store(cache)
    with progress_bar(quiet=quiet) as progress:
        return run_task(
            paths, settings, store, output=output, model=model, device=device, progress=progress
        )


def report_result(result: TaskResult) -> None:
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
    for reason in [*result.failures.values(), *result.unsaved]:
        warn(f"stepreel: {reason}")
    if len(result.boards) + len(result.failures) > 1:
        if result.index is not None:
            say(f"all recordings: {result.index}")
        say(f"{len(result.boards)} done, {len(result.failures)} failed")


def summary(board: Storyboard) -> str:
    """Say in a few words what was found."""
    kinds = len({step.cluster for step in board.steps})
    seconds = clock(board.recording.duration_seconds)
    return f"{counted(len(board.steps), 'step')} of {counted(kinds, 'kind')} in {seconds}"


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
