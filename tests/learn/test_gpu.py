"""Loss, gradient, training and embedding on an accelerator."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stepreel.config import load_settings
from stepreel.learn.gradients import batch_loss
from stepreel.learn.inference import embed_recording
from stepreel.learn.training import build_encoder, train_encoder
from stepreel.learn.training_data import TrainingData, gather, recording_tensors
from stepreel.system.machine import check_device, pick_device
from stepreel.types import FeatureTrack

accelerated = pytest.mark.skipif(
    not (torch.cuda.is_available() or torch.backends.mps.is_available()),
    reason="needs a CUDA or Metal device",
)
SETTINGS = load_settings(
    "quick", {"train.epochs": 5, "train.n_chunks": 24, "loss.alignment_weight": 0.1}
)


def recordings():
    rng = np.random.default_rng(0)
    times, valid = np.arange(40) / 4, np.ones(40, bool)
    valid[5:8] = False
    return [
        recording_tensors(
            {
                cue: FeatureTrack("r", cue, times, rng.normal(size=(40, d)).astype("f4"), valid)
                for cue, d in (("appearance", 9), ("motion", 4))
            },
            SETTINGS,
        )
        for _ in range(2)
    ]


@pytest.mark.gpu
@accelerated
def test_loss_and_gradient_agree_with_the_cpu():
    accelerator, prepared = pick_device("auto"), recordings()
    gradients = []
    for device in (torch.device("cpu"), accelerator):
        encoder = build_encoder({"appearance": 9, "motion": 4}, SETTINGS).to(device)
        batch = gather([recording.to(device) for recording in prepared], [torch.arange(24)] * 2)
        batch_loss(encoder, batch, SETTINGS).backward()
        gradients.append(torch.cat([p.grad.cpu().ravel() for p in encoder.parameters()]))
    assert (gradients[0] - gradients[1]).norm() < 1e-3 * gradients[0].norm()


@pytest.mark.gpu
@accelerated
@pytest.mark.parametrize("kind", ["transformer", "lstm", "tcn"])
def test_training_and_embedding_run_on_an_accelerator(kind):
    encoder = SETTINGS.encoder.model_copy(update={"kind": kind, "positions": "after-mlp"})
    settings = SETTINGS.model_copy(update={"encoder": encoder})
    prepared = recordings()
    data = TrainingData(prepared, settings.train.n_chunks)
    trained = train_encoder(data, settings, device=pick_device("auto"))
    track = embed_recording(trained.encoder, prepared[0], ["appearance"], name="r")
    assert np.isfinite(track.features).all()
    assert trained.losses[-1] < trained.losses[0]


def test_a_missing_accelerator_is_rejected():
    absent = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(ValueError, match=f"no device '{absent}'; it has: cpu"):
        pick_device(absent)


def test_an_unknown_device_is_rejected():
    with pytest.raises(ValueError, match="unknown device 'tpu'; known: auto, cpu, cuda, mps"):
        check_device("tpu")


def test_the_cpu_is_always_available():
    assert pick_device("cpu").type == "cpu"
