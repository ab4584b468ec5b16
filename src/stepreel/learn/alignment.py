"""Soft-DTW between two recordings of a task: an optional loss term that the paper evaluates.

The value is the soft minimum, over all monotone alignments, of the summed costs along the path
(Cuturi and Blondel, 2017). Both passes are vectorised over anti-diagonals.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor


def alignment_loss(
    projected: Tensor, drawn: Sequence[int], smoothing: float, valid: Tensor | None = None
) -> Tensor:
    """Return the mean soft-DTW cost per moment over all pairs of different recordings in a batch.

    projected  (B, N, D), unit length, of one cue
    drawn      the recording of each row of the batch; the loss is 0 if there is only one
    valid      (B, N); the cost of an invalid moment is 0
    """
    pairs = [(a, b) for a, b in combinations(range(len(drawn)), 2) if drawn[a] != drawn[b]]
    if not pairs:
        return projected.new_zeros(())
    first, second = (
        torch.tensor(side, device=projected.device) for side in zip(*pairs, strict=True)
    )
    costs = 2.0 - 2.0 * torch.bmm(projected[first], projected[second].mT)  # squared distances
    if valid is not None:
        costs = costs * (valid[first][:, :, None] & valid[second][:, None, :])
    return soft_dtw(costs, smoothing).mean() / (costs.shape[1] + costs.shape[2])


def soft_dtw(costs: Tensor, smoothing: float) -> Tensor:
    """Return the soft-DTW values (P,) of cost matrices (P, N, M)."""
    values: Tensor = _SoftDtw.apply(costs, smoothing)  # type: ignore[no-untyped-call]
    return values


class _SoftDtw(torch.autograd.Function):
    """R[i,j] = D[i,j] + softmin(R[i-1,j-1], R[i-1,j], R[i,j-1]), and its derivative in reverse.

    Matrices are skewed: row k of a skewed matrix contains the anti-diagonal i + j = k, at column i.
    """

    @staticmethod
    def forward(ctx: Any, costs: Tensor, smoothing: float) -> Tensor:
        skewed = _skew(costs)  # (P, N + M - 1, N)
        n_pairs, n_diagonals, n = skewed.shape
        total = costs.new_full((n_pairs, n_diagonals + 2, n + 1), torch.inf)
        total[:, 0, 0] = 0.0  # row k + 2, column i + 1: R[i, k - i]
        for k in range(n_diagonals):
            previous = torch.stack([total[:, k, :-1], total[:, k + 1, :-1], total[:, k + 1, 1:]])
            best = -smoothing * torch.logsumexp(-previous / smoothing, dim=0)
            total[:, k + 2, 1:] = skewed[:, k] + best
        ctx.save_for_backward(skewed, total)
        ctx.smoothing, ctx.shape = smoothing, costs.shape
        return total[:, -1, -1].clone()

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None]:
        skewed, total = ctx.saved_tensors
        n_pairs, n_diagonals, n = skewed.shape
        # Derivative of the result with respect to R; 0 outside the matrix.
        gradient = skewed.new_zeros(n_pairs, n_diagonals + 2, n + 1)
        gradient[:, n_diagonals - 1, n - 1] = 1.0
        for k in range(n_diagonals - 2, -1, -1):
            current = total[:, k + 2, 1:]
            summed = torch.zeros_like(current)
            for later, down in ((1, 1), (1, 0), (2, 1)):  # to (i+1, j), (i, j+1), (i+1, j+1)
                if k + later >= n_diagonals:
                    continue
                successor, cost = total[:, k + later + 2, 1:], skewed[:, k + later]
                flow = torch.exp((successor - cost - _shift_down(current, down)) / ctx.smoothing)
                flow = torch.where(torch.isfinite(successor - cost), flow, 0.0)
                passed = flow * gradient[:, k + later, :n]
                summed += _shift_up(passed, down)
            gradient[:, k, :n] = torch.where(torch.isfinite(current), summed, 0.0)
        return _unskew(gradient[:, :n_diagonals, :n], ctx.shape) * outputs[0][:, None, None], None


def _shift_down(values: Tensor, down: int) -> Tensor:
    """Return, for every cell i, the value of its predecessor: i - 1 if `down`, else i."""
    if not down:
        return values
    return torch.cat([values.new_full((len(values), 1), torch.inf), values[:, :-1]], dim=1)


def _shift_up(values: Tensor, down: int) -> Tensor:
    """Undo `_shift_down`: return, for every cell i, the value of cell i + 1 or i."""
    if not down:
        return values
    return torch.cat([values[:, 1:], values.new_zeros(len(values), 1)], dim=1)


def _skew(costs: Tensor) -> Tensor:
    """Copy anti-diagonals into rows; infinity outside the matrix."""
    n_pairs, n, m = costs.shape
    skewed = costs.new_full((n_pairs, n + m - 1, n), torch.inf)
    rows = torch.arange(n, device=costs.device)[:, None].expand(n, m)
    columns = torch.arange(m, device=costs.device)[None, :].expand(n, m)
    skewed[:, rows + columns, rows] = costs
    return skewed


def _unskew(skewed: Tensor, shape: torch.Size) -> Tensor:
    _, n, m = shape
    rows = torch.arange(n, device=skewed.device)[:, None].expand(n, m)
    columns = torch.arange(m, device=skewed.device)[None, :].expand(n, m)
    return skewed[:, rows + columns, rows]
