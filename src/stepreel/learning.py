"""Tracks of one task → embeddings: from the store if they are there, else by training.

Torch is loaded only when something has to be learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.config import Settings, pick_cues
from stepreel.interrupts import interrupts_held_back
from stepreel.machine import Device
from stepreel.sampling import asked_window, count_chunks, fitting_window, track_seconds
from stepreel.store import Entry, Store
from stepreel.types import FeatureTrack, Floats, Progress, Seconds, TrackedRecording, no_progress

METHOD_VERSION = 4  # raise it when the same tracks and settings would give other embeddings


@dataclass(frozen=True)
class Training:
    """What training left behind: the encoder's weights, and every epoch's loss and duration."""

    weights: dict[str, Floats]
    losses: list[float]
    seconds: list[float]


def learn_embeddings(
    recordings: Sequence[TrackedRecording],
    settings: Settings,
    store: Store,
    *,
    device: Device = "auto",
    progress: Progress = no_progress,
) -> list[FeatureTrack]:
    """Embed recordings of one task with an encoder trained on all of them together."""
    description = _describe(recordings, settings)
    entries = [_embedding_entry(store, description, one, settings) for one in recordings]
    model_entry = store.model_entry(description)
    if not all(entry.exists() for entry in [model_entry, *entries]):
        _train_and_embed(recordings, settings, model_entry, entries, device, progress)
    return [
        entry.read_track(recording.name)
        for entry, recording in zip(entries, recordings, strict=True)
    ]


def recall_training(
    recordings: Sequence[TrackedRecording], settings: Settings, store: Store
) -> Training:
    """Read back what `learn_embeddings` has trained for these recordings and settings."""
    arrays = store.model_entry(_describe(recordings, settings)).read()
    weights = {
        name.removeprefix("encoder."): array
        for name, array in arrays.items()
        if name.startswith("encoder.")
    }
    return Training(weights, arrays["losses"].tolist(), arrays["seconds"].tolist())


def learning_notes(times: Seconds, settings: Settings) -> list[str]:
    """Say so when a recording is too long for the window that was asked for."""
    asked = asked_window(times, settings.loss)
    n_chunks = count_chunks([len(times)], settings.train)
    covered = settings.train.temporal_extent * track_seconds(times)
    window_seconds = fitting_window(asked, covered, n_chunks)
    if window_seconds == asked or settings.train.chunks_of_mean_length is not None:
        return []
    return [
        f"A long recording for {n_chunks} samples: moments up to {window_seconds:.1f} s apart were "
        f"taken as alike, instead of {asked:g} s. A larger train.n_chunks finds finer steps."
    ]


def _train_and_embed(
    recordings: Sequence[TrackedRecording],
    settings: Settings,
    model_entry: Entry,
    entries: Sequence[Entry],
    device: Device,
    progress: Progress,
) -> None:
    with interrupts_held_back():
        from stepreel.dataset import prepare_lessons
        from stepreel.embed import embed_recording
        from stepreel.machine import pick_device
        from stepreel.train import train_encoder

    lessons = prepare_lessons([recording.tracks for recording in recordings], settings)
    trained = train_encoder(
        lessons, settings, entry=model_entry, device=pick_device(device), progress=progress
    )
    cues = list(recordings[0].tracks)
    embed_cues = pick_cues(settings.embed.cues, cues, setting="embed.cues")
    for lesson, recording, entry in zip(lessons, recordings, entries, strict=True):
        embedding = embed_recording(trained.encoder, lesson, embed_cues, recording=recording.name)
        entry.write_track(embedding)


def _describe(recordings: Sequence[TrackedRecording], settings: Settings) -> dict[str, object]:
    """Name everything the trained encoder depends on."""
    first = recordings[0]
    return {
        "method": METHOD_VERSION,
        "recordings": [recording.fingerprint for recording in recordings],
        "cues": list(first.tracks),  # their order matters: the first is the main one
        "tracks": first.track_settings,
        "widths": {cue: track.width for cue, track in first.tracks.items()},
        "loss": settings.loss.model_dump(),
        "encoder": settings.encoder.model_dump(),
        "train": settings.train.model_dump(exclude={"checkpoint_seconds"}),
    }


def _embedding_entry(
    store: Store, model: dict[str, object], recording: TrackedRecording, settings: Settings
) -> Entry:
    description = {"model": model, "embed": settings.embed.model_dump()}
    return store.recording_entry(recording.fingerprint, "embedding", description)
