"""Sampling of moments and batches, window sizes and the learning rate schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepreel.config import Settings, TrainSettings
from stepreel.types import Seconds, moment_seconds


def sample_chunks(
    n_moments: int, n_chunks: int, rng: np.random.Generator, *, extent: float = 1.0
) -> NDArray[np.int64]:
    """Divide a part of the recording into equal chunks and pick one random moment of each.

    The part covers the fraction `extent` (β) of the recording, at a random position. If it has
    fewer moments than chunks, moments are repeated, still in order.

    >>> sample_chunks(8, 4, np.random.default_rng(0))
    array([1, 2, 4, 6])
    """
    covered = extent * n_moments
    first = rng.random() * (n_moments - covered) if extent < 1 else 0.0
    starts = first + np.arange(n_chunks) * (covered / n_chunks)
    picks = starts + rng.random(n_chunks) * (covered / n_chunks)
    return np.minimum(picks.astype(np.int64), n_moments - 1)


def draw_batches(n_recordings: int, batch_size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one epoch of recordings with replacement: (steps, batch_size), at least one step.

    17 recordings in batches of 4 give 4 steps; one recording gives one step with 4 samples of it.
    """
    n_steps = steps_per_epoch(n_recordings, batch_size)
    return rng.integers(n_recordings, size=(n_steps, batch_size))


def steps_per_epoch(n_recordings: int, batch_size: int) -> int:
    """Return the number of steps of an epoch; an incomplete last batch is dropped."""
    return max(batch_size, n_recordings) // batch_size


def draws_per_recording(n_recordings: int, settings: TrainSettings) -> float:
    """Return how often each recording is drawn on average during the whole training."""
    n_steps = steps_per_epoch(n_recordings, settings.batch_size)
    return settings.epochs * n_steps * settings.batch_size / n_recordings


def learning_rate(epoch: int, settings: TrainSettings) -> float:
    """Return the learning rate of an epoch, counted from 0.

    >>> settings = TrainSettings(learning_rate=1.0, drop_after_epochs=(400,))
    >>> learning_rate(399, settings), learning_rate(400, settings)
    (1.0, 0.1)
    """
    drops = sum(epoch >= after for after in settings.drop_after_epochs)
    return settings.learning_rate * 0.1**drops


def count_chunks(n_moments: Sequence[int], settings: TrainSettings) -> int:
    """Return N for recordings of these lengths; at most the length of the longest.

    >>> count_chunks([100, 60], TrainSettings(chunks_of_mean_length=0.8))
    64
    """
    requested = settings.n_chunks
    if settings.chunks_of_mean_length is not None:
        requested = round(settings.chunks_of_mean_length * sum(n_moments) / len(n_moments))
    return max(1, min(requested, max(n_moments)))


@dataclass(frozen=True)
class Window:
    """σ of one recording: as requested, and as used."""

    requested_seconds: float
    seconds: float


@dataclass(frozen=True)
class SamplingPlan:
    """How the recordings of one task are sampled; computed once from their lengths.

    n_chunks  N: moments sampled from each recording
    windows   σ of every recording
    """

    n_chunks: int
    windows: tuple[Window, ...]


def plan_sampling(all_times: Sequence[Seconds], settings: Settings) -> SamplingPlan:
    """Return N and every recording's σ, from the times of their moments."""
    n_chunks = count_chunks([len(times) for times in all_times], settings.train)
    return SamplingPlan(
        n_chunks, tuple(window_of(times, n_chunks, settings) for times in all_times)
    )


def window_of(times: Seconds, n_chunks: int, settings: Settings) -> Window:
    """Return σ of a recording from which `n_chunks` moments are sampled; see `fitting_window`."""
    frames = settings.loss.window_frames
    requested = settings.loss.window_seconds
    if frames is not None:
        requested = frames * moment_seconds(times)
    extent = settings.train.temporal_extent
    # Moments of a short recording are repeated: it has no more chunks than moments.
    chunks = min(n_chunks, max(1, round(extent * len(times))))
    return Window(requested, fitting_window(requested, extent * track_seconds(times), chunks))


def track_seconds(times: Seconds) -> float:
    """Return the duration of a track, including its last moment."""
    return float(times[-1] - times[0]) + moment_seconds(times)


def fitting_window(window_seconds: float, seconds: float, n_chunks: int) -> float:
    """Return σ; if a chunk is longer than σ, two chunks, so that every window has neighbours.

    >>> fitting_window(3.0, seconds=600, n_chunks=256), fitting_window(3.0, 1024, n_chunks=256)
    (3.0, 8.0)
    """
    chunk_seconds = seconds / n_chunks
    return 2 * chunk_seconds if chunk_seconds > window_seconds else window_seconds
