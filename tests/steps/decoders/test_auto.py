from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.tasks import (
    agreement,
    in_order,
    means_of,
    noise,
    recurring,
    take_of,
    takes_of,
)

from stepreel.steps.decoders import auto, judge
from stepreel.steps.decoders.judge import (
    TIME_WEIGHTS,
    _order_gain,
    best_time_weight,
    explained_elsewhere,
)
from stepreel.steps.decoders.timed_points import fit_points


def test_steps_that_recur_are_grouped_by_what_they_show():
    recordings, truths = recurring(12)
    decoded = auto.decode(takes_of(recordings))
    assert decoded.used == "hmm"
    assert decoded.decision.sentence == auto.RECUR
    assert agreement(truths, decoded.clusterings) > 0.9


@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_one_order_at_different_speeds_is_not_called_recurring(spread):
    rng = np.random.default_rng(0)
    recordings, truths = [], []
    for number in range(12):
        lengths = np.maximum(12, 50 * np.exp(spread * rng.normal(size=7))).astype(int)
        labels = np.repeat(np.arange(7), lengths)
        take = take_of(labels, f"take{number}", means=means_of(7), rng=rng, noise=2.0)
        recordings.append(take)
        truths.append(labels)
    decoded = auto.decode(takes_of(recordings, **{"key_steps.n_clusters": 7}))
    assert decoded.decision.sentence == auto.OWN_TIME
    assert decoded.decision.figures["visits_per_kind"] < auto.OFTEN
    assert agreement(truths, decoded.clusterings) > 0.8


def test_steps_in_a_fixed_order_are_cut_by_time():
    recordings, truths = in_order(12, noise=6.0)
    decoded = auto.decode(takes_of(recordings))
    assert decoded.decision.sentence == auto.SAME_ORDER
    assert agreement(truths, decoded.clusterings) > 0.85


@pytest.mark.parametrize("smooth_seconds", [0.1, 2.0, 10.0])
def test_noise_says_that_there_is_little_structure(smooth_seconds):
    recordings = noise(10, smooth_seconds=smooth_seconds)
    decoded = auto.decode(takes_of(recordings))
    assert decoded.decision.sentence == auto.LITTLE
    for clustering in decoded.clusterings:
        equal = np.arange(len(clustering.labels)) * 4 // len(clustering.labels)
        assert (clustering.labels == equal).mean() > 0.85


def test_with_two_takes_nothing_is_clear_and_the_result_is_close_to_equal_parts():
    recordings, _ = recurring(2)
    decoded = auto.decode(takes_of(recordings))
    assert decoded.used == "clock"
    assert decoded.decision.sentence == auto.LITTLE


def test_a_weight_is_left_only_where_it_explains_clearly_less():
    shares = np.zeros((len(TIME_WEIGHTS), 10))
    shares[2] = 0.1
    shares[3] = 0.1 - 0.002 * np.arange(10)  # a loss of 0.009 ± 0.002
    assert best_time_weight(shares) == TIME_WEIGHTS[2]
    shares[3] = 0.1 - 0.02 * np.array([1, -1] * 5)  # no loss on average
    assert best_time_weight(shares) == TIME_WEIGHTS[3]


def test_order_tells_one_bit_more_than_time_where_it_halves_what_can_follow():
    # Kind 0 is always followed by 1, and 1 by 0; at any time both are as likely.
    others = np.array(
        [[0, 1, t] for t in np.linspace(0, 1, 500)] + [[1, 0, t] for t in np.linspace(0, 1, 500)]
    )
    steps = np.array([[0, 1, 0.5], [1, 0, 0.5]])
    # Time knows that a step is not followed by its own kind, so that nothing is left to tell.
    assert _order_gain(steps, others, 2) == pytest.approx(0, abs=0.01)
    three = np.array([[k, (k + 1) % 3, t] for k in range(3) for t in np.linspace(0, 1, 500)])
    assert _order_gain(np.array([[0, 1, 0.5]]), three, 3) == pytest.approx(1, abs=0.05)


def test_kinds_found_in_one_cue_explain_the_other_cue():
    clear, _ = recurring(6)
    takes = takes_of(clear)
    shares = explained_elsewhere(fit_points(takes)[1], 4, seed=0)
    assert shares.shape == (len(TIME_WEIGHTS), 6)
    assert shares[0].mean() > 0.3 > shares[-1].mean()
    nothing = takes_of(noise(6))
    shares = explained_elsewhere(fit_points(nothing)[1], 4, seed=0)
    assert abs(shares.mean()) < 0.15


def test_one_cue_is_judged_by_halves_of_its_columns():
    recordings, _ = recurring(6)
    takes = takes_of(recordings, **{"embed.cues": "hands"})
    shares = explained_elsewhere(fit_points(takes)[1], 4, seed=0)
    assert shares[0].mean() > shares[-1].mean()


def test_few_takes_do_not_tell_what_follows_what():
    recordings, _ = recurring(judge.FEWEST_FOR_ORDER - 1)
    takes = takes_of(recordings)
    assert auto.judge(takes, fit_points(takes)[1]).order.error == np.inf


def test_a_take_without_the_cue_that_is_looked_at_disturbs_nothing():
    recordings, _ = recurring(2)
    recordings[1].tracks["hands"].valid[:] = False
    decoded = auto.decode(takes_of(recordings, **{"embed.cues": "main"}))
    assert decoded.decision.sentence == auto.LITTLE
    assert [c.labels.shape for c in decoded.clusterings] == [r.times.shape for r in recordings]


@pytest.mark.parametrize("gap_seconds", [3600.0, 3e6])
def test_a_gap_does_not_count_as_time_in_which_steps_can_be(gap_seconds):
    recordings, truths = in_order(8)
    for recording in recordings:
        for track in recording.tracks.values():
            track.times[len(track) // 2 :] += gap_seconds
    decoded = auto.decode(takes_of(recordings))
    assert agreement(truths, decoded.clusterings) > 0.85
