from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from steps.decoders.tasks import agreement, noise, recurring, takes_of

from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders import auto, refined
from stepreel.steps.decoders.judge import explained_elsewhere
from stepreel.steps.decoders.timed_points import fit_points


def test_learning_that_tells_nothing_more_is_not_used():
    recordings, _ = recurring(12)
    takes = takes_of(recordings)
    decoded, plain = refined.decode(takes), auto.decode(takes)
    assert decoded.used == "hmm"
    assert decoded.decision.sentence == f"{auto.RECUR} {refined.DID_NOT_HELP}"
    assert decoded.decision.figures["learning_explains_more"] < 0.05
    for own, same in zip(decoded.clusterings, plain.clusterings, strict=True):
        np.testing.assert_array_equal(own.labels, same.labels)


def test_noise_is_not_learned_from():
    decoded = refined.decode(takes_of(noise(10)))
    assert decoded.decision.sentence == f"{auto.LITTLE} {refined.DID_NOT_HELP}"


def test_learning_that_explains_more_is_used_and_found_again(monkeypatch):
    recordings, truths = recurring(12, noise=2.0)
    takes = takes_of(recordings)
    surely = np.array([[0.3 - 0.01 * (n % 2) for n in range(12)]] * len(auto.TIME_WEIGHTS))

    def explained(points, n_clusters, *, seed, seen_as=None):
        shares = explained_elsewhere(points, n_clusters, seed=seed)
        return shares if seen_as is None else shares + surely

    monkeypatch.setattr(refined, "explained_elsewhere", explained)
    decoded = refined.decode(takes)
    assert decoded.used == "refined"
    assert decoded.decision.sentence.endswith(refined.HELPED)
    assert agreement(truths, decoded.clusterings) > 0.9
    again = refined.find_again(takes, decoded.kinds)
    assert again.used == "refined"
    same = [
        (a.labels == b.labels).mean()
        for a, b in zip(decoded.clusterings, again.clusterings, strict=True)
    ]
    assert min(same) > 0.99


def test_a_model_without_what_was_learned_is_refused():
    takes = takes_of(recurring(3)[0])
    kinds = auto.decode(replace(takes)).kinds
    with pytest.raises(KeyError, match="refiner"):
        refined.find_again(takes, kinds)


def test_one_recording_is_cut_where_it_changes():
    takes = takes_of(recurring(1)[0])
    decoded = refined.decode(takes)
    assert decoded.used == "changes"
    assert decoded.decision.sentence.endswith(refined.NOT_TRIED)


def test_learning_is_judged_on_takes_it_did_not_see():
    takes = takes_of(recurring(4)[0])
    _, points = fit_points(takes)
    seen = []

    def spy(view, is_known, seed):
        seen.append(is_known.mean())
        return refined.seen_refined(4, 1)(view, is_known, seed)

    explained_elsewhere(points, 4, seed=0, seen_as=spy)
    assert seen
    assert 0 < min(seen) <= max(seen) < 1


def test_moments_farther_apart_than_the_window_do_not_attract(monkeypatch):
    recordings = recurring(3)[0]
    slow = [
        recording_from_arrays(
            r.name, 20 * r.times, {cue: track.features for cue, track in r.tracks.items()}
        )
        for r in recordings
    ]
    reach = []
    monkeypatch.setattr(
        refined, "best_learning", lambda takes, points, near: reach.append(near) or 1 / 0
    )
    for some in (recordings, slow):
        with pytest.raises(ZeroDivisionError):
            refined.decode(takes_of(some))
    assert reach[0] >= 2
    assert reach[1] == 0
