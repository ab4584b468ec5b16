from __future__ import annotations

import numpy as np
import pytest
import torch

from stepreel.config import load_settings
from stepreel.learn.scratch import ScratchBuffers
from stepreel.learn.training_data import choose_precomputed, gather, recording_tensors
from stepreel.types import FeatureTrack


def tracks(n=30, seed=0):
    rng = np.random.default_rng(seed)
    times, valid = np.arange(n) / 4, np.ones(n, bool)
    return {
        cue: FeatureTrack("r", cue, times, rng.normal(size=(n, d)).astype(np.float32), valid)
        for cue, d in (("appearance", 6), ("motion", 3))
    }


def test_precomputed_distances_equal_those_computed_in_every_step():
    settings = load_settings("quick")
    picks = [torch.tensor([0, 3, 3, 29])]
    batches = [
        gather([recording_tensors(tracks(), settings, precompute_distances=precompute)], picks)
        for precompute in (True, False)
    ]
    torch.testing.assert_close(
        batches[0].raw_distances, batches[1].raw_distances, atol=1e-3, rtol=0
    )
    assert batches[0].raw_distances[0, 1, 2] == pytest.approx(0, abs=2e-3)


def test_distances_are_precomputed_where_they_fit_shortest_recordings_first():
    settings = load_settings("meccano")
    assert choose_precomputed([100, 100], 100, settings) == [True, True]
    assert choose_precomputed([7000, 100, 7000], 1024, settings) == [True, True, False]
    assert choose_precomputed([40_000], 1024, settings) == [False]


def test_distances_are_not_precomputed_where_training_needs_few_pairs():
    few = load_settings("quick", {"train.n_chunks": 16, "train.epochs": 2})
    assert choose_precomputed([3000], 16, few) == [False]


def test_without_bootstrapping_no_raw_distances_are_computed():
    settings = load_settings("quick", {"loss.bootstrap": "none"})
    assert choose_precomputed([100], 100, settings) == [False]
    recording = recording_tensors(tracks(), settings)
    assert gather([recording], [torch.arange(5)]).raw_distances is None


def test_a_buffer_is_reused_until_another_size_or_type_is_needed():
    scratch, like = ScratchBuffers(), torch.zeros(1)
    first = scratch.get("a", (2, 3), like, torch.float32)
    assert scratch.get("a", (2, 3), like, torch.float32) is first
    assert scratch.get("b", (2, 3), like, torch.float32) is not first
    assert scratch.get("a", (2, 3), like, torch.float64).dtype == torch.float64
    assert scratch.get("a", (4,), like, torch.float32).shape == (4,)
