"""The BMC2 loss: windows, time weights, and the contrast between cues with its exact gradient.

Projected features have unit length and the margin is 2, so distances never exceed the margin and
the loss is affine in them: with coefficients A = W/γ − (1−W)γ it is A·d plus a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

MARGIN = 2.0
# Below this distance fp32 cannot tell two unit vectors apart; the slope 1/d is held there.
SMALLEST_DISTANCE = 1e-3


def time_weights(times: Tensor, lengths: Tensor) -> Tensor:
    """Return γ(i,j) = ((t_i − t_j) / T)² + 1, (B, N, N), from times (B, N) and lengths T (B,).

    The paper's formula has no unit; dividing by the recording's length keeps γ in [1, 2].
    """
    relative = times / lengths[:, None]
    return (relative[:, :, None] - relative[:, None, :]).square() + 1.0


def near_window(times: Tensor, window_seconds: float | Tensor) -> Tensor:
    """Return W, (B, N, N): true where two moments lie at most σ apart."""
    return (times[:, :, None] - times[:, None, :]).abs() <= window_seconds


def standardise_over_channels_(raw: Tensor) -> None:
    """Give every moment's raw features zero mean and unit sample deviation, in place.

    A single channel, or features that hardly vary, stay as they are.
    """
    if raw.shape[-1] < 2:
        return
    deviation, mean = torch.std_mean(raw, dim=-1, keepdim=True)
    varies = deviation >= 1e-6
    raw.sub_(mean.mul_(varies)).div_(deviation.masked_fill_(~varies, 1.0))


def alike_window(raw: Tensor, near: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return W', (B, N, N): true where raw features are as close as i's near moments on average.

    raw    (B, N, D), already standardised over channels
    near   (B, N, N), the σ-window
    valid  (B, N); an invalid moment is alike to none
    """
    distances = _distances(raw, raw)
    others = near & ~torch.eye(near.shape[-1], dtype=torch.bool, device=near.device)
    if valid is not None:
        others = others & valid[:, None, :]
    count = others.sum(-1)
    threshold = (distances * others).sum(-1) / count.clamp_min(1)  # δ; 0 with no other moment
    alike = distances <= threshold[:, :, None]
    if valid is not None:
        alike = alike & valid[:, None, :] & valid[:, :, None]
    return alike


def bmc2_loss(
    projected: Sequence[Tensor],
    window: Tensor,
    weights: Tensor,
    *,
    pair_weights: Tensor,
    valid: Sequence[Tensor],
) -> Tensor:
    """Return Σ_uv λ_uv · mean over pairs (i, j) of W·d/γ + (1−W)·γ·(ζ−d).

    projected     one (B, N, D) per cue, unit length
    window        (B, N, N), W̃; need not be symmetric
    weights       (B, N, N), γ
    pair_weights  (M, M), λ
    valid         one (B, N) per cue; a term's mean is over pairs valid in both its cues
    """
    inside = window.to(weights.dtype)
    attract = inside / weights
    repel = (1.0 - inside) * weights
    slope = attract - repel  # (B, N, N), A
    total = weights.new_zeros(())
    for u in range(len(projected)):
        for v in range(u, len(projected)):
            forth, back = float(pair_weights[u, v]), float(pair_weights[v, u])
            if u == v:
                forth, back = forth / 2, forth / 2
            if forth == 0 and back == 0:
                continue
            # d(v_i, u_j) is d(u_j, v_i): both directions share one distance matrix.
            pairs = valid[u][:, :, None] & valid[v][:, None, :]
            share = pairs.to(weights.dtype) / pairs.sum().clamp_min(1)
            coefficient = (forth * slope + back * slope.mT) * share
            constant = MARGIN * ((forth * repel + back * repel.mT) * share).sum()
            total = total + _affine_contrast(projected[u], projected[v], coefficient) + constant
    return total


def _affine_contrast(u: Tensor, v: Tensor, coefficient: Tensor) -> Tensor:
    total: Tensor = _AffineContrast.apply(u, v, coefficient)  # type: ignore[no-untyped-call]
    return total


class _AffineContrast(torch.autograd.Function):
    """Σ A_ij ‖u_i − v_j‖ over unit vectors, with the gradient in closed form.

    The derivative of a distance is (u − v)/d; its part along u is left out, because the
    normalisation in front of this function removes whatever is radial.
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, coefficient: Tensor) -> Tensor:
        squared = torch.baddbmm(u.new_tensor(2.0), u, v.mT, beta=1.0, alpha=-2.0)
        if u is v or u.data_ptr() == v.data_ptr():
            squared.diagonal(dim1=-2, dim2=-1).zero_()  # a moment and itself, free of rounding
        distance = squared.clamp_min_(0.0).sqrt_()
        ctx.save_for_backward(u, v, coefficient, distance)
        return (coefficient * distance).sum()

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        u, v, coefficient, distance = ctx.saved_tensors
        slope = coefficient / distance.clamp_min(SMALLEST_DISTANCE)
        slope.masked_fill_(distance == 0, 0.0)
        slope.mul_(-outputs[0])
        return torch.bmm(slope, v), torch.bmm(slope.mT, u), None


def _distances(a: Tensor, b: Tensor) -> Tensor:
    """Return Euclidean distances (B, N, N) by way of one matrix product."""
    squared = a.square().sum(-1)[:, :, None] + b.square().sum(-1)[:, None, :]
    return torch.baddbmm(squared, a, b.mT, alpha=-2.0).clamp_min_(0.0).sqrt_()
