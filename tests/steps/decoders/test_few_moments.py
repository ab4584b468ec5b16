from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from steps.decoders.tasks import agreement, recurring, takes_of

from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders import auto, hmm
from stepreel.steps.decoders.few_moments import with_few_moments


def densely(recording, factor):
    """The same recording with every moment several times."""
    times = recording.times
    dense = times[:, None] + np.arange(factor) * (times[1] - times[0]) / factor
    arrays = {cue: track.features.repeat(factor, axis=0) for cue, track in recording.tracks.items()}
    return recording_from_arrays(recording.name, dense.ravel(), arrays)


def test_the_rate_of_features_does_not_change_the_steps():
    recordings, truths = recurring(10)
    few, many = recordings, [densely(recording, 8) for recording in recordings]
    for decode in (hmm.decode, auto.decode):
        found, of_many = decode(takes_of(few)), decode(takes_of(many))
        assert agreement(truths, found.clusterings) > 0.9
        for one, other, recording in zip(found.clusterings, of_many.clusterings, many, strict=True):
            np.testing.assert_array_equal(other.times, recording.times)
            assert (one.labels.repeat(8) == other.labels).mean() > 0.97


def test_what_is_found_again_is_on_all_moments_too():
    recordings = [densely(recording, 8) for recording in recurring(4)[0]]
    takes = takes_of(recordings)
    decoded = hmm.decode(takes)
    for clusterings in (decoded.again(0), hmm.find_again(takes, decoded.kinds).clusterings):
        lengths = [len(clustering.labels) for clustering in clusterings]
        assert lengths == [len(recording.times) for recording in recordings]


def test_moments_without_a_valid_cue_stay_excluded():
    recordings = [densely(recording, 8) for recording in recurring(3)[0]]
    for track in recordings[0].tracks.values():
        track.valid[100:150] = False
    excluded = hmm.decode(takes_of(recordings)).clusterings[0].excluded
    assert np.flatnonzero(excluded).tolist() == list(range(100, 150))


@pytest.mark.parametrize("rate", [1.0, 4.0, 5.0])
def test_a_recording_with_few_moments_is_left_as_it_is(rate):
    recording = recording_from_arrays("a", np.arange(40) / rate, {"hands": np.eye(40)})
    assert with_few_moments(recording) is recording


def test_irregular_moments_are_thinned_by_their_times():
    times = np.sort(np.random.default_rng(0).uniform(0, 30, size=900))
    times -= times[0]
    recording = recording_from_arrays("a", times, {"hands": np.ones((900, 2))})
    thinned = with_few_moments(recording)
    assert 140 <= len(thinned.times) <= 151
    assert set(thinned.times) <= set(recording.times)
    takes = takes_of([recording, replace(recording, name="b")])
    assert len(hmm.decode(takes).clusterings[0].labels) == 900
