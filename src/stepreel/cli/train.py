"""`stepreel train`: recordings of one task in, a model that knows its steps out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import (
    Assignments,
    Cache,
    Clusters,
    DeviceName,
    EmbedCues,
    Fps,
    Preset,
    Quiet,
    Seed,
    Times,
    checked_device,
    named_overrides,
    open_store,
    resolve_settings,
)
from stepreel.cli.sources import read_feature_files, sort_sources, watch_videos
from stepreel.cli.terminal import (
    NOTHING_DONE,
    SOME_FAILED,
    clear_errors,
    counted,
    progress_bar,
    refuse,
    say,
)

if TYPE_CHECKING:
    from stepreel.config import Settings
    from stepreel.learn.embeddings import Training
    from stepreel.learn.model import TaskModel
    from stepreel.system.machine import Device
    from stepreel.system.store import Store
    from stepreel.types import Progress, TrackedRecording


def train(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            help="Videos of one task, or features of your own: .npy, .npz, .h5, .safetensors.",
            readable=False,  # one unreadable file must not stop the others
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")] = Path(
        "model"
    ),
    cues: Annotated[
        str | None,
        typer.Option(metavar="CUE,CUE", help="Arrays of feature files to use; main one first."),
    ] = None,
    fps: Fps = None,
    times: Times = None,
    clusters: Clusters = None,
    preset: Preset = None,
    assignments: Assignments = None,
    embed_cues: EmbedCues = None,
    seed: Seed = None,
    device: DeviceName = "auto",
    cache: Cache = None,
    quiet: Quiet = False,
) -> None:
    """Learn a task from its recordings; keep what was learned for later takes.

    The model's folder holds model.json, model.safetensors, metrics.jsonl
    and loss.png. Use it with `stepreel run new.mp4 --model FOLDER` or with
    `stepreel embed`. Interrupted training goes on from its last checkpoint
    when the same command is given again.
    """
    with clear_errors():
        where = checked_device(device)
        overrides = named_overrides(
            assignments or [], clusters=clusters, seed=seed, embed_cues=embed_cues
        )
        sources, store = sort_sources(recordings), open_store(cache)
        found: Mapping[Path, TrackedRecording]
        with progress_bar(quiet=quiet) as progress:
            if sources.are_features:
                chosen = [cue.strip() for cue in (cues or "").split(",") if cue.strip()]
                found = read_feature_files(sources.paths, cues=chosen, fps=fps, times=times)
                names = [cue for one in list(found.values())[:1] for cue in one.tracks]
                settings = resolve_settings(preset, overrides, names) if found else None
            else:
                if cues or fps or times:
                    raise refuse(
                        "--cues, --fps and --times are about feature files, and these are videos; "
                        "--set extract.cues=… names cues of videos"
                    )
                settings = resolve_settings(preset, overrides)
                found = watch_videos(sources.paths, settings, store, progress=progress)
            if not found or settings is None:
                raise typer.Exit(NOTHING_DONE)
            _learn(list(found.values()), settings, store, output, where, progress)
        if len(found) < len(sources.paths):
            raise typer.Exit(SOME_FAILED)


def _learn(
    recordings: Sequence[TrackedRecording],
    settings: Settings,
    store: Store,
    output: Path,
    device: Device,
    progress: Progress,
) -> None:
    from stepreel.learn.embeddings import learning_notes, recall_training
    from stepreel.learn.model import metrics_text, write_model
    from stepreel.steps.grouping import learn_task
    from stepreel.storyboard.folders import check_writable
    from stepreel.system.files import explained, write_text

    check_writable(output)
    times = [next(iter(one.tracks.values())).times for one in recordings]
    for one, notes in zip(recordings, learning_notes(times, settings), strict=True):
        for note in notes:
            say(f"{one.name}: note: {note}")

    def keep_metrics(losses: Sequence[float], seconds: Sequence[float]) -> None:
        with explained(output):
            write_text(output / "metrics.jsonl", metrics_text(losses, seconds, settings))

    task = learn_task(
        recordings, settings, store, device=device, progress=progress, on_checkpoint=keep_metrics
    )
    training = recall_training(recordings, settings, store)
    model = write_model(output, recordings, settings, training, task.centres)
    _report(model, training, output)


def _report(model: TaskModel, training: Training, output: Path) -> None:
    from stepreel.types import cues_and_widths

    cues = cues_and_widths({cue: card.width for cue, card in model.card.cues.items()})
    losses = training.losses
    say(f"recordings: {len(model.card.recordings)}, cues: {cues}")
    say(
        f"loss: {losses[0]:.3f} in the first epoch, {losses[-1]:.3f} in the last of {len(losses)}; "
        f"{sum(training.seconds):.1f} s"
    )
    say(f"model: {output} ({counted(model.card.n_clusters, 'kind of step')})")
