from __future__ import annotations

import itertools

import numpy as np
import pytest

from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.metrics.localization import score_egoprocel, score_strict


def test_a_perfect_prediction_scores_a_hundred():
    truth = np.array([0, 5, 5, 0, 9, 9])
    scores = score_strict(truth, np.array([-1, 1, 1, -1, 0, 0]), 2)
    assert (scores.f1, scores.iou, scores.precision, scores.recall) == (100, 100, 100, 100)


def test_unmatched_steps_count_zero_and_background_costs_precision():
    truth = np.array([0, 0, 1, 1, 2, 2])
    scores = score_strict(truth, np.zeros(6, int), 1)
    # The one cluster (6 moments) meets one step (2 moments): F1 = 2*2/8, the other step 0.
    assert scores.f1 == pytest.approx(25.0)
    assert scores.ceiling == 50.0


def test_egoprocel_counts_matched_pairs_alone_and_background_as_a_row():
    truth = np.array([0, 0, 0, 1, 1, 2])
    prediction = np.array([0, 0, 1, 1, 1, 1])
    # Background meets cluster 0 (P 1, R 2/3, IoU 2/3), step 1 cluster 1 (P 2/4, R 1, IoU 2/4).
    scores = score_egoprocel(truth, prediction, 2)
    assert scores.precision == pytest.approx(75)
    assert scores.recall == pytest.approx(100 * 5 / 6)
    assert scores.f1 == pytest.approx(100 * 2 * 0.75 * (5 / 6) / (0.75 + 5 / 6))
    assert scores.iou == pytest.approx(100 * (2 / 3 + 1 / 2) / 2)


def test_egoprocel_matches_empty_clusters_with_zero_and_abstention_as_a_column():
    truth = np.array([0, 0, 1, 1, 2, 2])
    one = score_egoprocel(truth, np.zeros(6, int), 3)
    # One pair with P 1/3, R 1, IoU 1/3; two empty clusters are matched too.
    assert (one.precision, one.recall, one.iou) == pytest.approx((100 / 9, 100 / 3, 100 / 9))
    assert score_egoprocel(truth, np.array([-1, -1, 0, 0, 1, 1]), 2).f1 == pytest.approx(100)
    assert score_egoprocel(truth, truth, 3).f1 == pytest.approx(100)


def test_an_empty_cluster_does_no_harm():
    truth = np.array([1, 1, 2, 2])
    assert score_strict(truth, np.array([0, 0, 1, 1]), 5).f1 == 100


def test_matching_is_the_best_there_is_whatever_the_clusters_are_called():
    rng = np.random.default_rng(0)
    for _ in range(20):
        truth, prediction = rng.integers(0, 4, 997), rng.integers(-1, 3, 997)

        def common(step, cluster, truth=truth, prediction=prediction):
            return np.sum((truth == step) & (prediction == cluster))

        pairings = [list(zip((1, 2, 3), o, strict=True)) for o in itertools.permutations(range(3))]
        best = max(pairings, key=lambda pairs: sum(common(*pair) for pair in pairs))
        f1s = [2 * common(s, c) / (np.sum(truth == s) + np.sum(prediction == c)) for s, c in best]
        assert score_strict(truth, prediction, 3).f1 == pytest.approx(100 * np.mean(f1s))
        renamed = np.where(prediction < 0, -1, (prediction + 1) % 3)
        assert score_strict(truth, renamed, 3).f1 == pytest.approx(100 * np.mean(f1s))


def test_unequal_lengths_and_empty_truth_are_errors():
    with pytest.raises(ValueError, match="3 moments"):
        score_strict(np.zeros(3, int), np.zeros(2, int), 1)
    with pytest.raises(ValueError, match="no key step"):
        score_strict(np.zeros(3, int), np.zeros(3, int), 1)


def test_an_equal_split_is_of_equal_parts():
    assert equal_split(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]
