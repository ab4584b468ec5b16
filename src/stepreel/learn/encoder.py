"""The temporal encoder of each cue's features: a transformer, or the paper's alternatives."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from stepreel.config import EncoderSettings

POSITIONS_PER_SECOND = 12.0
ENCODE_ROWS = 2048
TCN_BLOCKS = 9  # the last one reaches 256 moments in each direction


def positional_encoding(times: Tensor, width: int) -> Tensor:
    """Return the sinusoidal encoding (..., width) of times in seconds; `width` may be odd.

    Position is 12 × seconds at any frame rate, because the paper's code counts frames at 12 fps.
    """
    pairs = (width + 1) // 2
    exponents = torch.arange(pairs, dtype=torch.float64) * (2.0 / width)
    angles = times.to(torch.float64)[..., None] * POSITIONS_PER_SECOND * 10000.0**-exponents
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return waves[..., :width].float()


def encoder_inputs_(features: Tensor, times: Tensor, shape: EncoderSettings) -> Tensor:
    """Turn `features`, in place, into the encoder's input: x·√width + time encoding.

    The encoding is added to the raw features: added after a learned layer, training collapses
    (paper).
    """
    features.mul_(math.sqrt(shape.width))
    if shape.positions != "raw":
        return features
    for start in range(0, len(times), ENCODE_ROWS):  # float64 blocks, to save memory
        block = slice(start, start + ENCODE_ROWS)
        features[block] += positional_encoding(times[block], features.shape[-1])
    return features


class Layer(nn.Module):
    """One post-norm transformer layer: attention, then a ReLU feed-forward; no dropout, no mask."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.attend = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.widen = nn.Linear(width, width)
        self.narrow = nn.Linear(width, width)
        self.norm_attention = nn.LayerNorm(width)
        self.norm_feed = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, N, width) to the same shape."""
        batch, n, width = x.shape
        heads = self.attend(x).view(batch, n, 3, self.n_heads, width // self.n_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (B, heads, N, width / heads)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = self.norm_attention(x + self.merge(mixed.transpose(1, 2).reshape(batch, n, width)))
        out: Tensor = self.norm_feed(x + self.narrow(functional.relu(self.widen(x))))
        return out


class Transformer(nn.Module):
    """The paper's encoder: a small vanilla transformer without causal mask."""

    def __init__(self, width: int, *, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[Layer(width, n_heads) for _ in range(n_layers)])

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, N, width) to the same shape."""
        out: Tensor = self.layers(x)
        return out


class Lstm(nn.Module):
    """A bidirectional LSTM with half of the width for each direction."""

    def __init__(self, width: int, *, n_layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(
            width, width // 2, num_layers=n_layers, batch_first=True, bidirectional=True
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, N, width) to the same shape."""
        out: Tensor = self.lstm(x)[0]
        return out


class Tcn(nn.Module):
    """Residual dilated convolutions over time; each block doubles the dilation."""

    def __init__(self, width: int, *, n_blocks: int = TCN_BLOCKS) -> None:
        super().__init__()
        self.dilated = nn.ModuleList(
            nn.Conv1d(width, width, 3, padding=2**n, dilation=2**n) for n in range(n_blocks)
        )
        self.mix = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(n_blocks))

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, N, width) to the same shape."""
        x = x.mT  # (B, width, N)
        for dilated, mix in zip(self.dilated, self.mix, strict=True):
            x = x + mix(functional.relu(dilated(x)))
        return x.mT


def _temporal(shape: EncoderSettings) -> nn.Module:
    match shape.kind:
        case "transformer":
            return Transformer(shape.width, n_layers=shape.n_layers, n_heads=shape.n_heads)
        case "lstm":
            return Lstm(shape.width, n_layers=shape.n_layers)
        case "tcn":
            return Tcn(shape.width)


class CueEncoder(nn.Module):
    """Features of one cue → adapted q̃ → projected q."""

    def __init__(self, cue_width: int, shape: EncoderSettings) -> None:
        super().__init__()
        width = shape.width
        self.positions = shape.positions
        self.enter = nn.Linear(cue_width, width)
        if shape.positions == "after-mlp":
            self.mlp = nn.Sequential(nn.ReLU(), nn.Linear(width, width))
        self.temporal = _temporal(shape)
        self.project = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def adapt(self, inputs: Tensor, times: Tensor) -> Tensor:
        """Return q̃ (B, N, width), which is clustered.

        inputs  (B, N, cue_width), from `encoder_inputs_`
        times   (B, N) seconds; used only if `positions` is "after-mlp"
        """
        x = self.enter(inputs)
        if self.positions == "after-mlp":
            x = self.mlp(x) + positional_encoding(times.cpu(), x.shape[-1]).to(x)
        adapted: Tensor = self.temporal(x)
        return adapted

    def forward(self, inputs: Tensor, times: Tensor) -> Tensor:
        """Return q (B, N, width), of unit length, which the loss compares."""
        return functional.normalize(self.project(self.adapt(inputs, times)), dim=-1)


class Encoder(nn.Module):
    """One `CueEncoder` per cue; the first cue is the main one."""

    def __init__(self, cue_widths: Mapping[str, int], shape: EncoderSettings, *, seed: int) -> None:
        super().__init__()
        self.cue_widths = dict(cue_widths)
        with torch.random.fork_rng(devices=[]):  # keep the global random state unchanged
            torch.manual_seed(seed)
            # A list, because not every name of a cue is valid as the name of a module.
            self.cues = nn.ModuleList(CueEncoder(d, shape) for d in cue_widths.values())

    def project(self, inputs: Mapping[str, Tensor], times: Tensor) -> list[Tensor]:
        """Return q of every cue, in the order of `cue_widths`."""
        pairs = zip(self.cue_widths, self.cues, strict=True)
        return [encoder(inputs[cue], times) for cue, encoder in pairs]

    def adapt(self, cue: str, inputs: Tensor, times: Tensor) -> Tensor:
        """Return q̃ of one cue."""
        return self.of(cue).adapt(inputs, times)

    def of(self, cue: str) -> CueEncoder:
        """Return the encoder of one cue."""
        encoder = self.cues[list(self.cue_widths).index(cue)]
        assert isinstance(encoder, CueEncoder)
        return encoder
