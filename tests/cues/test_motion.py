from __future__ import annotations

import cv2
import numpy as np
import pytest

from stepreel.cues.motion import CELL_WIDTH, DIRECTIONS, GRID, MotionCue, pool_velocity
from stepreel.moments import Moment


def cells(features):
    return features.reshape(GRID, GRID, CELL_WIDTH)


def test_a_field_that_moves_right_everywhere():
    field = np.zeros((64, 128, 2), np.float32)
    field[..., 0] = 0.5
    cell = cells(pool_velocity(field))[1, 2]
    assert cell[:4] == pytest.approx([0.5, 0.0, 0.5, 0.0], abs=1e-6)
    assert cell[4:].tolist() == [1.0] + [0.0] * (DIRECTIONS - 1)


def test_movement_in_one_cell_stays_there_and_down_is_a_quarter_turn():
    field = np.zeros((64, 128, 2), np.float32)
    field[:16, :32, 1] = 2.0
    pooled = cells(pool_velocity(field))
    assert pooled[0, 0, 0] == pytest.approx(2.0)
    assert pooled[0, 0, 4 + 2] == 1.0
    assert np.count_nonzero(pooled) == 3  # speed, downward velocity, direction


def test_opposite_movement_cancels_in_velocity_but_not_in_speed():
    field = np.zeros((64, 64, 2), np.float32)
    field[::2, :, 0], field[1::2, :, 0] = 1.0, -1.0
    cell = cells(pool_velocity(field))[0, 0]
    assert cell[:3] == pytest.approx([1.0, 0.0, 0.0])
    assert cell[4] == cell[8] == 0.5


def moment(shift, interval, n=None):
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.integers(0, 255, (200, 300), dtype=np.uint8), (0, 0), 2)
    before = texture[20:164, 20:276].copy()
    after = texture[20:164, 20 - shift : 276 - shift].copy()
    return Moment(
        0, 0.0, np.zeros((2, 2, 3), np.uint8), before, after if n is None else n, interval
    )


def test_speed_does_not_depend_on_the_frame_rate():
    cue = MotionCue()
    slow = cue.extract([moment(shift=2, interval=1 / 30)])["features"]
    fast = cue.extract([moment(shift=4, interval=2 / 30)])["features"]
    # 2 pixels of 256 in 1/30 s.
    assert cells(slow[0])[1:3, 1:3, 2] == pytest.approx(2 / 256 * 30, rel=0.1)
    assert cells(fast[0])[1:3, 1:3, 2] == pytest.approx(2 / 256 * 30, rel=0.1)


def test_without_a_second_frame_motion_is_invalid():
    still = Moment(0, 0.0, np.zeros((2, 2, 3), np.uint8), np.zeros((9, 9), np.uint8), None, 0.0)
    arrays = MotionCue().extract([still])
    assert arrays["valid"].tolist() == [False]
    assert not arrays["features"].any()
