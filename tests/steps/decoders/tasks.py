"""Generated tasks with known steps: recurring, in a fixed order, or none at all."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from stepreel.config import load_settings
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders.base import Takes

RATE = 4.0
WIDTH = 6


def means_of(n_kinds, seed=99):
    return 3 * np.random.default_rng(seed).normal(size=(n_kinds, WIDTH))


def take_of(labels, name, *, means, rng, noise=1.0, cues=("hands", "tools")):
    """A recording whose features are the means of its steps, plus noise, one set per cue."""
    labels = np.asarray(labels)
    times = np.arange(len(labels)) / RATE
    arrays = {
        cue: means[labels][:, :: 1 if number else -1]
        + noise * rng.normal(size=(len(labels), WIDTH))
        for number, cue in enumerate(cues)
    }
    return recording_from_arrays(name, times, arrays)


def recurring(n_takes=10, *, n_kinds=4, visits=9, seed=0, **options):
    """Each kind is followed by one of two others; how long it lasts varies."""
    rng = np.random.default_rng(seed)
    takes, truths = [], []
    for number in range(n_takes):
        kinds = [int(rng.integers(n_kinds))]
        for _ in range(visits - 1):
            kinds.append((kinds[-1] + (1 if rng.random() < 0.85 else 2)) % n_kinds)
        labels = np.repeat(kinds, rng.integers(20, 48, size=visits))
        takes.append(take_of(labels, f"take{number}", means=means_of(n_kinds), rng=rng, **options))
        truths.append(labels)
    return takes, truths


def in_order(n_takes=10, *, n_kinds=4, jitter=0.15, seed=0, **options):
    """Every kind comes once, in the same order, at about the same relative time."""
    rng = np.random.default_rng(seed)
    takes, truths = [], []
    for number in range(n_takes):
        lengths = 60 * (1 + jitter * rng.uniform(-1, 1, size=n_kinds))
        labels = np.repeat(np.arange(n_kinds), lengths.astype(int))
        takes.append(take_of(labels, f"take{number}", means=means_of(n_kinds), rng=rng, **options))
        truths.append(labels)
    return takes, truths


def noise(n_takes=10, *, seconds=60, smooth_seconds=2.0, seed=0):
    """Features that say nothing: smooth noise, different in every take."""
    rng = np.random.default_rng(seed)
    takes = []
    for number in range(n_takes):
        times = np.arange(int(seconds * RATE)) / RATE
        arrays = {
            cue: gaussian_filter1d(
                rng.normal(size=(len(times), WIDTH)), smooth_seconds * RATE, axis=0
            )
            for cue in ("hands", "tools")
        }
        takes.append(recording_from_arrays(f"take{number}", times, arrays))
    return takes


def takes_of(recordings, *, n_clusters=4, **overrides):
    settings = load_settings(
        overrides={
            "key_steps.n_clusters": n_clusters,
            "embed.cues": "all",
            "loss.window_seconds": 1.0,
            **overrides,
        }
    )
    return Takes(recordings, None, settings)


def agreement(truths, clusterings):
    """Return the share of moments that agree, with clusters renamed in the best way."""
    from scipy.optimize import linear_sum_assignment

    truth = np.concatenate(truths)
    found = np.concatenate([clustering.labels for clustering in clusterings])
    table = np.zeros((truth.max() + 1, found.max() + 1))
    np.add.at(table, (truth, found), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return table[rows, columns].sum() / len(truth)
