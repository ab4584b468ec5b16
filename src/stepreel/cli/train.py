"""`stepreel train`: recordings of one task in, a trained model out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import (
    Assignments,
    Cache,
    DeviceName,
    EmbedCues,
    FeatureCues,
    Fps,
    LearnedClusters,
    NoCache,
    Preset,
    Quiet,
    Seed,
    Times,
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
    from stepreel.learn.model import TaskModel
    from stepreel.system.machine import Device
    from stepreel.system.store import Store
    from stepreel.task import Task
    from stepreel.types import Progress


def train(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            help="Videos of one task, or feature files (.npy, .npz, .h5, .safetensors), or a "
            "folder of either.",
            readable=False,  # one unreadable file must not stop the others
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")] = Path(
        "model"
    ),
    cues: FeatureCues = None,
    fps: Fps = None,
    times: Times = None,
    clusters: LearnedClusters = None,
    preset: Preset = None,
    assignments: Assignments = None,
    embed_cues: EmbedCues = None,
    seed: Seed = None,
    device: DeviceName = "auto",
    cache: Cache = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on recordings of a task, to use it on later takes.

    An embedding is learned as in the paper, and its moments are clustered by
    k-means, as with `stepreel run --decoder kmeans`. What `stepreel run` does
    by default needs no training. The folder contains model.json,
    model.safetensors, metrics.jsonl and loss.png. Use it with
    `stepreel run new.mp4 --model FOLDER` or with `stepreel embed`.
    Interrupted training resumes from its last checkpoint when the same
    command is run again.
    """
    with report_errors():
        usable = usable_device(device)  # before libraries are loaded that need much memory
        from stepreel.steps.decoders.catalog import check_trains
        from stepreel.system.locks import lock_output
        from stepreel.task import load_task

        overrides = named_overrides(
            assignments or [], clusters=clusters, seed=seed, embed_cues=embed_cues
        )
        overrides.setdefault("key_steps.decoder", "kmeans")  # the one that uses what is trained
        check_trains(str(overrides["key_steps.decoder"]))
        sources = recording_paths(recordings, times=times)
        with (
            open_store(cache, no_cache=no_cache) as store,
            progress_bar(quiet=quiet) as progress,
        ):
            task = load_task(
                sources,
                store,
                preset=preset,
                overrides=overrides,
                reading=feature_reading(cues, fps, times),
                output=output,
                progress=progress,
            )
            for reason in task.failures.values():
                warn(f"stepreel: {reason}")
            if not task.recordings:
                raise typer.Exit(NOTHING_DONE)
            with lock_output(output, progress):  # metrics.jsonl is written while it learns
                _learn(task, store, output, usable, progress)
        if task.failures:
            raise typer.Exit(SOME_FAILED)


def _learn(task: Task, store: Store, output: Path, device: Device, progress: Progress) -> None:
    from stepreel.learn.embeddings import training_notes
    from stepreel.learn.model import FOLDER, metrics_text, write_model
    from stepreel.learn.sampling import plan_sampling
    from stepreel.output import keep_needed_model
    from stepreel.pipeline import learn_task
    from stepreel.system.files import explain_write_errors, write_text

    recordings = list(task.recordings.values())
    plan = plan_sampling([recording.times for recording in recordings], task.settings)
    for recording, notes in zip(recordings, training_notes(plan), strict=True):
        for note in notes:  # printed before hours of training, not after
            say(f"{recording.name}: note: {note}")

    def write_metrics(losses: Sequence[float], seconds: Sequence[float]) -> None:
        with explain_write_errors(output):
            write_text(output / "metrics.jsonl", metrics_text(losses, seconds, task.settings))

    learned = learn_task(task, store, device=device, progress=progress, on_checkpoint=write_metrics)
    model = learned.model
    assert model is not None
    # In the folder of a run, storyboards may need the model that is there.
    earlier = keep_needed_model(output.parent, model) if output.name == FOLDER else None
    write_model(output, model)
    _report(model, output)
    if earlier is not None:
        say(f"kept the earlier model, which storyboards in {output.parent} need: {earlier}")


def _report(model: TaskModel, output: Path) -> None:
    from stepreel.learn.loss_curve import can_draw
    from stepreel.types import cues_and_widths

    training = model.training
    assert training is not None
    cues = cues_and_widths({cue: card.width for cue, card in model.card.cues.items()})
    losses = training.losses
    say(f"recordings: {len(model.card.recordings)}, cues: {cues}")
    say(
        f"loss: {losses[0]:.3f} in the first epoch, {losses[-1]:.3f} in the last of {len(losses)}; "
        f"{sum(training.seconds):.1f} s"
    )
    say(f"model: {output} ({counted(model.card.n_clusters, 'kind of step')})")
    if not can_draw():
        say("note: loss.png was not drawn; it needs matplotlib: pip install 'stepreel[plots]'")
