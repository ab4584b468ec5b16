"""`stepreel run`: recordings of one task in, storyboards out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from stepreel.cli.options import (
    Assignments,
    Budget,
    Cache,
    Clusters,
    DecoderName,
    DeviceName,
    EmbedCues,
    FeatureCues,
    Fps,
    NoCache,
    Preset,
    Quiet,
    Sample,
    Seed,
    Steps,
    Times,
    Top,
    feature_reading,
    named_overrides,
    open_store,
    recording_paths,
)
from stepreel.cli.progress import progress_bar
from stepreel.cli.terminal import (
    NOTHING_DONE,
    SOME_FAILED,
    counted,
    report_errors,
    say,
    warn,
)
from stepreel.system.machine import usable_device

if TYPE_CHECKING:
    from stepreel.features.sources import FeatureReading
    from stepreel.output import WrittenTask
    from stepreel.pipeline import TaskRun
    from stepreel.report.video import VideoChoice
    from stepreel.storyboard.schema import Storyboard
    from stepreel.system.machine import Device


def run(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings of one task: videos, or feature files (.npy, .npz, .h5, "
            ".safetensors), or a folder of either. Put names that start with a dash after `--`.",
            readable=False,  # one unreadable file must not stop the others
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the storyboards.")
    ] = Path("out"),
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model, or the output folder of an earlier run: its kinds of steps are found "
            "again."
        ),
    ] = None,
    clusters: Clusters = None,
    decoder: DecoderName = None,
    steps: Steps = None,
    top: Top = None,
    budget: Budget = None,
    sample: Sample = None,
    titles: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file of titles: the letter of a kind or the number of a step, its title."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite storyboards that were edited by hand.")
    ] = False,
    video: Annotated[
        Literal["link", "copy", "proxy", "embed"],
        typer.Option(
            help="What the page plays. link: the recording, or a copy in H.264 if browsers cannot "
            "play it. copy: the recording, copied beside the page. proxy: a copy in H.264. embed: "
            "a small copy inside the page, to send it by mail."
        ),
    ] = "link",
    cues: FeatureCues = None,
    fps: Fps = None,
    times: Times = None,
    preset: Preset = None,
    assignments: Assignments = None,
    embed_cues: EmbedCues = None,
    seed: Seed = None,
    device: DeviceName = "auto",
    cache: Cache = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Find the key steps of one or several recordings of a task.

    Several recordings are looked at together: the same step gets the same
    colour in each storyboard. Only the decoders kmeans and refined train. A
    second run reuses everything that did not change. A model is written to
    the output folder: with --model, the same steps are found in later takes.
    """
    with report_errors():
        usable = usable_device(device)
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
        )
        sources = recording_paths(recordings, times=times)
        task_run = find(
            sources,
            output,
            preset=preset,
            overrides=overrides,
            model=model,
            reading=feature_reading(cues, fps, times),
            titles=titles,
            force=force,
            video=video,
            device=usable,
            cache=cache,
            no_cache=no_cache,
            quiet=quiet,
        )
        report_run(task_run, sources)
        if task_run.written is None or not task_run.written.boards:
            raise typer.Exit(NOTHING_DONE)
        if task_run.failures or task_run.written.unsaved:
            raise typer.Exit(SOME_FAILED)


def find(
    sources: Sequence[Path],
    output: Path,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    model: Path | None = None,
    reading: FeatureReading | None = None,
    titles: Path | None = None,
    force: bool = False,
    video: VideoChoice = "link",
    device: Device = "auto",
    cache: Path | None,
    no_cache: bool,
    quiet: bool,
) -> TaskRun:
    """Run the pipeline with a progress bar."""
    from stepreel import pipeline
    from stepreel.learn.model import read_model
    from stepreel.storyboard.titles import read_titles

    trained = None if model is None else read_model(model)
    named = None if titles is None else read_titles(titles, n_recordings=len(sources))
    with (
        open_store(cache, no_cache=no_cache) as store,
        progress_bar(quiet=quiet) as progress,
    ):
        return pipeline.run(
            sources,
            store,
            preset=preset,
            overrides=overrides,
            model=trained,
            reading=reading,
            output=output,
            titles=named,
            force=force,
            video=video,
            device=device,
            progress=progress,
        )


def report_run(task_run: TaskRun, sources: Sequence[Path]) -> None:
    """Print the steps and the storyboard's path of every recording, then what went wrong."""
    if task_run.written is not None:
        report_boards(task_run.written, [source.name for source in sources])
    unsaved = [] if task_run.written is None else task_run.written.unsaved
    for reason in [*(task_run.failures[p] for p in sorted(task_run.failures)), *unsaved]:
        warn(f"stepreel: {reason}")
    if unused := _unused_titles(task_run):
        warn(f"stepreel: {unused}")
    if len(sources) > 1:
        say(_count(task_run))


def report_boards(written: WrittenTask, names: Sequence[str]) -> None:
    """Print the steps and the storyboard's path of every recording, and how they were found."""
    for position, board in written.boards.items():
        say(f"{names[position]}: {summary(board)}")
        for line in step_lines(board):
            say(f"  {line}")
        for note in board.notes:
            say(f"  note: {note}")
        playable = board.recording.playable
        if playable is not None and playable.explanation not in ("", *board.notes):
            say(f"  video: {playable.explanation}")
        say(f"  storyboard: {written.folders[position] / 'storyboard.html'}")
        if len(names) == 1:
            say_other_numbers(board)
        if len(names) > 1:
            say("")  # between recordings, and before the summary
    if written.earlier_model is not None:
        say(f"kept the earlier model, which other storyboards here need: {written.earlier_model}")
    if written.index is not None:
        say(f"all recordings: {written.index}")
    boards = written.boards.values()
    for sentence in dict.fromkeys(b.decision.sentence for b in boards if b.decision):
        say(f"how steps were found: {sentence}")
    if len(names) > 1 and boards:
        say_other_numbers(next(iter(boards)))


def say_other_numbers(board: Storyboard) -> None:
    """Print which other numbers of steps are natural, if any."""
    if not board.alternatives:
        return
    *numbers, last = [other.label for other in board.alternatives]
    text = f"{', '.join(label.partition(' ')[0] for label in numbers)} or {last}"
    say(f"also natural here: {text if numbers else last}; the page has a button for each")


def _unused_titles(task_run: TaskRun) -> str | None:
    """Return a warning if titles name kinds that none of several recordings has."""
    results = list(task_run.results.values())
    titles = results[0].titles if results else None
    if titles is None:
        return None
    return titles.unused_by_all([step.cluster for step in result.steps] for result in results)


def _count(task_run: TaskRun) -> str:
    """Count what became of the recordings; an edited storyboard that was kept did not fail."""
    n_done, n_kept = 0, 0
    if task_run.written is not None:
        n_done, n_kept = len(task_run.written.boards), len(task_run.written.kept)
    n_failed = len(task_run.failures) - n_kept
    counts = [f"{n_done} done"]
    if n_kept:
        counts.append(f"{n_kept} kept")
    if n_failed or not n_kept:
        counts.append(f"{n_failed} failed")
    return ", ".join(counts)


def step_lines(board: Storyboard) -> list[str]:
    """Return a line per step; if there are many, a line per kind."""
    from stepreel.report.cards import cards_of, is_folded
    from stepreel.report.wording import clock_with_tenths, length, one_line

    if not is_folded(board):
        return [
            f"{step.index:>3}  {clock_with_tenths(step.start)} - {clock_with_tenths(step.end)}  "
            f"{one_line(step.title)}"
            for step in board.steps
        ]
    return [
        f"{one_line(card.title)}: {counted(len(card.visits), 'visit')}, "
        f"{length(sum(visit.seconds for visit in card.visits))} in total, the first at "
        f"{clock_with_tenths(card.visits[0].start)}"
        for card in cards_of(board)
    ]


def summary(board: Storyboard) -> str:
    """Summarise a storyboard in a few words."""
    from stepreel.report.wording import clock_with_tenths

    kinds = len({step.cluster for step in board.steps})
    seconds = clock_with_tenths(board.recording.duration_seconds)
    return f"{counted(len(board.steps), 'step')} of {counted(kinds, 'kind')} in {seconds}"
