"""Borders where a recording changes, and one letter for steps that look alike. No training.

Every take is cut by itself (change_points.py); then the segments of all takes are grouped into
kinds (segment_kinds.py), at most K if a number was asked for. Neighbouring segments are of
different kinds, so no border is lost, unless only one kind was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stepreel.config import MOST_CLUSTERS, pick_cues
from stepreel.steps.decoders.base import (
    Decision,
    Decoded,
    Decoder,
    Kinds,
    Takes,
    distance_to_middle,
    numbered_by_appearance,
)
from stepreel.steps.decoders.change_points import CLEAR, Changes, find_changes
from stepreel.steps.decoders.segment_kinds import (
    MEANS,
    in_order,
    learn_kinds,
    nearest_kinds,
    number_of_kinds,
)
from stepreel.types import Clustering, Labels, Recording

Columns = Mapping[str, NDArray[np.int64]]

FOUND = "Borders were placed where the recording changes; steps that look alike share a letter."
NOT_FOUND = (
    "Little structure found: these are close to equal parts; another take or cue would help."
)


def decode(takes: Takes) -> Decoded:
    """Cut every take where it changes, and group the segments of all takes."""
    changes = [_find(takes, recording, seed=takes.seed) for recording in takes.recordings]
    kinds, labels = _learn(changes, takes)
    return _decoded(takes, changes, labels, kinds)


def find_again(takes: Takes, kinds: Kinds) -> Decoded:
    """Cut every take where it changes, and give each segment the nearest known kind."""
    n_kinds = number_of_kinds(kinds)
    if not n_kinds:
        raise KeyError(f"{MEANS}{_cues(takes, takes.recordings[0])[0]}")
    changes = [_find(takes, recording, seed=takes.seed) for recording in takes.recordings]
    return _decoded(takes, changes, _label(changes, kinds, n_kinds), kinds)


def _cues(takes: Takes, recording: Recording) -> list[str]:
    return pick_cues(takes.settings.embed.cues, list(recording.tracks), setting="embed.cues")


def _find(
    takes: Takes, recording: Recording, *, seed: int | None, half: int | None = None
) -> Changes:
    """Cut one take; `half` is the seed of a random half of its columns, if not all are looked at.

    The halves are the same in all takes.
    """
    tracks = {cue: recording.tracks[cue] for cue in _cues(takes, recording)}
    steps = takes.settings.key_steps.n_steps
    return find_changes(
        recording.times,
        {cue: track.features for cue, track in tracks.items()},
        {cue: track.valid for cue, track in tracks.items()},
        steps=steps,
        seed=seed,
        columns=None if half is None else _half_of_columns(recording, takes.seed, half),
        derived=recording.derived,
        name=(seed, takes.seed, half, tuple(tracks)),
    )


def _half_of_columns(recording: Recording, seed: int, half: int) -> Columns:
    rng = np.random.default_rng([seed, half])
    return {
        cue: np.sort(rng.permutation(track.width)[: (track.width + 1) // 2])
        for cue, track in recording.tracks.items()
    }


def _learn(changes: Sequence[Changes], takes: Takes) -> tuple[Kinds, list[Labels]]:
    """Return kinds, numbered as they first appear, and the kind of every segment."""
    most = takes.most_kinds or MOST_CLUSTERS
    kinds = learn_kinds(changes, most, fewest=takes.allowed(1) if takes.is_number_open else 1)
    known = number_of_kinds(kinds) or most
    labels = _label(changes, kinds, known)
    numbers = numbered_by_appearance(labels, known)
    used = np.argsort(numbers)[: len(np.unique(np.concatenate(labels)))]
    kinds = in_order(kinds, used)
    return kinds, _label(changes, kinds, len(used))  # as `find_again` does, also with equal kinds


def _label(changes: Sequence[Changes], kinds: Kinds, n_kinds: int) -> list[Labels]:
    """Return the kind of every segment; where nothing changes, one kind after the other."""
    found = [(take, nearest_kinds(take, kinds)) for take in changes]
    return [
        np.arange(len(take.cuts) - 1) % n_kinds if labels is None else labels
        for take, labels in found
    ]


def _decoded(
    takes: Takes, changes: Sequence[Changes], labels: Sequence[Labels], kinds: Kinds
) -> Decoded:
    return Decoded(
        _clusterings(takes, changes, labels, kinds),
        kinds,
        again=lambda seed: _again(takes, seed),
        decision=_decision(changes[0]) if len(changes) == 1 else None,
        natural=changes[0].natural if len(changes) == 1 else (),
        counts="steps",
    )


def _clusterings(
    takes: Takes, changes: Sequence[Changes], labels: Sequence[Labels], kinds: Kinds
) -> list[Clustering]:
    # Without kinds, nothing changes, and the segments of the longest take have the most labels.
    n_clusters = number_of_kinds(kinds) or max(int(of_take.max()) + 1 for of_take in labels)
    parts = zip(takes.recordings, changes, labels, strict=True)
    clusterings = []
    for recording, take, of_segments in parts:
        of_moments = of_segments[take.segments]
        seen = [recording.tracks[cue].valid for cue in _cues(takes, recording)]
        clusterings.append(
            Clustering(
                times=recording.times,
                labels=of_moments,
                distances=distance_to_middle(of_moments),
                certainty=take.certainty.astype(np.float32),
                excluded=~np.any(seen, axis=0),
                n_clusters=n_clusters,
            )
        )
    return clusterings


def _decision(take: Changes) -> Decision:
    assert take.structure is not None, "structure is only left out when decoding again"
    is_clear = take.structure > CLEAR
    figures = {"structure": take.structure, "segments": float(len(take.cuts) - 1)}
    return Decision(FOUND if is_clear else NOT_FOUND, figures, found_structure=is_clear)


def _again(takes: Takes, seed: int) -> list[Clustering]:
    """Decode from a random half of the columns of every cue, the same ones in all takes.

    Equal parts do not take the place of unclear borders: those of other columns lie elsewhere,
    which tells how little they mean.
    """
    changes = [_find(takes, take, seed=None, half=seed) for take in takes.recordings]
    kinds, labels = _learn(changes, takes)
    return _clusterings(takes, changes, labels, kinds)


CHANGES = Decoder(
    decode,
    find_again,
    finds_number=True,
    title="borders where a recording changes; steps that look alike are grouped",
)
