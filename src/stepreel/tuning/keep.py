"""Write into a recording's output folder what choosing its steps again needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.derived import Derived
from stepreel.features.video_recording import VideoRecording
from stepreel.steps.decoders.base import Decision
from stepreel.storyboard.schema import DecisionFacts
from stepreel.system.files import explain_write_errors
from stepreel.tuning.card import (
    FOLDER,
    KeptCard,
    KeptClustering,
    KeptDecoding,
    KeptVideo,
    write_card,
)
from stepreel.tuning.kept_files import keep_arrays, keep_file, remove_others, remove_unfinished
from stepreel.types import Clustering, FeatureTrack, Recording, VideoFile

PER_MOMENT = ("labels", "distances", "certainty", "excluded", "uncertain")


@dataclass(frozen=True)
class FoundDecoding:
    """What was decoded in one recording, and how.

    clusterings    the result, then those decoded again, which tell how stable it is
    decoder        the one that did the work
    settings       resolved settings it was decoded with
    label, option  of another number of steps
    """

    clusterings: Sequence[Clustering]
    decision: Decision | None
    decoder: str
    settings: dict[str, Any]
    label: str = ""
    option: str = ""


@dataclass(frozen=True)
class FoundSteps:
    """What was found in one recording, besides its storyboard.

    decodings    the result, then the same in other natural numbers of steps
    task         all recordings that were looked at together: (name, fingerprint)
    of_model     whether kinds of an earlier model were found again
    kind_titles  titles of kinds that a person gave, by letter
    """

    recording: Recording
    embedding: FeatureTrack | None
    decodings: Sequence[FoundDecoding]
    task: Sequence[tuple[str, str]]
    of_model: bool
    learning_notes: Sequence[str] = ()
    kind_titles: dict[str, str] | None = None


def keep(found: FoundSteps, folder: Path, *, file: str | None) -> None:
    """Write `tuning/` into the output folder of a recording; its card is written last.

    The caller holds the lock of the folder.

    file  path to the recording, relative to the folder
    """
    kept = folder / FOLDER
    with explain_write_errors(kept):
        kept.mkdir(parents=True, exist_ok=True)
        remove_unfinished(kept)
        card = _card(found, kept, file)
        write_card(folder, card)
        remove_others(kept, card.files)


def _card(found: FoundSteps, kept: Path, file: str | None) -> KeptCard:
    recording = found.recording
    video = recording.video if isinstance(recording, VideoRecording) else None
    return KeptCard(
        name=recording.name,
        file=file,
        fingerprint=recording.fingerprint,
        duration_seconds=recording.duration_seconds,
        moment_seconds=recording.moment_seconds,
        start_seconds=recording.start_seconds,
        notes=list(recording.notes),
        learning_notes=list(found.learning_notes),
        track_settings=recording.track_settings,
        video=None if video is None else _kept_video(video),
        tracks=_keep_tracks(recording, kept),
        pictures=keep_file(recording.previews.file.path, kept, "pictures")
        if isinstance(recording, VideoRecording)
        else None,
        embedding=None
        if found.embedding is None
        else keep_arrays(_track_arrays(found.embedding), kept, "embedding"),
        derived=_keep_derived(recording.derived, kept),
        decodings=[_keep_decoding(decoding, kept) for decoding in found.decodings],
        of_model=found.of_model,
        task=[fingerprint for _, fingerprint in found.task],
        task_names=[name for name, _ in found.task],
        titles=found.kind_titles or {},
    )


def _keep_derived(derived: Derived, kept: Path) -> str | None:
    arrays = derived.arrays()
    return keep_arrays(arrays, kept, "derived") if arrays else None


def _keep_decoding(found: FoundDecoding, kept: Path) -> KeptDecoding:
    return KeptDecoding(
        file=keep_arrays(_stacked(found.clusterings), kept, "decoded"),
        clusterings=[
            KeptClustering(n_clusters=one.n_clusters, has_uncertain=one.uncertain is not None)
            for one in found.clusterings
        ],
        clustering_id=found.clusterings[0].clustering_id,
        decision=None
        if found.decision is None
        else DecisionFacts(
            sentence=found.decision.sentence,
            figures=dict(found.decision.figures),
            found_structure=found.decision.found_structure,
        ),
        decoder=found.decoder,
        settings=found.settings,
        label=found.label,
        option=found.option,
    )


def _kept_video(video: VideoFile) -> KeptVideo:
    return KeptVideo(
        width=video.width,
        height=video.height,
        fps=video.fps,
        declared_seconds=video.declared_seconds,
        first_frame_seconds=video.first_frame_seconds,
        player_offset_seconds=video.player_offset_seconds,
        shown_in_decoding_order=video.shown_in_decoding_order,
        n_streams=video.n_streams,
        is_hdr=video.is_hdr,
    )


def _keep_tracks(recording: Recording, kept: Path) -> dict[str, str]:
    """Link the tracks of a video from where they are stored; write others."""
    stored = recording.stored if isinstance(recording, VideoRecording) else {}
    names = {}
    for number, (cue, track) in enumerate(recording.tracks.items(), start=1):
        stem = f"track-{number}"
        if cue in stored:
            names[cue] = keep_file(stored[cue], kept, stem)
        else:
            names[cue] = keep_arrays(_track_arrays(track), kept, stem)
    return names


def _track_arrays(track: FeatureTrack) -> dict[str, NDArray[Any]]:
    return {"times": track.times, "features": track.features, "valid": track.valid}


def _stacked(clusterings: Sequence[Clustering]) -> dict[str, NDArray[Any]]:
    """Return (clusterings, T) of every value per moment."""

    def rows(name: str) -> list[NDArray[Any]]:
        values = [getattr(one, name) for one in clusterings]
        absent = np.zeros(len(clusterings[0].times), np.bool_)
        return [absent if value is None else value for value in values]

    return {name: np.stack(rows(name)) for name in PER_MOMENT}
