"""Compare the loss with a plain double loop that follows the formula."""

from __future__ import annotations

import math

import pytest
import torch

from stepreel.learn.loss import bmc2_loss, cue_weight_matrix, time_weights
from stepreel.learn.windows import (
    Pairs,
    choose_pairs,
    near_window,
    raw_distances,
    similar_window,
    standardise_over_channels_,
)


def distances(raw):
    return torch.stack([raw_distances(rows) for rows in raw])


def plain_window(raw, times, sigma):
    """Return near and similar moments by the definition, one pair at a time."""
    n_batch, n, width = raw.shape
    near = torch.zeros(n_batch, n, n, dtype=torch.bool)
    similar = torch.zeros(n_batch, n, n, dtype=torch.bool)
    for b in range(n_batch):
        rows = [(r - r.mean()) / r.std() if width > 1 and r.std() >= 1e-6 else r for r in raw[b]]
        for i in range(n):
            for j in range(n):
                near[b, i, j] = abs(times[b, i] - times[b, j]) <= sigma
        for i in range(n):
            apart = [torch.linalg.vector_norm(rows[i] - rows[j]) for j in range(n)]
            others = [apart[j] for j in range(n) if near[b, i, j] and j != i]
            threshold = sum(others) / len(others) if others else 0.0
            for j in range(n):
                similar[b, i, j] = apart[j] <= threshold
    return near, similar


def plain_sides(near, similar, bootstrap):
    """Return whether one pair attracts and whether it repels."""
    if bootstrap == "none":
        return near, not near
    if bootstrap == "sampled":
        return similar, not similar
    if bootstrap == "negatives":
        return near, not (near or similar)
    return near or similar, not (near or similar)


def plain_loss(projected, times, length, pairs, cue_weights, valid):
    """Sum over cue pairs of the mean over moment pairs, one pair at a time."""
    total = 0.0
    n_batch, n, _ = projected[0].shape
    for u in range(len(projected)):
        for v in range(len(projected)):
            terms = []
            for b in range(n_batch):
                for i in range(n):
                    for j in range(n):
                        if not (valid[u][b, i] and valid[v][b, j]):
                            continue
                        gamma = ((times[b, i] - times[b, j]) / length[b]) ** 2 + 1
                        distance = torch.linalg.vector_norm(projected[u][b, i] - projected[v][b, j])
                        term = torch.zeros((), dtype=distance.dtype)
                        if pairs.attract[b, i, j]:
                            term = term + distance / gamma
                        if pairs.repel[b, i, j]:
                            term = term + gamma * torch.clamp(2 - distance, min=0)
                        terms.append(term)
            total = total + cue_weights[u, v] * torch.stack(terms).mean()
    return total


def example(n_cues, dtype, seed=0, n=7):
    generator = torch.Generator().manual_seed(seed)
    raw = [torch.randn(2, n, 5, generator=generator, dtype=dtype) for _ in range(n_cues)]
    times = torch.rand(2, n, generator=generator, dtype=dtype).sort(-1).values * 30
    length = torch.tensor([30.0, 40.0], dtype=dtype)
    window = torch.rand(2, n, n, generator=generator) < 0.4
    return raw, times, length, window


def union(window):
    return Pairs(window, ~window)


def unit(x):
    return torch.nn.functional.normalize(x, dim=-1)


@pytest.mark.parametrize("n_cues", [1, 2, 3, 4])
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_loss_and_its_gradient_equal_the_plain_double_loop(n_cues, symmetric):
    raw, times, length, window = example(n_cues, torch.float64)
    if symmetric:
        window = window | window.mT
    weights = cue_weight_matrix("paper", n_cues).double()
    valid = [torch.ones(2, 7, dtype=torch.bool) for _ in raw]
    ours = [x.clone().requires_grad_() for x in raw]
    plain = [x.clone().requires_grad_() for x in raw]
    gamma = time_weights(times, length)
    loss = bmc2_loss(
        [unit(x) for x in ours], union(window), gamma, cue_weights=weights, valid=valid
    )
    expected = plain_loss([unit(x) for x in plain], times, length, union(window), weights, valid)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-10)
    loss.backward()
    expected.backward()
    for a, b in zip(ours, plain, strict=True):
        # Automatic differentiation of |0| on the diagonal gives NaN.
        torch.testing.assert_close(a.grad, torch.nan_to_num(b.grad), atol=1e-8, rtol=1e-8)


VARIANTS = ["none", "sampled", "negatives", "union"]


@pytest.mark.parametrize("n_cues", [1, 2, 3, 4])
@pytest.mark.parametrize("bootstrap", VARIANTS)
def test_every_window_variant_equals_the_plain_double_loop(n_cues, bootstrap):
    raw, times, length, _ = example(n_cues, torch.float64, n=5)
    near, similar = plain_window(torch.cat(raw, dim=-1), times, 9.0)
    sides = [
        [
            [plain_sides(bool(n), bool(a), bootstrap) for n, a in zip(*rows, strict=True)]
            for rows in zip(near[b], similar[b], strict=True)
        ]
        for b in range(len(near))
    ]
    expected_pairs = Pairs(*torch.tensor(sides).movedim(-1, 0))

    standardised = torch.cat(raw, dim=-1)
    standardise_over_channels_(standardised)
    our_near = near_window(times, 9.0)
    pairs = choose_pairs(our_near, similar_window(distances(standardised), our_near), bootstrap)
    assert torch.equal(pairs.attract, expected_pairs.attract)
    assert torch.equal(pairs.repel, expected_pairs.repel)

    weights = cue_weight_matrix("paper", n_cues).double()
    valid = [torch.ones(2, 5, dtype=torch.bool) for _ in raw]
    gamma = time_weights(times, length)
    for dtype, loss_digits, gradient_share in (
        (torch.float64, 1e-10, 1e-8),
        (torch.float32, 1e-5, 1e-3),
    ):
        ours = [x.detach().to(dtype).clone().requires_grad_() for x in raw]
        plain = [x.detach().clone().requires_grad_() for x in raw]
        loss = bmc2_loss(
            [unit(x) for x in ours],
            pairs,
            gamma.to(dtype),
            cue_weights=weights.to(dtype),
            valid=valid,
        )
        expected = plain_loss(
            [unit(x) for x in plain], times, length, expected_pairs, weights, valid
        )
        assert loss.item() == pytest.approx(expected.item(), rel=loss_digits)
        loss.backward()
        expected.backward()
        for a, b in zip(ours, plain, strict=True):
            exact = torch.nan_to_num(b.grad)
            assert (a.grad.double() - exact).norm() <= gradient_share * exact.norm() + 1e-12


@pytest.mark.parametrize("bootstrap", VARIANTS)
def test_the_union_contains_both_parts(bootstrap):
    generator = torch.Generator().manual_seed(4)
    near = torch.rand(1, 6, 6, generator=generator) < 0.3
    similar = torch.rand(1, 6, 6, generator=generator) < 0.3
    pairs = choose_pairs(near, similar, bootstrap)
    assert not (pairs.attract & pairs.repel).any()
    if bootstrap == "union":
        assert (pairs.attract >= near).all()
        assert (pairs.attract >= similar).all()
    if bootstrap == "negatives":
        assert torch.equal(pairs.attract, near)
        ignored = ~pairs.attract & ~pairs.repel
        assert torch.equal(ignored, similar & ~near)


def test_cue_weights_can_be_a_name_or_a_matrix():
    assert cue_weight_matrix("paper", 2).tolist() == [[1, 1], [1, 1]]
    assert cue_weight_matrix("main-cue", 2).tolist() == [[1, 1], [0, 1]]
    assert cue_weight_matrix([[1, 0.5], [0, 2]], 2).tolist() == [[1, 0.5], [0, 2]]
    with pytest.raises(ValueError, match="3 x 3"):
        cue_weight_matrix([[1, 0.5], [0, 2]], 3)


def test_single_precision_agrees_to_five_digits():
    raw, times, length, window = example(2, torch.float32)
    valid = [torch.ones(2, 7, dtype=torch.bool)] * 2
    weights = torch.ones(2, 2)
    projected = [unit(x) for x in raw]
    gamma = time_weights(times, length)
    loss = bmc2_loss(projected, union(window), gamma, cue_weights=weights, valid=valid)
    exact = plain_loss(
        [x.double() for x in projected],
        times.double(),
        length.double(),
        union(window),
        weights,
        valid,
    )
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)


def test_invalid_moments_are_neither_anchor_nor_pair():
    raw, times, length, window = example(2, torch.float64)
    valid = [torch.ones(2, 7, dtype=torch.bool), torch.ones(2, 7, dtype=torch.bool)]
    valid[1][:, 3] = False
    weights = torch.ones(2, 2, dtype=torch.float64)
    gamma = time_weights(times, length)
    projected = [unit(x) for x in raw]
    loss = bmc2_loss(projected, union(window), gamma, cue_weights=weights, valid=valid)
    expected = plain_loss(projected, times, length, union(window), weights, valid)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-10)
    projected[1][:, 3] = unit(torch.randn(2, 5, dtype=torch.float64))
    changed = bmc2_loss(projected, union(window), gamma, cue_weights=weights, valid=valid)
    assert changed.item() == pytest.approx(loss.item(), rel=1e-12)


def test_exact_duplicates_give_finite_gradients():
    x = torch.ones(1, 4, 3, requires_grad=True)
    gamma = torch.ones(1, 4, 4)
    window = torch.ones(1, 4, 4, dtype=torch.bool)
    valid = [torch.ones(1, 4, dtype=torch.bool)]
    ones = torch.ones(1, 1)
    bmc2_loss([unit(x)], union(window), gamma, cue_weights=ones, valid=valid).backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("n_cues", [1, 2])
@pytest.mark.parametrize("spread", [0.0007, 0.003, 0.01])
def test_gradients_are_accurate_in_single_precision_for_very_close_moments(n_cues, spread):
    generator = torch.Generator().manual_seed(0)
    shape = (2, 6, 128)
    centre = unit(torch.randn(128, generator=generator, dtype=torch.float64))
    close = [
        centre + spread * torch.randn(shape, generator=generator, dtype=torch.float64)
        for _ in range(n_cues)
    ]
    times = torch.arange(6.0, dtype=torch.float64).repeat(2, 1)
    length = torch.tensor([6.0, 6.0], dtype=torch.float64)
    window = torch.ones(2, 6, 6, dtype=torch.bool)
    valid = [torch.ones(2, 6, dtype=torch.bool)] * n_cues
    ones = torch.ones(n_cues, n_cues)
    plain = [x.clone().requires_grad_() for x in close]
    expected = plain_loss([unit(x) for x in plain], times, length, union(window), ones, valid)
    expected.backward()
    for dtype, within in ((torch.float64, 1e-8), (torch.float32, 1e-3)):
        ours = [x.clone().to(dtype).requires_grad_() for x in close]
        gamma = time_weights(times.to(dtype), length.to(dtype))
        bmc2_loss(
            [unit(x) for x in ours], union(window), gamma, cue_weights=ones, valid=valid
        ).backward()
        for a, b in zip(ours, plain, strict=True):
            exact = torch.nan_to_num(b.grad)
            assert (a.grad - exact).norm() < within * exact.norm()


def test_two_cues_may_share_one_tensor():
    raw, times, length, window = example(1, torch.float64)
    weights = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    valid = [torch.ones(2, 7, dtype=torch.bool)] * 2
    gamma = time_weights(times, length)
    shared = raw[0].clone().requires_grad_()
    q = unit(shared)
    bmc2_loss([q, q], union(window), gamma, cue_weights=weights, valid=valid).backward()
    plain = [raw[0].clone().requires_grad_() for _ in range(2)]
    plain_loss([unit(x) for x in plain], times, length, union(window), weights, valid).backward()
    expected = sum(torch.nan_to_num(x.grad) for x in plain)
    torch.testing.assert_close(shared.grad, expected, atol=1e-8, rtol=1e-8)


def test_the_near_window_is_used_where_raw_features_are_invalid():
    near = near_window(torch.tensor([[0.0, 1.0, 9.0]]), 2.0)
    similar = torch.tensor([[[True, False, True], [False, False, False], [True, False, True]]])
    valid = torch.tensor([[True, False, True]])
    pairs = choose_pairs(near, similar, "sampled", valid)
    assert pairs.attract[0].tolist() == [
        [True, True, True],
        [True, True, False],
        [True, False, True],
    ]
    assert (pairs.attract ^ pairs.repel).all()


def test_permuting_recordings_in_a_batch_changes_nothing():
    raw, times, length, window = example(2, torch.float64)
    valid = [torch.ones(2, 7, dtype=torch.bool)] * 2
    ones = torch.ones(2, 2)
    projected = [unit(x) for x in raw]
    gamma = time_weights(times, length)
    original = bmc2_loss(projected, union(window), gamma, cue_weights=ones, valid=valid)
    flipped = [x.flip(0) for x in projected]
    permuted = bmc2_loss(
        flipped, union(window.flip(0)), gamma.flip(0), cue_weights=ones, valid=valid
    )
    assert original.item() == pytest.approx(permuted.item(), rel=1e-12)


def test_time_weights_are_normalised_by_length():
    gamma = time_weights(torch.tensor([[0.0, 5.0, 10.0]]), torch.tensor([10.0]))
    expected = torch.tensor([[[1, 1.25, 2], [1.25, 1, 1.25], [2, 1.25, 1]]])
    torch.testing.assert_close(gamma, expected)


def test_the_near_window_includes_its_boundary():
    near = near_window(torch.tensor([[0.0, 3.0, 6.5]]), 3.0)
    assert near.tolist() == [[[True, True, False], [True, True, False], [False, False, True]]]


def test_the_similar_window_equals_an_example_computed_by_hand():
    # One channel, left unchanged. Distances are differences; the window contains neighbours.
    raw = torch.tensor([[[0.0], [1.0], [3.0], [0.5]]])
    near = near_window(torch.tensor([[0.0, 1.0, 2.0, 9.0]]), 1.0)
    # Mean distance to the near others: 1, (1+2)/2, 2, and none for the last: 0.
    expected = [
        [True, True, False, True],
        [True, True, False, True],
        [False, True, True, False],
        [False, False, False, True],
    ]
    assert similar_window(distances(raw), near)[0].tolist() == expected


def test_an_invalid_moment_is_similar_to_none():
    raw = torch.zeros(1, 3, 1)
    valid = torch.tensor([[True, False, True]])
    similar = similar_window(distances(raw), torch.ones(1, 3, 3, dtype=torch.bool), valid)
    assert similar[0].tolist() == [[True, False, True], [False] * 3, [True, False, True]]


def test_standardising_does_not_change_flat_and_single_channels():
    raw = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
    standardise_over_channels_(raw)
    torch.testing.assert_close(raw[0], torch.tensor([-1.0, 1.0]) / math.sqrt(2))
    assert raw[1].tolist() == [2.0, 2.0]
    single = torch.tensor([[5.0]])
    standardise_over_channels_(single)
    assert single.tolist() == [[5.0]]
