"""Embed every moment of a recording with a trained encoder; the result is just another track."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from stepreel.dataset import Lesson
from stepreel.encoder import Encoder
from stepreel.types import FeatureTrack, Mask


def embed_recording(
    encoder: Encoder, lesson: Lesson, cues: Sequence[str], *, recording: str
) -> FeatureTrack:
    """Return q̃ of `cues`, each normalised, side by side, and normalised again.

    Attention is over all moments at once; its T × T matrix is never held in memory.
    """
    parts = []
    device = next(encoder.parameters()).device
    with torch.inference_mode():
        for cue in cues:
            inputs, times = (
                lesson.inputs[cue][None].to(device),
                lesson.times[None].to(device).float(),
            )
            adapted = encoder.adapt(cue, inputs, times)[0].cpu()
            known = lesson.valid[cue][:, None]
            parts.append(functional.normalize(adapted, dim=-1) * known)
        embedding = functional.normalize(torch.cat(parts, dim=-1), dim=-1)
    valid: Mask = torch.stack([lesson.valid[cue] for cue in cues]).any(0).numpy()
    return FeatureTrack(recording, "embedding", lesson.times.numpy(), embedding.numpy(), valid)
