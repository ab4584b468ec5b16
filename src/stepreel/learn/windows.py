"""Windows: which pairs of moments attract or repel each other, by time and by similarity."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from stepreel.config import Bootstrap
from stepreel.learn.scratch import ScratchBuffers

SYMMETRIC_BLOCKS = 8


@dataclass(frozen=True)
class Pairs:
    """Masks (B, N, N) of the pairs that attract and of those that repel each other."""

    attract: Tensor
    repel: Tensor


def near_window(
    times: Tensor, window_seconds: float | Tensor, scratch: ScratchBuffers | None = None
) -> Tensor:
    """Return W (B, N, N): true where two moments are at most σ apart."""
    shape = (*times.shape, times.shape[-1])
    gaps = (scratch or ScratchBuffers()).get("pairs", shape, times, times.dtype)
    torch.sub(times[:, :, None], times[:, None, :], out=gaps)
    return gaps.abs_() <= window_seconds


def standardise_over_channels_(raw: Tensor) -> None:
    """Standardise every moment's raw features over channels, in place.

    A single channel, or features with a standard deviation near 0, are left unchanged.
    """
    if raw.shape[-1] < 2:
        return
    deviation, mean = torch.std_mean(raw, dim=-1, keepdim=True)
    varies = deviation >= 1e-6
    raw.sub_(mean.mul_(varies)).div_(deviation.masked_fill_(~varies, 1.0))


def raw_distances(raw: Tensor, out: Tensor | None = None) -> Tensor:
    """Return D (N, N), the Euclidean distances between all rows of `raw` (N, D).

    Only one triangle is computed; the other is a copy.
    """
    n = len(raw)
    squared = out if out is not None else raw.new_empty(n, n)
    block = max(1, -(-n // SYMMETRIC_BLOCKS))
    for start in range(0, n, block):
        stop = min(start + block, n)
        torch.mm(raw[start:stop], raw[start:].mT, out=squared[start:stop, start:])
        squared[stop:, start:stop] = squared[start:stop, stop:].mT
    lengths = squared.diagonal().clone()
    squared.mul_(-2.0).add_(lengths[:, None]).add_(lengths[None, :])
    return squared.clamp_min_(0.0).sqrt_()


def similar_window(
    distances: Tensor,
    near: Tensor,
    valid: Tensor | None = None,
    scratch: ScratchBuffers | None = None,
) -> Tensor:
    """Return W' (B, N, N): true where moment j is at least as close to i as i's near moments are.

    "Close" means the distance of raw features; the threshold δ is its mean over near moments.

    distances  (B, N, N) between raw features standardised over channels
    near       (B, N, N), the σ-window
    valid      (B, N); an invalid moment is similar to none
    """
    others = near & ~torch.eye(near.shape[-1], dtype=torch.bool, device=near.device)
    if valid is not None:
        others &= valid[:, None, :]
    summed = (scratch or ScratchBuffers()).get("pairs", near.shape, distances, distances.dtype)
    torch.mul(distances, others, out=summed)
    threshold = summed.sum(-1) / others.sum(-1).clamp_min(1)  # δ; 0 if there is no other moment
    similar = distances <= threshold[:, :, None]
    if valid is not None:
        similar &= valid[:, None, :] & valid[:, :, None]
    return similar


def choose_pairs(
    near: Tensor, similar: Tensor | None, bootstrap: Bootstrap, valid: Tensor | None = None
) -> Pairs:
    """Choose the pairs that attract and those that repel each other.

    none       near pairs attract, all others repel (MC2)
    sampled    similar pairs attract, all others repel: the σ-window only sets the threshold
    negatives  near pairs attract; of the others, similar pairs are ignored
    union      near and similar pairs attract, all others repel (BMC2)

    valid      (B, N), where raw features are valid; elsewhere only the σ-window is used
    """
    if bootstrap == "none":
        return Pairs(near, ~near)
    assert similar is not None
    if bootstrap == "sampled":
        if valid is not None:
            similar = torch.where(valid[:, None, :] & valid[:, :, None], similar, near)
        return Pairs(similar, ~similar)
    union = near | similar
    return Pairs(near if bootstrap == "negatives" else union, ~union)
