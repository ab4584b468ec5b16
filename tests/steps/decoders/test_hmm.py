from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.tasks import agreement, in_order, recurring, takes_of

from stepreel.errors import RecordingError
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders import hmm
from stepreel.steps.decoders.timed_points import every, fit_points


def test_kinds_that_recur_are_found_in_all_takes():
    recordings, truths = recurring()
    decoded = hmm.decode(takes_of(recordings))
    assert agreement(truths, decoded.clusterings) > 0.9
    assert decoded.clusterings[0].labels[0] == 0  # numbered in order of appearance


def test_neighbouring_moments_rarely_change_their_kind():
    recordings, truths = recurring(noise=3.0)
    decoded = hmm.decode(takes_of(recordings))
    changes = sum(np.count_nonzero(np.diff(c.labels)) for c in decoded.clusterings)
    assert changes < 1.3 * sum(np.count_nonzero(np.diff(truth)) for truth in truths)


def test_the_same_kinds_are_found_in_later_takes():
    recordings, truths = recurring(14)
    earlier = hmm.decode(takes_of(recordings[:10]))
    later = hmm.find_again(takes_of(recordings[10:]), earlier.kinds)
    both = [*earlier.clusterings, *later.clusterings]
    assert agreement(truths, both) > 0.9
    same = hmm.find_again(takes_of(recordings[:10]), earlier.kinds)
    for a, b in zip(earlier.clusterings, same.clusterings, strict=True):
        assert (a.labels == b.labels).mean() > 0.99


def test_with_much_weight_on_time_takes_are_cut_into_equal_parts():
    recordings, _ = recurring()
    takes = takes_of(recordings)
    decoded = hmm.decode_points(takes, *fit_points(takes), time_weight=30.0)
    for clustering in decoded.clusterings:
        equal = np.arange(len(clustering.labels)) * 4 // len(clustering.labels)
        assert (clustering.labels == equal).mean() > 0.75


def test_half_of_the_columns_give_nearly_the_same_where_steps_are_clear():
    recordings, _ = in_order()
    decoded = hmm.decode(takes_of(recordings))
    labels = [clustering.labels for clustering in decoded.clusterings]
    assert agreement(labels, decoded.again(1)) > 0.9
    later = hmm.find_again(takes_of(recordings), decoded.kinds)
    assert agreement(labels, later.again(1)) > 0.9


@pytest.mark.parametrize("time_weight", [0.0, 1.0, 3.0])
def test_half_of_the_columns_of_later_takes_weigh_time_alike(time_weight):
    recordings, _ = in_order(noise=3.0)
    takes = takes_of(recordings)
    decoded = hmm.decode_points(takes, *fit_points(takes), time_weight=time_weight)
    labels = [clustering.labels for clustering in decoded.clusterings]
    again = hmm.find_again(takes, decoded.kinds).again
    assert np.mean([agreement(labels, again(seed)) for seed in range(3)]) > 0.85


@pytest.mark.parametrize(
    "damage",
    [
        {"transition": np.zeros((4, 4))},
        {"transition": -np.ones((4, 4))},
        {"transition": np.ones((1, 4))},
        {"start": np.ones(1)},
        {"window_seconds": np.array([-5.0])},
    ],
)
def test_arrays_that_are_no_chain_are_refused(damage):
    takes = takes_of(recurring(3)[0])
    kinds = hmm.decode(takes).kinds
    with pytest.raises(ValueError, match=r"states|positive|window"):
        hmm.find_again(takes, {**kinds, **damage})


def test_certainty_is_low_near_borders_and_high_within_steps():
    recordings, truths = in_order(noise=0.5)
    clustering = hmm.decode(takes_of(recordings)).clusterings[0]
    border = np.flatnonzero(np.diff(truths[0]))[0]
    assert clustering.certainty[border - 30] > 0.6 > clustering.certainty[border]


def test_the_same_seed_gives_the_same_labels():
    recordings, _ = recurring(4)
    first, second = (hmm.decode(takes_of(recordings)) for _ in range(2))
    for a, b in zip(first.clusterings, second.clusterings, strict=True):
        assert a.labels.tolist() == b.labels.tolist()


def test_moments_without_a_valid_cue_belong_to_no_step_and_change_nothing():
    recordings, truths = recurring()
    for track in recordings[0].tracks.values():
        track.valid[10:14] = False
    decoded = hmm.decode(takes_of(recordings))
    assert np.flatnonzero(decoded.clusterings[0].excluded).tolist() == [10, 11, 12, 13]
    assert agreement(truths, decoded.clusterings) > 0.9


@pytest.mark.parametrize("n_moments", [1, 2, 5])
def test_recordings_of_a_few_moments_are_labelled(n_moments):
    times = np.arange(n_moments) / 4
    recording = recording_from_arrays(
        "r", times, {"hands": np.random.default_rng(0).random((n_moments, 3))}
    )
    (clustering,) = hmm.decode(takes_of([recording])).clusterings
    assert clustering.labels.shape == (n_moments,)


def test_recordings_without_any_valid_moment_are_refused():
    recordings, _ = recurring(2)
    for recording in recordings:
        for track in recording.tracks.values():
            track.valid[:] = False
    with pytest.raises(RecordingError, match="nothing to cluster"):
        hmm.decode(takes_of(recordings))


def test_some_moments_of_every_window_are_enough_to_fit_to():
    assert every(np.arange(9) / 4, 1.0).nonzero()[0].tolist() == [0, 4, 8]
