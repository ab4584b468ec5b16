from __future__ import annotations

import numpy as np
import pytest

from stepreel.evaluation.metrics.phases import PhaseCounts, classify, labelled_share, make_folds


def test_folds_are_by_recording_and_cover_all_once():
    folds = make_folds([""] * 12, seed=3)
    assert len(folds) == 5
    assert sorted(n for fold in folds for n in fold.test) == list(range(12))
    assert all(not set(fold.train) & set(fold.test) for fold in folds)
    assert make_folds([""] * 12, seed=3) == folds
    assert len(make_folds(["", ""], seed=0)) == 2
    with pytest.raises(ValueError, match="two recordings"):
        make_folds([""], seed=0)


def test_the_official_split_goes_before_folds():
    (fold,) = make_folds(["test", "train", "train"], seed=0)
    assert (fold.train, fold.test) == ([1, 2], [0])


def test_a_share_is_the_beginning_of_one_order():
    train = list(range(10, 20))
    parts = [labelled_share(train, share, 7) for share in (0.1, 0.5, 1.0)]
    assert list(map(len, parts)) == [1, 5, 10]
    assert parts[2][:5] == parts[1]
    assert len(labelled_share([4, 5, 6], 0.1, 0)) == 1


def phase_data():
    rng = np.random.default_rng(0)
    truth = [np.repeat([0, 1, 2], 8) for _ in range(4)]
    features = [np.eye(3)[t] + 0.05 * rng.normal(size=(24, 3)) for t in truth]
    return [f.astype(np.float32) for f in features], truth


def test_phases_that_look_different_are_told_apart():
    features, truth = phase_data()
    assert classify(features, truth, [0, 1], [2, 3]) == PhaseCounts(48, 48)


def test_without_background_its_moments_are_dropped_on_both_sides():
    features, truth = phase_data()
    assert classify(features, truth, [0], [3], with_background=False) == PhaseCounts(16, 16)


def test_a_single_known_phase_is_the_answer_to_everything():
    features, _ = phase_data()
    truth = [np.zeros(24, int), np.repeat([0, 1], 12)]
    assert classify(features[:2], truth, [0], [1]) == PhaseCounts(12, 24)
