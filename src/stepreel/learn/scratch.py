"""Memory that is used again in every training step.

Every large block that is freed goes back to the system, and comes back page by page, zeroed: for a
matrix of all pairs of moments that costs more than the arithmetic on it.
"""

from __future__ import annotations

import torch
from torch import Tensor


class ScratchBuffers:
    """Named tensors that keep their place from step to step; their content is of no use."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def get(
        self, name: str, shape: torch.Size | tuple[int, ...], like: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """Return a tensor on the device of `like`, the same one as last time if it fits.

        Autograd notices when a tensor that it still needs is taken again, and says so.
        """
        held = self._held.get(name)
        fits = held is not None and held.shape == torch.Size(shape)
        if held is None or not fits or held.dtype != dtype or held.device != like.device:
            held = self._held[name] = torch.empty(shape, dtype=dtype, device=like.device)
        return held
