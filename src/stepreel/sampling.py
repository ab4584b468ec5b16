"""Draw the moments a training step sees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepreel.types import Seconds


def sample_chunks(n_moments: int, n_chunks: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Cut the recording into equal chunks and pick one random moment of each.

    A recording shorter than that is sampled with repetition, still in order.

    >>> sample_chunks(8, 4, np.random.default_rng(0))
    array([1, 2, 4, 6])
    """
    starts = np.arange(n_chunks) * (n_moments / n_chunks)
    picks = starts + rng.random(n_chunks) * (n_moments / n_chunks)
    return np.minimum(picks.astype(np.int64), n_moments - 1)


def draw_batches(n_recordings: int, batch_size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one epoch of recordings with replacement: (steps, batch_size), at least one step.

    17 recordings in batches of 4 make 4 steps; one recording makes one step of 4 samplings of it.
    """
    n_steps = max(batch_size, n_recordings) // batch_size
    return rng.integers(n_recordings, size=(n_steps, batch_size))


def track_seconds(times: Seconds) -> float:
    """Return how long a track lasts, its last moment included."""
    spacing = float(times[1] - times[0]) if len(times) > 1 else 1.0
    return float(times[-1] - times[0]) + spacing


def fitting_window(window_seconds: float, seconds: float, n_chunks: int) -> float:
    """Return σ, raised to two chunks where a chunk is wider than it and it would hold nothing.

    >>> fitting_window(3.0, seconds=600, n_chunks=256), fitting_window(3.0, 1024, n_chunks=256)
    (3.0, 8.0)
    """
    chunk_seconds = seconds / n_chunks
    return 2 * chunk_seconds if chunk_seconds > window_seconds else window_seconds
