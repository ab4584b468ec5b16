"""What finch, tw-finch, ward and procut have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from steps.decoders.tasks import agreement, in_order, recurring, take_of, takes_of

from stepreel.errors import ModelError, RecordingError
from stepreel.features.feature_files import recording_from_arrays
from stepreel.learn.model import TrainedWeights, build_model, read_model, write_model
from stepreel.steps.decoders.catalog import DECODERS
from stepreel.steps.decoders.decode import decode, find_kinds_again
from stepreel.types import FeatureTrack

NAMES = ("finch", "tw-finch", "ward", "procut")
each = pytest.mark.parametrize("name", NAMES)


def embedded(takes, truths, *, noise=0.05):
    """The same takes with an embedding of length 1 that shows the kinds."""
    rng = np.random.default_rng(0)
    tracks = []
    for recording, truth in zip(takes.recordings, truths, strict=True):
        x = np.eye(8)[truth] + noise * rng.normal(size=(len(truth), 8))
        x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
        valid = np.ones(len(x), bool)
        tracks.append(FeatureTrack(recording.name, "embedding", recording.times, x, valid))
    return replace(takes, embeddings=tracks)


def labels_of(decoded):
    return [clustering.labels for clustering in decoded.clusterings]


@each
def test_kinds_are_numbered_as_they_appear_and_found_again(name):
    takes = takes_of(in_order(6, noise=0.5)[0])
    decoded = decode(name, takes)
    assert [c.n_clusters for c in decoded.clusterings] == [4] * 6
    _, first = np.unique(np.concatenate(labels_of(decoded)), return_index=True)
    assert (np.diff(first) > 0).all()
    again = DECODERS[name].find_again(takes, decoded.kinds)
    assert agreement(labels_of(decoded), again.clusterings) > 0.93
    for clusterings in (decoded.again(1), again.again(1)):
        assert agreement(labels_of(decoded), clusterings) > 0.8


@each
def test_an_embedding_is_looked_at_if_there_is_one(name):
    # The tracks are noise, so only the embedding can tell the kinds apart.
    rng = np.random.default_rng(1)
    truths = [np.repeat([0, 1, 2, 3], rng.integers(30, 50, size=4)) for _ in range(3)]
    flat = np.zeros((4, 6))
    recordings = [take_of(t, f"t{i}", means=flat, rng=rng) for i, t in enumerate(truths)]
    takes = embedded(takes_of(recordings), truths)
    decoded = decode(name, takes)
    assert agreement(truths, decoded.clusterings) > 0.98
    assert decoded.kinds["means"].shape == (4, 8)
    assert "window_seconds" not in decoded.kinds
    again = DECODERS[name].find_again(takes, decoded.kinds)
    assert agreement(labels_of(decoded), again.clusterings) > 0.99
    with pytest.raises(ModelError, match="no encoder"):
        DECODERS[name].find_again(replace(takes, embeddings=None), decoded.kinds)
    with pytest.raises(ValueError, match="columns per moment"):
        DECODERS[name].find_again(takes, {**decoded.kinds, "means": np.ones((4, 7))})


@each
def test_embeddings_are_thinned_with_the_tracks_and_labels_are_of_all_moments(name):
    recordings, truths = in_order(3)
    few = embedded(takes_of(recordings), truths)
    dense = [
        recording_from_arrays(
            r.name,
            np.arange(5 * len(r.times)) / 20,
            {cue: track.features.repeat(5, axis=0) for cue, track in r.tracks.items()},
        )
        for r in recordings
    ]
    many = replace(
        few,
        recordings=dense,
        embeddings=[
            replace(
                track,
                times=recording.times,
                features=track.features.repeat(5, axis=0),
                valid=track.valid.repeat(5),
            )
            for track, recording in zip(few.embeddings, dense, strict=True)
        ],
    )
    dense_truths = [truth.repeat(5) for truth in truths]
    assert agreement(dense_truths, decode(name, many).clusterings) > 0.97


@each
def test_a_model_finds_its_kinds_in_later_takes_with_and_without_an_encoder(name, tmp_path):
    recordings, truths = in_order(5, noise=0.5)
    for has_encoder in (False, True):
        takes, later = takes_of(recordings[:3]), takes_of(recordings[3:])
        if has_encoder:
            takes, later = embedded(takes, truths[:3]), embedded(later, truths[3:])
        decoded = decode(name, takes)
        training = TrainedWeights({"w": np.ones(1, np.float32)}, [1.0], [1.0])
        write_model(
            tmp_path,
            build_model(
                takes.recordings,
                takes.settings,
                training if has_encoder else None,
                decoded.kinds,
                n_clusters=4,
                decoder=name,
            ),
        )
        found = find_kinds_again(read_model(tmp_path), later)
        assert agreement(truths[3:], found.clusterings) > 0.85
        assert found.clusterings[0].clustering_id == decoded.clusterings[0].clustering_id != ""


@each
@pytest.mark.parametrize(
    "means", [np.zeros((0, 6)), np.zeros(4), np.zeros((4, 1)), np.full((4, 6), 1e20)]
)
def test_arrays_of_a_model_that_make_no_sense_are_refused(name, means):
    takes = takes_of(recurring(2)[0])
    kinds = decode(name, takes).kinds
    width = kinds["means"].shape[1]
    means = np.resize(means, (4, width)) if means.shape == (4, 6) else means
    with pytest.raises(ValueError, match=r"columns per moment|beyond"):
        DECODERS[name].find_again(takes, {**kinds, "means": means.astype(np.float32)})
    with pytest.raises(KeyError, match="means"):
        DECODERS[name].find_again(takes, {k: x for k, x in kinds.items() if k != "means"})


@each
@pytest.mark.parametrize("k", [1, 3, 50, None])
@pytest.mark.parametrize("lengths", [(1,), (2,), (5,), (40, 1, 3)])
def test_short_takes_are_labelled_with_at_most_as_many_kinds(name, k, lengths):
    rng = np.random.default_rng(0)
    recordings = [
        recording_from_arrays(f"t{n}", np.arange(n) / 4, {"hands": rng.random((n, 3))})
        for n in lengths
    ]
    takes = takes_of(recordings, n_clusters=k)
    decoded = decode(name, takes)
    assert [len(labels) for labels in labels_of(decoded)] == list(lengths)
    assert 1 <= decoded.clusterings[0].n_clusters <= min(k or 30, sum(lengths))
    assert len(decoded.again(0)) == len(lengths)
    assert len(DECODERS[name].find_again(takes, decoded.kinds).clusterings) == len(lengths)


@each
@pytest.mark.parametrize("k", [1, 4, None])
def test_takes_in_which_nothing_changes_are_labelled(name, k):
    times = np.arange(30) / 4
    recordings = [recording_from_arrays(n, times, {"hands": np.ones((30, 2))}) for n in "ab"]
    decoded = decode(name, takes_of(recordings, n_clusters=k))
    assert decoded.clusterings[0].n_clusters <= (k or 30)
    assert all(np.isfinite(c.distances).all() for c in decoded.clusterings)


@each
def test_exactly_as_many_kinds_are_found_as_asked_for(name):
    recordings, truths = recurring(1, noise=1.0)
    takes = takes_of(recordings)
    for k in (1, 2, 5, 60):
        own = replace(takes, settings=takes_of(recordings, n_clusters=k).settings)
        assert decode(name, embedded(own, truths)).clusterings[0].n_clusters == k


@each
def test_moments_without_a_valid_cue_belong_to_no_step_and_change_nothing(name):
    recordings, truths = in_order(4, noise=0.5)
    takes = embedded(takes_of(recordings), truths)
    track = takes.embeddings[0]
    track.valid[10:14] = False
    track.features[10:14] = np.nan
    decoded = decode(name, takes)
    assert np.flatnonzero(decoded.clusterings[0].excluded).tolist() == [10, 11, 12, 13]
    assert agreement(truths, decoded.clusterings) > 0.95
    for track in takes.embeddings:
        track.valid[:] = False
    with pytest.raises(RecordingError, match="nothing to cluster"):
        decode(name, takes)


@each
def test_the_same_seed_gives_the_same_labels(name):
    takes = takes_of(recurring(3)[0])
    first, second = (decode(name, takes) for _ in range(2))
    for a, b in zip(labels_of(first), labels_of(second), strict=True):
        assert a.tolist() == b.tolist()
    for a, b in zip(first.again(3), second.again(3), strict=True):
        assert a.labels.tolist() == b.labels.tolist()
