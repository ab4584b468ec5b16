"""Compare soft-DTW with a plain double loop that follows the definition."""

from __future__ import annotations

import pytest
import torch

from stepreel.learn.alignment import alignment_loss, soft_dtw


def plain_soft_dtw(costs, smoothing):
    n, m = costs.shape
    totals = {(-1, -1): torch.zeros((), dtype=costs.dtype)}
    for i in range(n):
        for j in range(m):
            cells = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
            previous = torch.stack([totals[cell] for cell in cells if cell in totals])
            soft_minimum = -smoothing * torch.logsumexp(-previous / smoothing, dim=0)
            totals[i, j] = costs[i, j] + soft_minimum
    return totals[n - 1, m - 1]


@pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 3), (1, 4), (3, 1), (1, 1)])
@pytest.mark.parametrize("smoothing", [0.1, 1.0])
def test_value_and_gradient_equal_the_plain_double_loop(shape, smoothing):
    generator = torch.Generator().manual_seed(1)
    costs = torch.rand(2, *shape, generator=generator, dtype=torch.float64)
    ours, plain = costs.clone().requires_grad_(), costs.clone().requires_grad_()
    values = soft_dtw(ours, smoothing)
    expected = torch.stack([plain_soft_dtw(matrix, smoothing) for matrix in plain])
    torch.testing.assert_close(values, expected, rtol=1e-10, atol=1e-10)
    (values * torch.tensor([1.0, 3.0])).sum().backward()
    (expected * torch.tensor([1.0, 3.0])).sum().backward()
    torch.testing.assert_close(ours.grad, plain.grad, rtol=1e-8, atol=1e-8)


def test_with_little_smoothing_it_is_the_cost_of_the_best_path():
    costs = torch.tensor([[[1.0, 9.0, 9.0], [9.0, 2.0, 9.0], [9.0, 9.0, 3.0]]])
    assert soft_dtw(costs, 1e-3).item() == pytest.approx(6.0, abs=1e-3)


def test_only_different_recordings_are_aligned():
    unit = torch.nn.functional.normalize(torch.randn(3, 6, 4), dim=-1)
    assert alignment_loss(unit, [5, 5, 5], 0.1).item() == 0.0
    assert alignment_loss(unit, [5, 5, 6], 0.1).item() != 0.0


def test_an_invalid_moment_has_no_cost_and_no_gradient():
    rows = torch.nn.functional.normalize(torch.randn(2, 5, 4), dim=-1)
    valid = torch.ones(2, 5, dtype=torch.bool)
    valid[0, 2] = False
    values = []
    for change in (0.0, 1.0):
        moved = rows.clone()
        moved[0, 2] += change
        moved.requires_grad_()
        value = alignment_loss(moved, [0, 1], 0.1, valid)
        value.backward()
        assert moved.grad[0, 2].abs().max() == 0
        values.append(value.item())
    assert values[0] == values[1]


def test_the_gradient_is_finite_in_single_precision():
    unit = torch.nn.functional.normalize(torch.randn(2, 200, 8), dim=-1).requires_grad_()
    alignment_loss(unit, [0, 1], 0.1).backward()
    assert torch.isfinite(unit.grad).all()
