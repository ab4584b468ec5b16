from __future__ import annotations

import itertools

import numpy as np
import pytest
from steps.decoders.tasks import agreement, in_order, means_of, noise, take_of, takes_of

from stepreel.steps.decoders import clock
from stepreel.steps.decoders.clock import _scaled_mean, _segment_scores, shared_clock
from stepreel.steps.decoders.timed_points import fit_points


def test_borders_move_to_where_the_takes_change():
    _, truths = in_order(20, jitter=0.05)
    # The first step is half as long again as the others in every take.
    longer = [np.concatenate([np.zeros(30, int), truth]) for truth in truths]
    rng = np.random.default_rng(0)

    recordings = [
        take_of(labels, f"t{n}", means=means_of(4), rng=rng) for n, labels in enumerate(longer)
    ]
    decoded = clock.decode(takes_of(recordings))
    assert agreement(longer, decoded.clusterings) > 0.93
    equal = [np.arange(len(labels)) * 4 // len(labels) for labels in longer]
    assert np.mean([(a == b).mean() for a, b in zip(longer, equal, strict=True)]) < 0.85


def test_without_any_change_the_parts_are_equal():
    borders = clock.decode(takes_of(noise(12, smooth_seconds=0.1))).kinds["borders"]
    assert borders == pytest.approx([0, 0.25, 0.5, 0.75, 1], abs=0.03)


def test_expected_borders_are_those_of_all_segmentations_tried_one_by_one():
    recordings, _ = in_order(5)
    _, points = fit_points(takes_of(recordings))
    n_steps, n_cells = 2, 20
    scores = _segment_scores(_scaled_mean(clock.take_cells(points, n_cells)), n_cells / n_steps)
    cuts = list(itertools.combinations(range(1, n_cells), n_steps - 1))
    totals = np.array([scores[0, cut] + scores[cut, n_cells] for (cut,) in cuts])
    weights = np.exp(totals - totals.max())
    expected = (weights / weights.sum()) @ np.array(cuts)[:, 0] / n_cells
    assert shared_clock(points, n_steps).borders == pytest.approx([0, expected, 1])


def test_a_take_alone_is_cut_into_equal_parts():
    recordings, _ = in_order(1)
    (clustering,) = clock.decode(takes_of(recordings)).clusterings
    lengths = np.bincount(clustering.labels)
    assert lengths.max() - lengths.min() <= 2


def test_later_takes_are_cut_at_the_same_shares():
    recordings, truths = in_order(12)
    earlier = clock.decode(takes_of(recordings[:8]))
    later = clock.find_again(takes_of(recordings[8:]), earlier.kinds)
    assert agreement(truths[8:], later.clusterings) > 0.85


def test_certainty_is_that_of_the_border():
    recordings, _ = in_order(20, noise=8.0)
    clustering = clock.decode(takes_of(recordings)).clusterings[0]
    border = np.flatnonzero(np.diff(clustering.labels))[0]
    assert clustering.certainty[border - 25] > clustering.certainty[border]
    assert (clustering.certainty <= 1).all()
