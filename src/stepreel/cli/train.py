"""`stepreel train`: recordings of one task in, a model that knows its steps out."""

from __future__ import annotations

from collections.abc import Mapping
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
from stepreel.cli.terminal import NOTHING_DONE, SOME_FAILED, clear_errors, progress_bar, refuse, say

if TYPE_CHECKING:
    from stepreel.learning import Training
    from stepreel.model import TaskModel
    from stepreel.types import TrackedRecording


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

    The model's folder holds model.json, model.safetensors, metrics.jsonl and loss.png. Use it with
    `stepreel run new.mp4 --model FOLDER` or `stepreel embed`. Interrupted training goes on from its
    last checkpoint when the same command is given again.
    """
    with clear_errors():
        from stepreel.folders import check_writable
        from stepreel.learning import recall_training
        from stepreel.model import write_model
        from stepreel.task import learn_task

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
                if not found:
                    raise typer.Exit(NOTHING_DONE)
                names = list(next(iter(found.values())).tracks)
                settings = resolve_settings(preset, overrides, names)
            elif cues or fps or times:
                raise refuse(
                    "--cues, --fps and --times are about feature files, and these are videos; "
                    "--set extract.cues=… names cues of videos"
                )
            else:
                settings = resolve_settings(preset, overrides)
                check_writable(output)
                found = watch_videos(sources.paths, settings, store, progress=progress)
                if not found:
                    raise typer.Exit(NOTHING_DONE)
            check_writable(output)
            usable = list(found.values())
            task = learn_task(usable, settings, store, device=where, progress=progress)
            training = recall_training(usable, settings, store)
            model = write_model(output, usable, settings, training, task.centres)
        _report(model, training, output)
        if len(found) < len(sources.paths):
            raise typer.Exit(SOME_FAILED)


def _report(model: TaskModel, training: Training, output: Path) -> None:
    cues = ", ".join(f"{cue} ({card.width})" for cue, card in model.card.cues.items())
    losses = training.losses
    say(f"recordings: {len(model.card.recordings)}, cues: {cues}")
    say(
        f"loss: {losses[0]:.3f} in the first epoch, {losses[-1]:.3f} in the last of {len(losses)}; "
        f"{sum(training.seconds):.1f} s"
    )
    say(f"model: {output} ({model.card.n_clusters} kinds of steps)")
