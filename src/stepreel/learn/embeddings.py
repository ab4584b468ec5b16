"""Tracks of one task → embeddings: from the cache if possible, else by training.

Torch is imported only if training is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepreel.config import LossSettings, Settings, pick_cues
from stepreel.learn import METHOD_VERSION
from stepreel.learn.model import TrainedWeights, is_finished
from stepreel.learn.sampling import SamplingPlan, plan_sampling
from stepreel.system.interrupts import delay_interrupts
from stepreel.system.machine import Device
from stepreel.system.source_hashes import describe_code
from stepreel.system.store import Entry, Store
from stepreel.types import FeatureTrack, Progress, Recording, no_progress, track_hashes

if TYPE_CHECKING:
    from stepreel.learn.training import OnCheckpoint


@dataclass(frozen=True)
class LearnedEmbeddings:
    """The embeddings of a task's recordings, and the trained weights behind them.

    notes  per recording trained on, what readers of the result should know about the training
    """

    tracks: list[FeatureTrack]
    training: TrainedWeights
    notes: list[list[str]]


def learn_embeddings(
    recordings: Sequence[Recording],
    settings: Settings,
    store: Store,
    *,
    device: Device = "auto",
    progress: Progress = no_progress,
    on_checkpoint: OnCheckpoint | None = None,
    train_on: Sequence[int] | None = None,
) -> LearnedEmbeddings:
    """Embed recordings of one task with an encoder trained on all of them together.

    train_on  positions of the recordings to train on; the others are only embedded (default: all)
    """
    chosen = range(len(recordings)) if train_on is None else train_on
    training_set = [recordings[position] for position in chosen]
    plan = plan_sampling([recording.times for recording in training_set], settings)
    description = _describe(training_set, settings)
    entries = [_embedding_entry(store, description, r, settings) for r in recordings]
    model_entry = store.model_entry(description)
    names = [recording.name for recording in recordings]
    learned = _load(model_entry, entries, names)
    if learned is None:
        with model_entry.lock("these recordings are being learned", progress):
            learned = _load(model_entry, entries, names)
            if learned is None:
                learned = _train_and_embed(
                    recordings, chosen, plan, settings, model_entry, device, progress, on_checkpoint
                )
                for entry, track in zip(entries, learned[1], strict=True):
                    entry.write_track(track)
    training, tracks = learned
    return LearnedEmbeddings(tracks, training, training_notes(plan))


def _load(
    model_entry: Entry, entries: Sequence[Entry], names: Sequence[str]
) -> tuple[TrainedWeights, list[FeatureTrack]] | None:
    """Return weights and embeddings from the cache; None if any is missing or damaged."""
    arrays = model_entry.load()
    # All are tried: what is damaged has to be out of the way before it is written again.
    loaded = [entry.load_track(name) for entry, name in zip(entries, names, strict=True)]
    tracks = [track for track in loaded if track is not None]
    if arrays is None or not is_finished(arrays) or len(tracks) < len(entries):
        return None
    return TrainedWeights.from_arrays(arrays), tracks


def training_notes(plan: SamplingPlan) -> list[list[str]]:
    """Return, for every recording, a note if it is too long for the requested window."""
    return [
        []
        if window.seconds == window.requested_seconds
        else [
            "Short steps may be missed, because this recording is long for the number of moments "
            f"learned from: those up to {window.seconds:.1f} s apart were treated as similar, "
            f"instead of {window.requested_seconds:g} s. More moments, if it has more, give finer "
            "steps and take longer (train.n_chunks)."
        ]
        for window in plan.windows
    ]


def _train_and_embed(
    recordings: Sequence[Recording],
    chosen: Sequence[int],
    plan: SamplingPlan,
    settings: Settings,
    model_entry: Entry,
    device: Device,
    progress: Progress,
    on_checkpoint: OnCheckpoint | None,
) -> tuple[TrainedWeights, list[FeatureTrack]]:
    with delay_interrupts():
        from stepreel.learn.inference import embed_recording
        from stepreel.learn.training import train_encoder
        from stepreel.learn.training_data import prepare_training_data, recording_tensors
        from stepreel.system.machine import pick_device

    data = prepare_training_data(
        [recordings[position].tracks for position in chosen], settings, plan
    )
    trained = train_encoder(
        data,
        settings,
        entry=model_entry,
        device=pick_device(device),
        progress=progress,
        on_checkpoint=on_checkpoint,
    )
    cues = list(recordings[0].tracks)
    embed_cues = pick_cues(settings.embed.cues, cues, setting="embed.cues")
    prepared = dict(zip(chosen, data.recordings, strict=True))
    without_loss = settings.model_copy(update={"loss": LossSettings(bootstrap="none")})
    tracks = []
    for position, recording in enumerate(recordings):
        tensors = prepared.get(position) or recording_tensors(recording.tracks, without_loss)
        tracks.append(embed_recording(trained.encoder, tensors, embed_cues, name=recording.name))
    return trained.weights(), tracks


def _describe(recordings: Sequence[Recording], settings: Settings) -> dict[str, object]:
    """Describe everything the trained encoder depends on, for the cache key."""
    first = recordings[0]
    return {
        "method": METHOD_VERSION,
        "code": describe_code(__name__),
        "recordings": [track_hashes(recording) for recording in recordings],
        "cues": list(first.tracks),  # the order matters: the first is the main cue
        "widths": {cue: track.width for cue, track in first.tracks.items()},
        "loss": settings.loss.model_dump(),
        "encoder": settings.encoder.model_dump(),
        "train": settings.train.model_dump(exclude={"checkpoint_seconds"}),
    }


def _embedding_entry(
    store: Store, model: dict[str, object], recording: Recording, settings: Settings
) -> Entry:
    description = {
        "model": model,
        "embed": settings.embed.model_dump(),
        "tracks": track_hashes(recording),
    }
    return store.recording_entry(recording.fingerprint, "embedding", description)
