"""Read back what a recording's output folder keeps; OutputError if it is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.derived import Derived
from stepreel.features.feature_files import FeatureRecording
from stepreel.features.video_recording import VideoRecording
from stepreel.tuning.card import (
    FOLDER,
    KeptCard,
    KeptClustering,
    KeptDecoding,
    damaged_card,
    read_card,
)
from stepreel.tuning.kept_arrays import (
    Form,
    MissingFileError,
    check_form,
    damaged,
    open_kept,
    read_cached,
    read_kept,
    require,
)
from stepreel.types import LONGEST_SECONDS, Clustering, FeatureTrack, Recording, Seconds, VideoFile
from stepreel.video.previews import Previews

# Kinds of NumPy types, see `Form`.
PER_MOMENT = {"labels": "i", "distances": "f", "certainty": "f", "excluded": "b", "uncertain": "b"}
TIMES: Form = ("f", (None,))


@dataclass(frozen=True)
class Kept:
    """What an output folder keeps of a recording, all of the same run.

    card         says what it is; may be newer than the one that was read before
    clusterings  of every decoding of the card: the result, then those decoded again; empty if
                 nobody asked for them
    """

    card: KeptCard
    recording: Recording
    embedding: FeatureTrack | None
    clusterings: list[list[Clustering]]


def load_kept(folder: Path, card: KeptCard | None = None, *, clusterings: bool = True) -> Kept:
    """Return all that an output folder keeps of a recording; OutputError if that is damaged.

    Another process may replace it in the meantime, which removes files that an older card names.
    Then the new card is read, and its files.

    card         that was read before; the one in the folder is read if left out
    clusterings  whether they are needed, too
    """
    card = card or read_card(folder)
    try:
        return _load_all(folder, card, clusterings)
    except MissingFileError:
        newer = read_card(folder)
        if newer == card:
            raise
        return _load_all(folder, newer, clusterings)


def _load_all(folder: Path, card: KeptCard, clusterings: bool) -> Kept:
    return Kept(
        card,
        load_recording(folder, card),
        load_embedding(folder, card),
        [load_clusterings(folder, card, decoding) for decoding in card.decodings]
        if clusterings
        else [],
    )


def load_recording(folder: Path, card: KeptCard) -> Recording:
    """Return a recording from what its output folder keeps; OutputError if that is damaged."""
    tracks: dict[str, FeatureTrack] = {}
    for cue, file in card.tracks.items():
        times = next(iter(tracks.values())).times if tracks else None
        tracks[cue] = _load_track(folder, card, cue, file, times)
    derived = Derived.from_arrays(read_cached(folder, card.derived) if card.derived else {})
    path = None if card.file is None else folder / card.file
    if card.video is None:
        return FeatureRecording(
            card.name, card.fingerprint, tracks, card.start_seconds, path=path, derived=derived
        )
    assert path is not None, "a video has a file"
    assert card.pictures is not None, "a video has pictures"
    times = next(iter(tracks.values())).times
    if times[-1] > card.duration_seconds + card.moment_seconds:
        raise damaged_card(folder, "its recording ends before its moments do")
    spacing = float(np.diff(times).min()) if len(times) > 1 else card.moment_seconds
    if not spacing / 1000 <= card.moment_seconds <= spacing * 2:
        raise damaged_card(folder, "its moments are not as long as their times say")
    return VideoRecording(
        video=VideoFile(path, card.fingerprint, **card.video.model_dump()),
        tracks=tracks,
        previews=_load_pictures(folder, card.pictures, len(times)),
        duration_seconds=card.duration_seconds,
        moment_seconds=card.moment_seconds,
        notes=tuple(card.notes),
        track_settings=card.track_settings,
        derived=derived,
        stored={cue: folder / FOLDER / file for cue, file in card.tracks.items()},
    )


def _load_pictures(folder: Path, file: str, n_moments: int) -> Previews:
    """Return a picture per moment; what they show is read, and checked, when it is needed."""
    sizes = read_kept(folder, file, {"sizes": ("i", (n_moments,))})["sizes"]
    opened = open_kept(folder, file)
    try:
        check_form(opened, "jpeg", "u", (None,))
        n_bytes = opened.layouts["jpeg"].shape[0]
        require(((sizes > 0) & (sizes <= n_bytes)).all(), "its pictures have no sizes")
        require(sum(sizes.tolist()) == n_bytes, "its pictures have other sizes")
    except ValueError as problem:
        raise damaged(folder, file, problem) from None
    return Previews(opened, np.cumsum(sizes))


def load_embedding(folder: Path, card: KeptCard) -> FeatureTrack | None:
    """Return the learned embedding; None if there is none."""
    if card.embedding is None:
        return None
    times = _load_times(folder, card)
    return _load_track(folder, card, "embedding", card.embedding, times)


def load_clusterings(folder: Path, card: KeptCard, decoding: KeptDecoding) -> list[Clustering]:
    """Return a clustering of a recording, and those decoded again."""
    times = _load_times(folder, card)
    shape = len(decoding.clusterings), len(times)
    arrays = read_kept(
        folder, decoding.file, {name: (kinds, shape) for name, kinds in PER_MOMENT.items()}
    )
    try:
        return [
            _clustering(
                times, {name: values[row] for name, values in arrays.items()}, one, decoding
            )
            for row, one in enumerate(decoding.clusterings)
        ]
    except ValueError as problem:
        raise damaged(folder, decoding.file, problem) from None


def _clustering(
    times: Seconds, row: Mapping[str, NDArray[Any]], one: KeptClustering, decoding: KeptDecoding
) -> Clustering:
    """Return one clustering; ValueError if no decoder finds such values."""
    labels, distances, certainty = row["labels"], row["distances"], row["certainty"]
    excluded = row["excluded"]
    known = ~excluded
    require(((labels >= 0) & (labels < one.n_clusters)).all(), "it has kinds that do not exist")
    require(np.isfinite(distances[known]).all(), "its distances are not finite")
    require((np.abs(certainty[known] - 0.5) <= 0.501).all(), "its certainty is not from 0 to 1")
    return Clustering(
        times=times,
        labels=labels,
        distances=distances,
        certainty=certainty,
        excluded=excluded,
        n_clusters=one.n_clusters,
        uncertain=row["uncertain"] if one.has_uncertain else None,
        clustering_id=decoding.clustering_id,
    )


def _load_times(folder: Path, card: KeptCard) -> Seconds:
    """Return the times that all tracks share."""
    file = next(iter(card.tracks.values()))
    return _checked_times(folder, file, read_kept(folder, file, {"times": TIMES})["times"])


def _checked_times(folder: Path, file: str, times: Seconds) -> Seconds:
    try:
        require(len(times) > 0, "it has no moments")
        require(np.isfinite(times).all() and (np.diff(times) > 0).all(), "times must increase")
        require(times[0] >= 0 and times[-1] <= LONGEST_SECONDS, "times are out of range")
    except ValueError as problem:
        raise damaged(folder, file, problem) from None
    return times


def _load_track(
    folder: Path, card: KeptCard, cue: str, file: str, times: Seconds | None
) -> FeatureTrack:
    """Return one track; `times` are those it must have, if another was read already."""
    length = None if times is None else len(times)
    forms: dict[str, Form] = {
        "times": ("f", (length,)),
        "features": ("fiu", (length, None)),
        "valid": ("b", (length,)),
    }
    arrays = read_kept(folder, file, forms)
    _checked_times(folder, file, arrays["times"])
    try:
        require(times is None or np.array_equal(times, arrays["times"]), "it has other times")
        return FeatureTrack(card.name, cue, arrays["times"], arrays["features"], arrays["valid"])
    except ValueError as problem:
        raise damaged(folder, file, problem) from None
