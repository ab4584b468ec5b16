"""Tracks of one task → embeddings: from the store if they are there, else by training.

Torch is loaded only when something has to be learned.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepreel.config import Settings, pick_cues
from stepreel.extract import Extraction
from stepreel.interrupts import interrupts_held_back
from stepreel.sampling import asked_window, count_chunks, fitting_window, track_seconds
from stepreel.store import Entry, Store
from stepreel.types import FeatureTrack, Progress, no_progress

METHOD_VERSION = 4  # raise it when the same tracks and settings would give other embeddings


def learn_embeddings(
    extractions: Sequence[Extraction],
    settings: Settings,
    store: Store,
    *,
    progress: Progress = no_progress,
) -> list[FeatureTrack]:
    """Embed recordings of one task with an encoder trained on all of them together."""
    description = _describe(extractions, settings)
    entries = [_embedding_entry(store, description, e, settings) for e in extractions]
    if not all(entry.exists() for entry in entries):
        _train_and_embed(extractions, settings, store.model_entry(description), entries, progress)
    return [
        entry.read_track(extraction.recording.name)
        for entry, extraction in zip(entries, extractions, strict=True)
    ]


def learning_notes(extraction: Extraction, settings: Settings) -> list[str]:
    """Say so when a recording is too long for the window that was asked for."""
    asked = asked_window(extraction.times, settings.loss)
    n_chunks = count_chunks([len(extraction.times)], settings.train)
    covered = settings.train.temporal_extent * track_seconds(extraction.times)
    window_seconds = fitting_window(asked, covered, n_chunks)
    if window_seconds == asked or settings.train.chunks_of_mean_length is not None:
        return []
    return [
        f"A long recording for {n_chunks} samples: moments up to {window_seconds:.1f} s apart were "
        f"taken as alike, instead of {asked:g} s. A larger train.n_chunks finds finer steps."
    ]


def _train_and_embed(
    extractions: Sequence[Extraction],
    settings: Settings,
    model_entry: Entry,
    entries: Sequence[Entry],
    progress: Progress,
) -> None:
    with interrupts_held_back():
        from stepreel.dataset import prepare_lessons
        from stepreel.embed import embed_recording
        from stepreel.train import train_encoder

    lessons = prepare_lessons([extraction.tracks for extraction in extractions], settings)
    encoder = train_encoder(lessons, settings, entry=model_entry, progress=progress).encoder
    cues = list(extractions[0].tracks)
    embed_cues = pick_cues(settings.embed.cues, cues, setting="embed.cues")
    for lesson, extraction, entry in zip(lessons, extractions, entries, strict=True):
        name = extraction.recording.name
        entry.write_track(embed_recording(encoder, lesson, embed_cues, recording=name))


def _describe(extractions: Sequence[Extraction], settings: Settings) -> dict[str, object]:
    """Name everything the trained encoder depends on."""
    return {
        "method": METHOD_VERSION,
        "recordings": [extraction.recording.fingerprint for extraction in extractions],
        "tracks": extractions[0].track_settings,
        "loss": settings.loss.model_dump(),
        "encoder": settings.encoder.model_dump(),
        "train": settings.train.model_dump(exclude={"checkpoint_seconds"}),
    }


def _embedding_entry(
    store: Store, model: dict[str, object], extraction: Extraction, settings: Settings
) -> Entry:
    description = {"model": model, "embed": settings.embed.model_dump()}
    return store.recording_entry(extraction.recording.fingerprint, "embedding", description)
