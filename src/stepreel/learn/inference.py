"""Embed every moment of a recording with a trained encoder; the embedding is a feature track."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch.nn import functional

from stepreel.config import LossSettings, pick_cues
from stepreel.errors import ModelError, StepreelError
from stepreel.learn.encoder import Encoder
from stepreel.learn.model import TaskModel, check_has_encoder
from stepreel.learn.training_data import RecordingTensors, recording_tensors
from stepreel.system.machine import Device, pick_device
from stepreel.types import FeatureTrack, Mask, Recording

MPS_MOMENTS = 8192  # Metal may allocate the T × T attention matrix; use the CPU beyond this


def embed_recording(
    encoder: Encoder, tensors: RecordingTensors, cues: Sequence[str], *, name: str
) -> FeatureTrack:
    """Return q̃ of `cues`, each normalised, then concatenated and normalised again.

    Attention is over all moments at once; its T × T matrix is never materialised.
    """
    parts = []
    device = next(encoder.parameters()).device
    if device.type == "mps" and len(tensors) > MPS_MOMENTS:
        encoder, device = copy.deepcopy(encoder).cpu(), torch.device("cpu")
    with torch.inference_mode():
        for cue in cues:
            inputs = tensors.inputs[cue][None].to(device)
            times = tensors.times[None].float().to(device)  # Metal has no float64
            adapted = encoder.adapt(cue, inputs, times)[0].cpu()
            valid_rows = tensors.valid[cue][:, None]
            parts.append(functional.normalize(adapted, dim=-1) * valid_rows)
        embedding = functional.normalize(torch.cat(parts, dim=-1), dim=-1)
    if not bool(torch.isfinite(embedding).all()):
        raise StepreelError(
            f"{name}: cannot be embedded: training diverged; try a smaller train.learning_rate"
        )
    valid: Mask = torch.stack([tensors.valid[cue] for cue in cues]).any(0).numpy()
    return FeatureTrack(name, "embedding", tensors.times.numpy(), embedding.numpy(), valid)


def load_encoder(model: TaskModel) -> Encoder:
    """Build the encoder of a trained model."""
    check_has_encoder(model)
    settings, cues = model.settings, model.card.cues
    widths = {cue: card.width for cue, card in cues.items()}
    build = partial(Encoder, widths, settings.encoder, seed=settings.train.seed)
    with torch.device("meta"):  # shapes without memory: settings can state any size
        expected = {name: tuple(part.shape) for name, part in build().state_dict().items()}
    found = {name: weights.shape for name, weights in model.weights.items()}
    if expected != found:
        name = next(name for name in {**expected, **found} if expected.get(name) != found.get(name))
        raise ModelError(
            f"the model's weights do not fit its settings: {name} has the shape "
            f"{found.get(name, 'of nothing')}; expected {expected.get(name, 'no such weights')}; "
            "copy the model again, or make a new one"
        )
    encoder = build()
    encoder.load_state_dict({k: torch.from_numpy(w) for k, w in model.weights.items()})
    return encoder.eval()


def embed_with_model(
    model: TaskModel,
    recordings: Sequence[Recording],
    *,
    cues: Sequence[str] | None = None,
    device: Device = "auto",
) -> Iterator[FeatureTrack]:
    """Embed recordings with a trained model; they must pass `check_fits`."""
    settings = model.settings
    chosen = pick_cues(
        tuple(cues) if cues is not None else settings.embed.cues,
        list(model.card.cues),
        setting="embed.cues",
    )
    encoder = load_encoder(model).to(pick_device(device))
    without_loss = settings.model_copy(update={"loss": LossSettings(bootstrap="none")})
    return (
        embed_recording(
            encoder,
            recording_tensors(recording.tracks, without_loss),
            chosen,
            name=recording.name,
        )
        for recording in recordings
    )
