from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from steps.decoders.tasks import agreement, recurring, takes_of

from stepreel.config import load_settings
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders import auto, hmm
from stepreel.steps.decoders.base import from_labels
from stepreel.steps.decoders.few_moments import on_all_moments, with_few_moments
from stepreel.steps.key_steps import pick_key_steps, shortest_step


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
        dense_truths = [truth.repeat(8) for truth in truths]
        assert agreement(dense_truths, of_many.clusterings) > 0.9
        for clustering, recording in zip(of_many.clusterings, many, strict=True):
            np.testing.assert_array_equal(clustering.times, recording.times)


def test_what_is_found_again_is_on_all_moments_too():
    recordings = [densely(recording, 8) for recording in recurring(4)[0]]
    takes = takes_of(recordings)
    decoded = hmm.decode(takes)
    for clusterings in (decoded.again(0), hmm.find_again(takes, decoded.kinds).clusterings):
        lengths = [len(clustering.labels) for clustering in clusterings]
        assert lengths == [len(recording.times) for recording in recordings]


def test_moments_without_a_valid_cue_stay_excluded_to_a_fifth_of_a_second():
    recordings = [densely(recording, 8) for recording in recurring(3)[0]]
    recordings[0].tracks["hands"].valid[100:150] = False
    only_hands = hmm.decode(takes_of(recordings, **{"embed.cues": "hands"}))
    excluded = np.flatnonzero(only_hands.clusterings[0].excluded)
    assert 100 <= excluded[0] < 107
    assert 143 <= excluded[-1] < 150
    assert (np.diff(excluded) == 1).all()
    assert not hmm.decode(takes_of(recordings)).clusterings[0].excluded.any()  # tools are seen


@pytest.mark.parametrize("rate", [6.0, 8.0, 12.5, 24.0, 29.97, 30.0, 100.0])
def test_the_shortest_visits_are_still_long_enough_to_be_shown(rate):
    n_moments = int(20 * rate) + 3
    times = np.arange(n_moments) / rate
    recording = recording_from_arrays("a", times, {"hands": np.ones((n_moments, 2))})
    few = with_few_moments(recording)
    settings = load_settings().key_steps
    shortest = shortest_step(settings, moment_seconds=few.moment_seconds)
    visits = len(few.times) // shortest
    labels = np.minimum(np.arange(len(few.times)) // shortest, visits - 1)
    clustering = on_all_moments(from_labels(few, labels, visits), recording)
    steps = pick_key_steps(clustering, settings, moment_seconds=recording.moment_seconds)
    assert len(steps.segments) == visits
    assert len(few.times) <= 5 * 20 + 1


def test_a_take_too_short_to_be_thinned_is_labelled_beside_longer_ones():
    recordings = [densely(recording, 8) for recording in recurring(2)[0]]
    short = recording_from_arrays(
        "short",
        recordings[0].times[:3],
        {cue: track.features[:3] for cue, track in recordings[0].tracks.items()},
    )
    decoded = hmm.decode(takes_of([*recordings, short]))
    assert [len(c.labels) for c in decoded.clusterings] == [
        *(len(recording.times) for recording in recordings),
        3,
    ]


@pytest.mark.parametrize("rate", [1.0, 4.0, 5.0])
def test_a_recording_with_few_moments_is_left_as_it_is(rate):
    recording = recording_from_arrays("a", np.arange(40) / rate, {"hands": np.eye(40)})
    assert with_few_moments(recording) is recording


def test_irregular_moments_are_thinned_by_their_number():
    times = np.sort(np.random.default_rng(0).uniform(0, 30, size=900))
    times -= times[0]
    recording = recording_from_arrays("a", times, {"hands": np.ones((900, 2))})
    thinned = with_few_moments(recording)
    assert len(thinned.times) < 150
    assert set(thinned.times) <= set(recording.times)
    takes = takes_of([recording, replace(recording, name="b")])
    assert len(hmm.decode(takes).clusterings[0].labels) == 900
