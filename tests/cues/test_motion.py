from __future__ import annotations

import cv2
import numpy as np
import pytest

from stepreel.cues.motion import (
    CELL_WIDTH,
    DIRECTIONS,
    GRID,
    MotionCue,
    pool_velocity,
    remove_camera_motion,
)
from stepreel.video.moments import Moment


def cells(features):
    return features.reshape(GRID, GRID, CELL_WIDTH)


def test_uniform_movement_to_the_right_fills_every_cell():
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


def test_camera_motion_is_removed_and_hand_motion_kept():
    y, x = np.mgrid[:72, :128].astype(np.float32)
    flow = np.stack([3 + 0.02 * x - 0.01 * y, -1 + 0.01 * x + 0.02 * y], axis=-1)
    flow[40:60, 50:80] += [2.0, -1.0]
    own = remove_camera_motion(flow.astype(np.float32))
    assert own[45, 60] == pytest.approx([2.0, -1.0], abs=0.1)
    assert np.abs(own[:35]).max() < 0.1


def test_a_still_picture_has_no_motion():
    assert not remove_camera_motion(np.zeros((20, 30, 2), np.float32)).any()


def moment(patch_shift, interval):
    """Make a textured patch that moves to the right over a textured, still background."""
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.integers(0, 255, (144, 256), dtype=np.uint8), (0, 0), 2)
    patch = cv2.GaussianBlur(rng.integers(0, 255, (80, 80), dtype=np.uint8), (0, 0), 2)
    before, after = texture.copy(), texture.copy()
    before[30:110, 56:136] = patch
    after[30:110, 56 + patch_shift : 136 + patch_shift] = patch
    return Moment(0, 0.0, np.zeros((2, 2, 3), np.uint8), before, after, interval)


def test_speed_does_not_depend_on_the_frame_rate():
    cue = MotionCue()
    slow = cue.extract([moment(patch_shift=2, interval=1 / 30)])["features"]
    fast = cue.extract([moment(patch_shift=4, interval=2 / 30)])["features"]
    # 2 pixels of 256 in 1/30 s, in the cell that is entirely inside the patch.
    assert cells(slow[0])[1, 1, 2] == pytest.approx(2 / 256 * 30, rel=0.3)
    assert cells(fast[0])[1, 1, 2] == pytest.approx(cells(slow[0])[1, 1, 2], rel=0.15)


def test_without_a_second_frame_motion_is_invalid():
    still = Moment(0, 0.0, np.zeros((2, 2, 3), np.uint8), np.zeros((9, 9), np.uint8), None, 0.0)
    arrays = MotionCue().extract([still])
    assert arrays["valid"].tolist() == [False]
    assert not arrays["features"].any()


def test_motion_is_invalid_in_a_picture_too_narrow_for_flow():
    gray = np.zeros((6, 256), np.uint8)
    rgb = np.zeros((224, 224, 3), np.uint8)
    moment = Moment(0, 0.0, rgb, gray, gray, 0.04)
    arrays = MotionCue().extract([moment])
    assert arrays["valid"].tolist() == [False]
