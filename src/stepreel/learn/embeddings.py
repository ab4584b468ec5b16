"""Tracks of one task → embeddings: from the store if they are there, else by training.

Torch is loaded only when something has to be learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepreel.config import LossSettings, Settings, pick_cues
from stepreel.learn.sampling import count_chunks, window_of
from stepreel.system.interrupts import interrupts_held_back
from stepreel.system.machine import Device
from stepreel.system.store import Entry, Store
from stepreel.types import FeatureTrack, Floats, Progress, Seconds, TrackedRecording, no_progress

if TYPE_CHECKING:
    from stepreel.learn.training import OnCheckpoint

METHOD_VERSION = 6  # raise it when the same tracks and settings would give other embeddings


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
    on_checkpoint: OnCheckpoint | None = None,
    learn_from: Sequence[int] | None = None,
) -> list[FeatureTrack]:
    """Embed recordings of one task with an encoder trained on all of them together.

    `learn_from` are the positions of those to train on, if others are to be embedded only.
    """
    chosen = range(len(recordings)) if learn_from is None else learn_from
    description = _describe([recordings[number] for number in chosen], settings)
    entries = [_embedding_entry(store, description, one, settings) for one in recordings]
    model_entry = store.model_entry(description)
    if not all(entry.exists() for entry in [model_entry, *entries]):
        _train_and_embed(
            recordings, settings, chosen, model_entry, entries, device, progress, on_checkpoint
        )
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


def learning_notes(all_times: Sequence[Seconds], settings: Settings) -> list[list[str]]:
    """Say of every recording of a task whether it is too long for the window asked for."""
    n_chunks = count_chunks([len(times) for times in all_times], settings.train)
    notes: list[list[str]] = []
    for times in all_times:
        window = window_of(times, n_chunks, settings)
        if window.seconds == window.asked_seconds:
            notes.append([])
            continue
        notes.append(
            [
                f"A long recording for {n_chunks} samples: moments up to {window.seconds:.1f} s "
                f"apart were taken as alike, instead of {window.asked_seconds:g} s. "
                "A larger train.n_chunks finds finer steps."
            ]
        )
    return notes


def _train_and_embed(
    recordings: Sequence[TrackedRecording],
    settings: Settings,
    chosen: Sequence[int],
    model_entry: Entry,
    entries: Sequence[Entry],
    device: Device,
    progress: Progress,
    on_checkpoint: OnCheckpoint | None,
) -> None:
    with interrupts_held_back():
        from stepreel.learn.inference import embed_recording
        from stepreel.learn.training import train_encoder
        from stepreel.learn.training_data import prepare_lesson, prepare_lessons
        from stepreel.system.machine import pick_device

    lessons = prepare_lessons([recordings[number].tracks for number in chosen], settings)
    trained = train_encoder(
        lessons,
        settings,
        entry=model_entry,
        device=pick_device(device),
        progress=progress,
        on_checkpoint=on_checkpoint,
    )
    cues = list(recordings[0].tracks)
    embed_cues = pick_cues(settings.embed.cues, cues, setting="embed.cues")
    prepared = dict(zip(chosen, lessons, strict=True))
    without_loss = settings.model_copy(update={"loss": LossSettings(bootstrap="none")})
    for number, (recording, entry) in enumerate(zip(recordings, entries, strict=True)):
        lesson = prepared.get(number) or prepare_lesson(recording.tracks, without_loss)
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
