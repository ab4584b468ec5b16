"""Motion: dense optical flow to the next source frame, minus camera motion, pooled on a grid."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from stepreel.types import Floats
from stepreel.video.decode import Picture
from stepreel.video.moments import FLOW_PIXELS, Moment

GRID = 4
DIRECTIONS = 8
CELL_WIDTH = 4 + DIRECTIONS
CAMERA_ROUNDS = 3
SMALLEST_SIDE = 12  # pixels; DIS fails on narrower pictures


class MotionCue:
    """DIS optical flow as speed and direction statistics of a 4 x 4 grid.

    Camera motion is removed first, because a head-worn camera always moves. Per cell: mean speed,
    its standard deviation, mean velocity (right, down), and the share of movement in each of eight
    directions. Speed is in picture lengths (longer side) per second and so does not depend on
    resolution or frame rate. Invalid where there is no second frame or the picture is too narrow.
    """

    name = "motion"

    def __init__(self) -> None:
        self._thread_local = threading.local()  # DIS objects have internal buffers

    def settings(self) -> dict[str, object]:
        """Return the settings that affect the features."""
        return {
            "flow": "dis-fast",
            "pixels": FLOW_PIXELS,
            "grid": GRID,
            "directions": DIRECTIONS,
            "camera": "affine",
        }

    def prepare(self, folder: Path) -> None:
        """Do nothing: optical flow has no weights to load."""

    def extract(self, moments: Sequence[Moment]) -> dict[str, NDArray[np.generic]]:
        """Return `features` (n, 192) and `valid` (n,)."""
        features = np.zeros((len(moments), GRID * GRID * CELL_WIDTH), np.float32)
        valid = np.zeros(len(moments), np.bool_)
        for row, moment in enumerate(moments):
            if moment.next_gray is None or min(moment.gray.shape) < SMALLEST_SIDE:
                continue
            if moment.interval_seconds > 0:
                flow = self._flow(moment.gray, moment.next_gray)
                lengths_per_second = 1.0 / (max(moment.gray.shape) * moment.interval_seconds)
                own = remove_camera_motion(flow)
                features[row] = pool_velocity(own * np.float32(lengths_per_second))
                valid[row] = True
        return {"features": features, "valid": valid}

    def _flow(self, before: Picture, after: Picture) -> Floats:
        """Return (H, W, 2): pixels to the right and down."""
        if not hasattr(self._thread_local, "dis"):
            preset = cv2.DISOPTICAL_FLOW_PRESET_FAST
            self._thread_local.dis = cv2.DISOpticalFlow.create(preset)
        flow: Floats = self._thread_local.dis.calc(before, after, None)
        return flow[::2, ::2]  # the preset computes flow at quarter size and interpolates


def remove_camera_motion(flow: Floats) -> Floats:
    """Subtract the affine field (shift, rotation, zoom, shear) that best fits a flow (H, W, 2).

    Fitted by iteratively re-weighted least squares: pixels that move differently, such as a hand,
    get little weight.
    """
    basis = _affine_basis(*flow.shape[:2])
    observed = flow.reshape(-1, 2)
    weight = np.ones(len(basis), np.float32)
    residual = observed
    for _ in range(CAMERA_ROUNDS):
        weighted = basis * weight[:, None]
        camera = np.linalg.lstsq(weighted.T @ basis, weighted.T @ observed, rcond=None)[0]
        residual = observed - basis @ camera.astype(np.float32)
        size = np.hypot(residual[:, 0], residual[:, 1])
        weight = 1 / (1 + (size / (np.median(size) + np.float32(1e-4))) ** 2)
    return residual.reshape(flow.shape)


@lru_cache(maxsize=4)  # all moments of a recording have the same size
def _affine_basis(height: int, width: int) -> Floats:
    """Return 1, x and y of every pixel (H x W, 3); the picture is one unit wide and high."""
    y, x = np.mgrid[-0.5 : 0.5 : height * 1j, -0.5 : 0.5 : width * 1j]
    columns = np.stack([np.ones((height, width)), x, y], axis=-1)
    return columns.reshape(-1, 3).astype(np.float32)


@lru_cache(maxsize=4)
def _cells(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cell of every pixel (H, W), and how many pixels a cell has, at least 1."""
    row = np.arange(height) * GRID // height
    column = np.arange(width) * GRID // width
    cell = row[:, None] * GRID + column[None, :]
    count = np.bincount(cell.ravel(), minlength=GRID * GRID)
    return cell, np.maximum(count, 1).astype(np.float64)


def pool_velocity(velocity: Floats) -> Floats:
    """Pool a velocity field (H, W, 2) into GRID x GRID cells of CELL_WIDTH numbers each.

    Directions count clockwise on the screen, starting at "right"; all are 0 in a still cell.
    """
    right, down = velocity[..., 0], velocity[..., 1]
    speed: Floats = np.hypot(right, down)
    angle = np.arctan2(down, right)
    sector = np.rint(angle * (DIRECTIONS / (2 * np.pi))).astype(np.int64) % DIRECTIONS
    cell, count = _cells(*speed.shape)

    def total(weights: Floats) -> NDArray[np.float64]:
        return np.bincount(cell.ravel(), weights.ravel(), minlength=GRID * GRID).astype(np.float64)

    mean_speed = total(speed) / count
    spread = np.sqrt(np.maximum(total(speed * speed) / count - mean_speed**2, 0))
    movement = np.bincount(
        (cell * DIRECTIONS + sector).ravel(), speed.ravel(), minlength=GRID * GRID * DIRECTIONS
    ).reshape(GRID * GRID, DIRECTIONS)
    shares = movement / np.maximum(movement.sum(axis=1, keepdims=True), 1e-9)
    columns = [mean_speed, spread, total(right) / count, total(down) / count]
    return np.column_stack([*columns, shares]).astype(np.float32).ravel()
