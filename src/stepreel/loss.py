"""The BMC2 loss: windows, time weights, and the contrast between cues with its exact gradient.

Projected features have unit length and the margin is 2, so distances never exceed the margin and
the loss is affine in them: with coefficients A = W/γ − (1−W)γ it is A·d plus a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

MARGIN = 2.0
# Below this distance fp32 cannot tell two unit vectors apart; the slope 1/d is held there.
SMALLEST_DISTANCE = 1e-3
SYMMETRIC_BLOCKS = 4
ROUNDING_SECONDS = 1e-3  # three hours in single precision

Bootstrap = Literal["none", "sampled", "negatives", "union"]


@dataclass(frozen=True)
class Pairs:
    """Which moments (B, N, N) a moment is drawn to, and which it is pushed from."""

    attract: Tensor
    repel: Tensor


def time_weights(times: Tensor, lengths: Tensor) -> Tensor:
    """Return γ(i,j) = ((t_i − t_j) / T)² + 1, (B, N, N), from times (B, N) and lengths T (B,).

    The paper's formula has no unit; dividing by the recording's length keeps γ in [1, 2].
    """
    relative = times / lengths[:, None]
    return (relative[:, :, None] - relative[:, None, :]).square() + 1.0


def near_window(times: Tensor, window_seconds: float | Tensor) -> Tensor:
    """Return W, (B, N, N): true where two moments lie at most σ apart, but for rounding."""
    return (times[:, :, None] - times[:, None, :]).abs() <= window_seconds + ROUNDING_SECONDS


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
    distances = _distances(raw)
    others = near & ~torch.eye(near.shape[-1], dtype=torch.bool, device=near.device)
    if valid is not None:
        others = others & valid[:, None, :]
    count = others.sum(-1)
    threshold = (distances * others).sum(-1) / count.clamp_min(1)  # δ; 0 with no other moment
    alike = distances <= threshold[:, :, None]
    if valid is not None:
        alike = alike & valid[:, None, :] & valid[:, :, None]
    return alike


def choose_pairs(near: Tensor, alike: Tensor | None, bootstrap: Bootstrap) -> Pairs:
    """Say which pairs attract and which repel each other.

    none       near ones attract, all others repel (MC2)
    sampled    alike ones attract, all others repel: the σ-window only sets the threshold
    negatives  near ones attract; of the others those that are alike do neither
    union      near ones and alike ones attract, all others repel (BMC2)
    """
    if bootstrap == "none":
        return Pairs(near, ~near)
    assert alike is not None
    if bootstrap == "sampled":
        return Pairs(alike, ~alike)
    union = near | alike
    return Pairs(near if bootstrap == "negatives" else union, ~union)


def bmc2_loss(
    projected: Sequence[Tensor],
    pairs: Pairs,
    weights: Tensor,
    *,
    cue_weights: Tensor,
    valid: Sequence[Tensor],
) -> Tensor:
    """Return Σ_uv λ_uv · mean over pairs (i, j) of W·d/γ + (1−W)·γ·(ζ−d).

    projected    one (B, N, D) per cue, unit length
    pairs        (B, N, N) each, W̃ and its complement; need not be symmetric
    weights      (B, N, N), γ
    cue_weights  (M, M), λ
    valid        one (B, N) per cue; a term's mean is over pairs valid in both its cues
    """
    repel = weights * pairs.repel
    slope = torch.where(pairs.attract, weights.reciprocal(), -repel)  # (B, N, N), A
    repelled = repel.sum()
    both_ways = slope + slope.mT  # what every term with the same λ in either direction needs
    all_valid = all(bool(known.all()) for known in valid)
    total = weights.new_zeros(())
    for u, v, forth, back in _terms(cue_weights):
        # d(v_i, u_j) is d(u_j, v_i): both directions share one distance matrix.
        scale = forth if forth == back else 1.0
        coefficient = both_ways if forth == back else forth * slope + back * slope.mT
        constant, n_pairs = (forth + back) * repelled, repelled.new_tensor(slope.numel())
        if not all_valid:
            both_valid = valid[u][:, :, None] & valid[v][:, None, :]
            coefficient = coefficient * both_valid
            constant = forth * (repel * both_valid).sum() + back * (repel.mT * both_valid).sum()
            n_pairs = both_valid.sum().clamp_min(1).to(weights.dtype)
        contrast = scale * _affine_contrast(projected[u], projected[v], coefficient)
        total = total + (contrast + MARGIN * constant) / n_pairs
    return total


def _terms(cue_weights: Tensor) -> Iterator[tuple[int, int, float, float]]:
    """Yield every unordered pair of cues that counts, with its λ in either direction."""
    n_cues = len(cue_weights)
    for u in range(n_cues):
        for v in range(u, n_cues):
            forth, back = float(cue_weights[u, v]), float(cue_weights[v, u])
            if u == v:
                forth, back = forth / 2, forth / 2
            if forth != 0 or back != 0:
                yield u, v, forth, back


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


def _affine_contrast(u: Tensor, v: Tensor, coefficient: Tensor) -> Tensor:
    total: Tensor = _AffineContrast.apply(u, v, coefficient)  # type: ignore[no-untyped-call]
    return total


class _AffineContrast(torch.autograd.Function):
    """Σ A_ij ‖u_i − v_j‖ over unit vectors, with the gradient in closed form.

    The derivative of a distance is (u − v)/d; its part along u is left out, because the
    normalisation in front of this function removes whatever is radial. So duplicates, whose
    difference has no direction, need no care beyond a finite slope.
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, coefficient: Tensor) -> Tensor:
        distance = torch.baddbmm(u.new_tensor(2.0), u, v.mT, beta=1.0, alpha=-2.0)
        distance.clamp_min_(0.0).sqrt_()
        ctx.same = u is v or u.data_ptr() == v.data_ptr()
        if ctx.same:
            distance.diagonal(dim1=-2, dim2=-1).zero_()  # a moment and itself, free of rounding
        total = torch.dot(coefficient.reshape(-1), distance.view(-1))
        slope = torch.div(coefficient, distance.clamp_min_(SMALLEST_DISTANCE), out=distance)
        if ctx.same:
            slope.diagonal(dim1=-2, dim2=-1).zero_()
        ctx.save_for_backward(u, v, slope)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        u, v, slope = ctx.saved_tensors
        return (
            torch.bmm(slope, v).mul_(-outputs[0]),
            torch.bmm(slope.mT, u).mul_(-outputs[0]),
            None,
        )


def _distances(rows: Tensor) -> Tensor:
    """Return Euclidean distances (B, N, N) between all rows; one half mirrors the other."""
    n_batch, n, _ = rows.shape
    squared = rows.new_empty(n_batch, n, n)
    block = max(1, -(-n // SYMMETRIC_BLOCKS))
    for start in range(0, n, block):
        stop = min(start + block, n)
        product = torch.bmm(rows[:, start:stop], rows[:, start:].mT)
        squared[:, start:stop, start:] = product
        squared[:, stop:, start:stop] = product[:, :, stop - start :].mT
    lengths = squared.diagonal(dim1=-2, dim2=-1).clone()
    squared.mul_(-2.0).add_(lengths[:, :, None]).add_(lengths[:, None, :])
    return squared.clamp_min_(0.0).sqrt_()
