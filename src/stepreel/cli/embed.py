"""`stepreel embed`: recordings and a trained model in, one embedding per recording out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepreel.cli.options import (
    Cache,
    DeviceName,
    EmbedCues,
    Fps,
    NoCache,
    Quiet,
    Times,
    feature_reading,
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
from stepreel.errors import OutputError
from stepreel.system.machine import usable_device

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepreel.types import FeatureTrack, Floats, Recording


def embed(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            help="Videos or feature files, like those the model was trained on, or a folder of "
            "them.",
            readable=False,
        ),
    ],
    model: Annotated[
        Path,
        typer.Option(
            help="A trained model: the folder that `stepreel train` wrote, or `stepreel run "
            "--decoder kmeans`."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the embeddings.")
    ] = Path("embeddings"),
    fps: Fps = None,
    times: Times = None,
    embed_cues: EmbedCues = None,
    device: DeviceName = "auto",
    cache: Cache = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Embed recordings with a trained model, without training.

    Writes NAME.embedding.npz for each: `times` (T,) in seconds, `embedding`
    (T, D), `valid` (T,), and the model's kind of step at every moment:
    `cluster` (T,), with the `distance` (T,) to its centre.
    """
    with report_errors():
        usable = usable_device(device)  # before libraries are loaded that need much memory
        from stepreel.config import pick_cues
        from stepreel.learn.model import check_has_encoder, read_model
        from stepreel.setting_values import parse_cues
        from stepreel.task import load_task

        trained = read_model(model)
        check_has_encoder(trained)  # before videos are extracted
        model_cues = list(trained.card.cues)
        chosen = None
        if embed_cues:
            chosen = pick_cues(parse_cues(embed_cues), model_cues, setting="--embed-cues")
        sources = recording_paths(recordings, times=times)
        with (
            open_store(cache, no_cache=no_cache) as store,
            progress_bar(quiet=quiet) as progress,
        ):
            task = load_task(
                sources,
                store,
                model=trained,
                reading=feature_reading(None, fps, times),
                output=output,
                progress=progress,
            )
            for reason in task.failures.values():
                warn(f"stepreel: {reason}")
            if not task.recordings:
                raise typer.Exit(NOTHING_DONE)

            from stepreel.learn.inference import embed_with_model
            from stepreel.learn.model import CENTRES
            from stepreel.system.locks import lock_output
            from stepreel.system.names import name_files

            clustered_cues = pick_cues(
                trained.settings.embed.cues, model_cues, setting="embed.cues"
            )
            centres = trained.kinds.get(CENTRES) if chosen in (None, clustered_cues) else None
            if centres is None:
                say(
                    "note: no clusters are written; the model has clusters only for "
                    + ", ".join(clustered_cues)
                )
            files = name_files([sources[p] for p in task.recordings], output, ".embedding.npz")
            readable = list(task.recordings.values())
            n_failed = len(task.failures)
            tracks = embed_with_model(trained, readable, cues=chosen, device=usable)
            with lock_output(output, progress):
                for number, (position, track) in enumerate(
                    zip(task.recordings, tracks, strict=True)
                ):
                    path = sources[position]
                    progress("embedding", number + 1, len(readable))
                    try:
                        _write(files[path], track, readable[number], centres)
                    except OutputError as problem:  # the others can still be written
                        warn(f"stepreel: {problem}")
                        n_failed += 1
                        continue
                    size = f"{counted(len(track), 'moment')} x {track.width}"
                    say(f"{path.name}: {size}, {files[path]}")
        if n_failed:
            raise typer.Exit(NOTHING_DONE if n_failed == len(sources) else SOME_FAILED)


def _write(path: Path, track: FeatureTrack, recording: Recording, centres: Floats | None) -> None:
    """Write an embedding with times on the recording's own clock, and the clusters of moments."""
    import numpy as np

    from stepreel.steps.clustering import assign_to_centres
    from stepreel.system.files import explain_write_errors, write_bytes

    arrays: dict[str, NDArray[Any]] = {
        "times": track.times + recording.start_seconds,
        "embedding": track.features,
        "valid": track.valid,
    }
    if centres is not None:
        clustering = assign_to_centres(track, centres)
        arrays |= {"cluster": clustering.labels, "distance": clustering.distances}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    with explain_write_errors(path.parent):
        write_bytes(path, content.getvalue())
