"""Buffers that are reused in every training step.

Large blocks of memory go back to the operating system when freed, and a new one is zeroed page by
page. For a matrix of all pairs of moments that takes longer than the arithmetic on it.
"""

from __future__ import annotations

import torch
from torch import Tensor


class ScratchBuffers:
    """Named, uninitialised tensors that are kept from step to step."""

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}

    def get(
        self, name: str, shape: torch.Size | tuple[int, ...], like: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """Return a tensor on the device of `like`; the previous one of this name if it fits.

        Autograd raises an error if a tensor that it still needs is overwritten.
        """
        buffer = self._buffers.get(name)
        fits = buffer is not None and buffer.shape == torch.Size(shape)
        if buffer is None or not fits or buffer.dtype != dtype or buffer.device != like.device:
            buffer = self._buffers[name] = torch.empty(shape, dtype=dtype, device=like.device)
        return buffer
