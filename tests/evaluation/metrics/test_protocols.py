"""Six protocols, against results worked out by hand, brute force, and what must always hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from stepreel.evaluation.methods.baselines import BASELINES, concatenated_split, equal_splits
from stepreel.evaluation.metrics.localization import PROTOCOLS, match, score_localization
from stepreel.evaluation.metrics.prediction_scores import FIGURES, score_prediction

TRUTH = [np.array([0, 0, 1, 1, 1, 2]), np.array([1, 1, 0, 0, 3, 3])]
FOUND = [np.array([0, 0, 1, 1, 0, 2]), np.array([1, 1, 1, 0, 2, 2])]
# Together: background 0 meets cluster 0 (3 of 4 moments; it has 4), step 1 meets 1 (4 of 5; 5),
# step 2 (1 moment) and step 3 (2) both lie in cluster 2 (3 moments): 3 gets it, 2 goes empty.


def figures(protocol, truth=TRUTH, found=FOUND, k=3):
    return score_prediction(truth, found, k, PROTOCOLS[protocol])


def test_egoprocel_by_hand():
    own = figures("egoprocel").figures
    precision, recall = (3 / 4 + 4 / 5 + 2 / 3) / 3, (3 / 4 + 4 / 5 + 2 / 2) / 3
    assert own["precision"] == pytest.approx(100 * precision)
    assert own["recall"] == pytest.approx(100 * recall)
    assert own["f1"] == pytest.approx(100 * 2 * precision * recall / (precision + recall))
    assert own["iou"] == pytest.approx(100 * (3 / 5 + 4 / 6 + 2 / 3) / 3)


def test_egoprocel_pooled_by_hand():
    own = figures("egoprocel-pooled").figures
    # 9 of 12 moments of the clusters, 9 of 11 of the matched steps.
    assert own["precision"] == pytest.approx(100 * 9 / 12)
    assert own["recall"] == pytest.approx(100 * 9 / 11)
    assert own["f1"] == pytest.approx(100 * 18 / 23)
    assert own["iou"] == pytest.approx(100 * 9 / 14)


def test_per_video_by_hand():
    own = figures("per-video").figures
    # First: 0-0 (2 of 2; cluster 3), 1-1 (2 of 3; 2), 2-2 (1; 1). Second: 1-1 (2 of 2; 3),
    # 0-0 (1 of 2; 1), 3-2 (2; 2).
    precision = np.mean([np.mean([2 / 3, 1, 1]), np.mean([2 / 3, 1, 1])])
    recall = np.mean([np.mean([1, 2 / 3, 1]), np.mean([1, 1 / 2, 1])])
    assert own["precision"] == pytest.approx(100 * precision)
    assert own["recall"] == pytest.approx(100 * recall)
    assert own["f1"] == pytest.approx(100 * 2 * precision * recall / (precision + recall))
    iou = np.mean([np.mean([2 / 3, 2 / 3, 1]), np.mean([2 / 3, 1 / 2, 1])])
    assert own["iou"] == pytest.approx(100 * iou)


def test_per_video_pooled_by_hand():
    own = figures("per-video-pooled").figures
    assert own["precision"] == pytest.approx(100 * np.mean([5 / 6, 5 / 6]))
    assert own["f1"] == pytest.approx(100 * np.mean([10 / 12, 10 / 12]))


def test_strict_by_hand():
    own = figures("strict")
    # Steps 1, 2, 3; background is never matched: 1-1, 3-2, and 2 with cluster 0, where it never is.
    assert own.figures["f1"] == pytest.approx(100 * (8 / 10 + 0 + 4 / 5) / 3)
    assert own.figures["iou"] == pytest.approx(100 * (4 / 6 + 0 + 2 / 3) / 3)
    assert own.ceiling == 100
    assert own.per_step[2]["f1"] == 0
    assert own.per_step[1]["f1"] == pytest.approx(80)
    assert 0 not in own.per_step


def test_strict_per_video_counts_the_steps_that_occur():
    own = figures("strict-per-video")
    first = (2 * 2 / (3 + 2) + 1) / 2
    second = (2 * 2 / (2 + 3) + 1) / 2
    assert own.figures["f1"] == pytest.approx(100 * (first + second) / 2)


def test_fewer_clusters_than_steps_drop_steps_in_one_protocol_and_cost_in_the_other():
    truth = [np.array([1, 1, 2, 2, 3, 3, 4, 4])]
    found = [np.array([0, 0, 1, 1, 1, 1, 1, 1])]
    assert score_localization(truth, found, 2, protocol="egoprocel").recall == 100
    strict = score_localization(truth, found, 2, protocol="strict")
    assert strict.recall == 50
    assert strict.ceiling == 50


def test_mof_counts_background_and_calls_unmatched_clusters_wrong():
    truth = [np.array([0, 0, 1, 1])]
    found = [np.array([1, -1, 0, 0])]
    # Strict: -1 is background and right; cluster 1 is matched with nothing and wrong.
    assert figures("strict", truth, found, 2).figures["mof"] == 75
    # egoprocel: -1 and cluster 1 both hold one moment of background; one of them is matched.
    assert figures("egoprocel", truth, found, 2).figures["mof"] == 75


def test_edit_and_segments_leave_background_out():
    truth = [np.array([0, 1, 1, 0, 2, 2, 2, 2, 0, 1])]
    found = [np.array([-1, 0, 0, -1, 1, 1, 0, 0, -1, -1])]
    own = figures("strict", truth, found, 2).figures
    # True segments: 1 2 1; found: 1 2 1 (the last one four moments early).
    assert own["edit"] == 100
    # The first is found whole, the second by half, the third not at all.
    assert own["f1_50"] == pytest.approx(100 * 4 / 6)
    assert own["f1_10"] == pytest.approx(100 * 4 / 6)
    third = figures("strict", truth, [np.array([-1, 0, 0, -1, 1, -1, -1, -1, -1, 0])], 2).figures
    assert (third["f1_25"], third["f1_50"]) == pytest.approx((100, 100 * 4 / 6))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_perfect_prediction_scores_a_hundred(protocol):
    found = [np.where(t == 0, -1, t - 1) for t in TRUTH]
    own = figures(protocol, TRUTH, found, 3).figures
    assert own == pytest.approx(dict.fromkeys(FIGURES, 100))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_perfect_prediction_with_a_cluster_for_background_has_f1_and_iou_100(protocol):
    own = figures(protocol, TRUTH, TRUTH, 4).figures
    assert (own["f1"], own["iou"]) == pytest.approx((100, 100))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_moment_can_be_scored(protocol):
    own = figures(protocol, [np.array([3])], [np.array([0])], 1).figures
    assert own["f1"] == 100


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_unequal_lengths_and_unknown_clusters_are_errors(protocol):
    with pytest.raises(ValueError, match="truth has 6 moments, prediction 5"):
        figures(protocol, TRUTH[:1], [FOUND[0][:5]])
    with pytest.raises(ValueError, match="clusters 0 to 1"):
        figures(protocol, TRUTH, FOUND, 2)
    with pytest.raises(ValueError, match="2 recordings have a truth, 1"):
        figures(protocol, TRUTH, FOUND[:1])
    with pytest.raises(ValueError, match="no moment"):
        figures(protocol, [np.zeros(0, int)], [np.zeros(0, int)])


def test_a_truth_without_steps_cannot_be_scored_strictly():
    with pytest.raises(ValueError, match="no key step"):
        figures("strict", [np.zeros(3, int)], [np.zeros(3, int)], 1)
    # Among others that have steps, such a recording has no localization; its moments count.
    both = figures("strict-per-video", [*TRUTH, np.zeros(3, int)], [*FOUND, np.array([-1, 0, 0])])
    alone = figures("strict-per-video").figures
    for name in ("f1", "precision", "recall", "iou"):
        assert both.figures[name] == pytest.approx(alone[name])
    assert both.figures["mof"] == pytest.approx((2 * alone["mof"] + 100 / 3) / 3)
    assert both.figures["edit"] == pytest.approx(2 * alone["edit"] / 3)


labellings = st.integers(4, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(-1, 2), min_size=n, max_size=n),
        st.permutations(range(3)),
    )
)


def best_overlap(truth, found, ids, clusters):
    """Try every pairing; return the most moments in common."""
    longer, shorter = (ids, clusters) if len(ids) >= len(clusters) else (clusters, ids)
    most = 0
    for chosen in itertools.permutations(longer, len(shorter)):
        pairs = zip(shorter, chosen, strict=True)
        pairs = [(b, a) if len(ids) >= len(clusters) else (a, b) for a, b in pairs]
        most = max(most, sum(int(np.sum((truth == s) & (found == c))) for s, c in pairs))
    return most


@settings(max_examples=60, deadline=None)
@given(labellings)
def test_the_matching_is_the_best_there_is(case):
    truth, found = np.array(case[0]), np.array(case[1])
    for strict in (True, False):
        ids = [i for i in np.unique(truth) if i or not strict]
        clusters = [*([-1] if not strict and (found == -1).any() else []), 0, 1, 2]
        own = match(truth, found, 3, strict=strict)
        assert own.pairs[0].sum() == best_overlap(truth, found, ids, clusters)
        assert len(own.rows) == min(len(ids), len(clusters))


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.integers(0, 3), min_size=1).filter(lambda ids: max(ids) > 0),
    st.permutations([(step, cluster) for step in range(4) for cluster in range(-1, 3)]),
    st.permutations(range(3)),
    st.booleans(),
)
def test_renaming_clusters_changes_nothing(ids, cells, order, abstains):
    # Every step meets every cluster, for a power of two of moments: no two pairings tie. Where
    # some do, names decide, as they do for anyone who matches with scipy.
    kept = [(step, c) for step, c in cells if step in ids and (abstains or c >= 0)]
    truth, found = np.repeat(np.array(kept), 2 ** np.arange(len(kept)), axis=0).T
    renamed = np.array([*order, -1])[found]
    for protocol in PROTOCOLS:
        one = figures(protocol, [truth], [found], 3).figures
        assert figures(protocol, [truth], [renamed], 3).figures == pytest.approx(one)


def test_pairings_that_tie_are_settled_by_scipy_in_the_order_of_names():
    # Step 1 shares nothing with the two clusters left over, and gets the first of them.
    truth, found = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 1, 2, 0])
    expected = linear_sum_assignment([[2, 1, 1], [1, 0, 0]], maximize=True)
    own = match(truth, found, 3, strict=False)
    assert [own.rows.tolist(), own.columns.tolist()] == [x.tolist() for x in expected]


def test_the_concatenated_split_has_one_part_less_and_a_last_moment():
    labels = np.concatenate(concatenated_split([5, 8], 4))
    assert labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_an_equal_split_cuts_every_recording():
    assert [x.tolist() for x in equal_splits([4, 6], 2)] == [[0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]


@pytest.mark.parametrize("method", BASELINES)
def test_baselines_use_clusters_below_k_and_fit_the_lengths(method):
    labels = BASELINES[method]([1, 5, 30], 7, 0)
    assert list(map(len, labels)) == [1, 5, 30]
    assert max(x.max() for x in labels) < 7


def test_one_cluster_wins_where_moments_are_pooled():
    # Most of both recordings is background: a single cluster is right there, and counts are pooled.
    truth = [np.repeat([0, 1, 0, 2], [40, 5, 40, 5]), np.repeat([0, 3], [80, 10])]
    lengths = [90, 90]
    one, equal = (BASELINES[name](lengths, 4, 0) for name in ("one-cluster", "equal-split"))
    pooled = [score_localization(truth, x, 4, protocol="per-video-pooled").f1 for x in (one, equal)]
    strict = [score_localization(truth, x, 4, protocol="strict").f1 for x in (one, equal)]
    assert pooled[0] > pooled[1]
    assert strict[0] < strict[1]
