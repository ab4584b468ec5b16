"""`stepreel tune`: the steps of an output folder chosen again, without decoding or training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import (
    Assignments,
    Budget,
    Clusters,
    DecoderName,
    EmbedCues,
    Quiet,
    Sample,
    Seed,
    Steps,
    Top,
    named_overrides,
)
from stepreel.cli.progress import progress_bar
from stepreel.cli.run import report_boards
from stepreel.cli.terminal import NOTHING_DONE, SOME_FAILED, report_errors, say, warn

if TYPE_CHECKING:
    from stepreel.choose_again import TunedTask
    from stepreel.storyboard.titles import Titles


FREELY: dict[str, object] = {
    "key_steps.at_least": None,
    "key_steps.contains": (),
    "key_steps.same": (),
    "key_steps.different": (),
}


def tune(
    folder: Annotated[
        Path, typer.Argument(help="The output folder of a run, or of one of its recordings.")
    ],
    clusters: Clusters = None,
    decoder: DecoderName = None,
    steps: Steps = None,
    background: Annotated[
        float | None,
        typer.Option(min=0, max=0.99, help="Share of each kind that `kmeans` leaves out (0.1)."),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Seconds: a kind that comes back after a longer gap is a new step (2)."),
    ] = None,
    shortest: Annotated[
        float | None, typer.Option(help="Seconds that a step lasts at least (1).")
    ] = None,
    top: Top = None,
    budget: Budget = None,
    sample: Sample = None,
    at_least: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Cut steps until there are so many.")
    ] = None,
    contains: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help="Seconds: show a step that contains this moment."),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(metavar="S,S", help="Seconds: these two moments are the same step."),
    ] = None,
    different: Annotated[
        list[str] | None,
        typer.Option(metavar="S,S", help="Seconds: these two moments are different steps."),
    ] = None,
    freely: Annotated[
        bool,
        typer.Option(
            "--freely", help="Drop all of --at-least, --contains, --same and --different."
        ),
    ] = False,
    all_steps: Annotated[
        bool, typer.Option("--all", help="Show all steps again, after --top or --budget.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write here, and leave the storyboards as they are."),
    ] = None,
    titles: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file of titles: the letter of a kind or the number of a step, its title."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite storyboards that were edited by hand.")
    ] = False,
    embed_cues: EmbedCues = None,
    assignments: Assignments = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Choose steps again: more or fewer, longer, or found in another way.

    Nothing is decoded and nothing is trained: the output folder keeps all
    that is needed, also when the cache is emptied. Settings that are not
    named stay as they were.
    """
    from stepreel.errors import SettingsError

    with report_errors():
        overrides = named_overrides(
            assignments or [],
            clusters=clusters,
            decoder=decoder,
            steps=steps,
            top=top,
            budget=budget,
            sample=sample,
            seed=seed,
            embed_cues=embed_cues,
            background=background,
            gap=gap,
            shortest=shortest,
            at_least=at_least,
            contains=",".join(contains) if contains else None,
            same=";".join(same) if same else None,
            different=";".join(different) if different else None,
        )
        if freely:
            overrides = {**FREELY, **overrides}
        if all_steps and (top is not None or budget is not None):
            raise SettingsError("--all shows all steps; leave out --top and --budget, or --all")
        if all_steps:
            overrides |= {"key_steps.top": None, "key_steps.budget_seconds": None}
        n_done, n_failed = _tune_all(folder, overrides, output, titles, force=force, quiet=quiet)
        if not n_done:
            raise typer.Exit(NOTHING_DONE)
        if n_failed:
            raise typer.Exit(SOME_FAILED)


def _tune_all(
    folder: Path,
    overrides: dict[str, object],
    output: Path | None,
    titles: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> tuple[int, int]:
    """Tune every task in a folder; return how many storyboards were written, and how many not."""
    from stepreel.choose_again import tune_task
    from stepreel.errors import OutputError, StepreelError
    from stepreel.storyboard.editing import STORYBOARD
    from stepreel.storyboard.titles import read_titles
    from stepreel.system.files import check_writable
    from stepreel.tuning.kept_takes import find_kept_takes

    if output is not None:
        if (output / STORYBOARD).exists():
            raise OutputError(
                f"{output}: is the folder of one recording; name a folder for all of them with -o"
            )
        check_writable(output)
    tasks, problems = find_kept_takes(folder)
    named: Titles | None = None
    if titles is not None:
        named = read_titles(titles, n_recordings=sum(len(task) for task in tasks))
    n_done = 0
    with progress_bar(quiet=quiet) as progress:
        for takes in tasks:
            try:
                tuned = tune_task(
                    takes,
                    overrides=overrides,
                    output=output,
                    titles=named,
                    force=force,
                    progress=progress,
                )
            except (OutputError, StepreelError) as problem:
                problems.append(str(problem))
                continue
            _report(tuned, asked=len(takes))
            problems += [*tuned.written.failures.values(), *tuned.written.unsaved]
            n_done += len(tuned.written.boards)
    for reason in problems:
        warn(f"stepreel: {reason}")
    return n_done, len(problems)


def _report(tuned: TunedTask, *, asked: int) -> None:
    if len(tuned.names) > asked:
        say(
            f"kinds of steps are shared: all {len(tuned.names)} recordings of the task were written"
        )
    report_boards(tuned.written, tuned.names)
