from __future__ import annotations

import numpy as np
import pytest

from stepreel.evaluation.metrics.key_step_quality import key_step_quality

EAST_NORTH_WEST = np.array([[1, 0], [2, 0], [0, 1], [-1, 0]], np.float32)


def test_representation_and_diversity_by_hand():
    own = key_step_quality(EAST_NORTH_WEST, np.array([0, 2]))
    # East stands for itself (1) and its double (1), north for itself (1), west is as near to north.
    assert own.representation == pytest.approx(100 * (1 + 1 + 1 + 0.5) / 4)
    assert own.diversity == pytest.approx(np.sqrt(2))


def test_two_alike_are_not_diverse_and_one_alone_has_no_diversity():
    assert key_step_quality(EAST_NORTH_WEST, np.array([0, 1])).diversity == pytest.approx(
        0, abs=1e-3
    )
    assert np.isnan(key_step_quality(EAST_NORTH_WEST, np.array([3])).diversity)
    assert np.isnan(key_step_quality(EAST_NORTH_WEST, np.array([3, 3])).diversity)


def test_a_moment_of_which_nothing_is_known_does_no_harm():
    assert np.isfinite(
        key_step_quality(np.zeros((3, 2), np.float32), np.array([0, 2])).representation
    )
