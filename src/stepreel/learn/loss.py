"""The BMC2 loss: a contrastive loss over all pairs of moments and cues, with its exact gradient.

Projected features have unit length and the margin is 2, so distances never exceed the margin and
the loss is affine in them: with coefficients A = W/γ − (1−W)γ it is A·d plus a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from stepreel.learn.scratch import ScratchBuffers
from stepreel.learn.windows import Pairs

MARGIN = 2.0
# Unit vectors closer than this cannot be distinguished at that precision; the slope 1/d is capped.
SMALLEST_DISTANCE = {torch.float32: 1e-3, torch.float64: 1e-7}


def time_weights(times: Tensor, lengths: Tensor, scratch: ScratchBuffers | None = None) -> Tensor:
    """Return γ(i,j) = ((t_i − t_j) / T)² + 1, (B, N, N), from times (B, N) and lengths T (B,).

    The paper's formula has no unit; dividing by the recording's length keeps γ in [1, 2].
    """
    relative = times / lengths[:, None]
    shape = (*times.shape, times.shape[-1])
    weights = (scratch or ScratchBuffers()).get("weights", shape, times, times.dtype)
    torch.sub(relative[:, :, None], relative[:, None, :], out=weights)
    return weights.square_().add_(1.0)


def bmc2_loss(
    projected: Sequence[Tensor],
    pairs: Pairs,
    weights: Tensor,
    *,
    cue_weights: Tensor,
    valid: Sequence[Tensor],
    counts: Tensor | None = None,
    scratch: ScratchBuffers | None = None,
) -> Tensor:
    """Return Σ_uv λ_uv · mean over pairs (i, j) of W·d/γ + (1−W)·γ·(ζ−d).

    projected    one (B, N, D) per cue, unit length
    pairs        (B, N, N) each: W̃ and its complement; need not be symmetric
    weights      (B, N, N), γ
    cue_weights  (M, M), λ
    valid        one (B, N) per cue; the mean of a term is over pairs valid in both of its cues
    counts       (M, M), the number of such pairs; counts of a larger batch give this part's share
    """
    scratch = scratch or ScratchBuffers()
    repel, slope, symmetric = (
        scratch.get(name, weights.shape, weights, weights.dtype)
        for name in ("repel", "slope", "symmetric")
    )
    torch.mul(weights, pairs.repel, out=repel)
    repelled = repel.sum()
    torch.div(pairs.attract, weights, out=slope).sub_(repel)  # A; no pair is in both
    for number in range(len(slope)):  # for terms with the same λ in both directions
        symmetric[number].copy_(slope[number].mT).add_(slope[number])
    all_valid = all(bool(mask.all()) for mask in valid)
    counts = count_pairs(valid) if counts is None else counts
    total = weights.new_zeros(())
    for u, v, forward, backward in _terms(cue_weights):
        # d(v_i, u_j) is d(u_j, v_i): both directions share one distance matrix.
        is_symmetric = forward == backward
        scale = forward if is_symmetric else 1.0
        coefficient = symmetric if is_symmetric else forward * slope + backward * slope.mT
        constant = (forward + backward) * repelled
        if not all_valid:
            both_valid = valid[u][:, :, None] & valid[v][:, None, :]
            coefficient = coefficient * both_valid
            constant = (
                forward * (repel * both_valid).sum() + backward * (repel.mT * both_valid).sum()
            )
        buffer = scratch.get(f"contrast {u} {v}", weights.shape, weights, weights.dtype)
        if u == v:
            contrast = _SelfContrast.apply(projected[u], coefficient, buffer)  # type: ignore[no-untyped-call]
        else:
            contrast = _CrossContrast.apply(projected[u], projected[v], coefficient, buffer)  # type: ignore[no-untyped-call]
        total = total + (scale * contrast + MARGIN * constant) / max(1.0, float(counts[u, v]))
    return total


def count_pairs(valid: Sequence[Tensor]) -> Tensor:
    """Count the pairs of moments (M, M) that are valid in both of two cues."""
    per_row = torch.stack([mask.sum(-1) for mask in valid]).double().cpu()  # (M, B)
    return per_row @ per_row.mT


def _terms(cue_weights: Tensor) -> Iterator[tuple[int, int, float, float]]:
    """Yield every unordered pair of cues with a non-zero weight, and its λ in both directions."""
    n_cues = len(cue_weights)
    for u in range(n_cues):
        for v in range(u, n_cues):
            forward, backward = float(cue_weights[u, v]), float(cue_weights[v, u])
            if u == v:
                forward, backward = forward / 2, forward / 2
            if forward != 0 or backward != 0:
                yield u, v, forward, backward


def cue_weight_matrix(chosen: str | Sequence[Sequence[float]], n_cues: int) -> Tensor:
    """Return λ (M, M), where the first cue is the main one.

    paper      all-pairs for up to two cues, main-cue for more
    all-pairs  every cue against every cue
    main-cue   every cue against itself, and the main one against all

    >>> cue_weight_matrix("paper", 3).tolist()
    [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if chosen == "all-pairs" or (chosen == "paper" and n_cues <= 2):
        return torch.ones(n_cues, n_cues)
    if isinstance(chosen, str):
        weights = torch.eye(n_cues)
        weights[0] = 1.0
        return weights
    weights = torch.tensor(chosen, dtype=torch.float32)
    if weights.shape != (n_cues, n_cues):
        raise ValueError(f"cue weights must be {n_cues} x {n_cues}, not {tuple(weights.shape)}")
    return weights


def _distances_(u: Tensor, v: Tensor, buffer: Tensor) -> Tensor:
    """Write ‖u_i − v_j‖ of unit vectors into `buffer` (B, N, N)."""
    for number in range(len(u)):  # one recording at a time fits into the CPU cache
        torch.mm(u[number], v[number].mT, out=buffer[number])
        buffer[number].mul_(-2.0).add_(2.0).clamp_min_(0.0).sqrt_()
    return buffer


def _slope_(coefficient: Tensor, distance: Tensor) -> Tensor:
    """Turn distances, in place, into A/d, capped where d is indistinguishable from 0."""
    distance.clamp_min_(SMALLEST_DISTANCE[distance.dtype])
    return torch.div(coefficient, distance, out=distance)


class _CrossContrast(torch.autograd.Function):
    """Σ A_ij ‖u_i − v_j‖ over unit vectors, with the gradient in closed form.

    The derivative of a distance is (u − v)/d. Its component along u is omitted, because the
    gradient of the preceding normalisation removes radial components anyway. Duplicates, whose
    difference has no direction, then only need a finite slope.
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, coefficient: Tensor, buffer: Tensor) -> Tensor:
        distance = _distances_(u, v, buffer)
        total = torch.dot(coefficient.reshape(-1), distance.view(-1))
        slope = _slope_(coefficient, distance)
        ctx.save_for_backward(u, v, slope)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        u, v, slope = ctx.saved_tensors
        to_u, to_v = torch.bmm(slope, v), torch.bmm(slope.mT, u)
        return to_u.mul_(-outputs[0]), to_v.mul_(-outputs[0]), None, None


class _SelfContrast(torch.autograd.Function):
    """The same for u = v and symmetric A: the distance of a moment to itself is exactly 0."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, coefficient: Tensor, buffer: Tensor) -> Tensor:
        distance = _distances_(u, u, buffer)
        diagonal = distance.diagonal(dim1=-2, dim2=-1)
        diagonal.zero_()  # remove rounding errors
        total = torch.dot(coefficient.reshape(-1), distance.view(-1))
        slope = _slope_(coefficient, distance)
        diagonal.zero_()
        ctx.save_for_backward(u, slope)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None]:
        u, slope = ctx.saved_tensors
        return torch.bmm(slope, u).mul_(-2.0 * outputs[0]), None, None
