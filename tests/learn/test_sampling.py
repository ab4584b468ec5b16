from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepreel.learn.sampling import draw_batches, sample_chunks


@given(st.integers(1, 500), st.integers(1, 300), st.integers(0, 5))
def test_one_moment_is_sampled_from_every_chunk(n_moments, n_chunks, seed):
    picks = sample_chunks(n_moments, n_chunks, np.random.default_rng(seed))
    starts = np.arange(n_chunks) * n_moments / n_chunks
    assert len(picks) == n_chunks
    assert (np.diff(picks) >= 0).all()
    assert (picks >= np.floor(starts)).all()
    assert (picks < np.ceil((np.arange(n_chunks) + 1) * n_moments / n_chunks + 1e-9)).all()
    assert picks.max() < n_moments


def test_an_epoch_has_the_papers_number_of_steps():
    rng = np.random.default_rng(0)
    assert draw_batches(17, 4, rng).shape == (4, 4)
    assert draw_batches(1, 4, rng).tolist() == [[0, 0, 0, 0]]
    assert draw_batches(3, 4, rng).shape == (1, 4)


def test_a_smaller_extent_samples_one_part_at_a_random_position():
    firsts, widths = set(), []
    for seed in range(50):
        picks = sample_chunks(1000, 100, np.random.default_rng(seed), extent=0.4)
        assert (np.diff(picks) >= 0).all()
        firsts.add(int(picks[0]) // 100)
        widths.append(picks[-1] - picks[0])
    assert max(widths) <= 400
    assert min(widths) >= 380
    assert len(firsts) >= 5
