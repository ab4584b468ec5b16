"""The same on an accelerator: loss, gradient, training, embedding."""

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
    reason="no CUDA or Metal device here",
)
SETTINGS = load_settings(
    "quick", {"train.epochs": 5, "train.n_chunks": 24, "loss.alignment_weight": 0.1}
)


def recordings():
    rng = np.random.default_rng(0)
    times, known = np.arange(40) / 4, np.ones(40, bool)
    known[5:8] = False
    return [
        recording_tensors(
            {
                cue: FeatureTrack("r", cue, times, rng.normal(size=(40, d)).astype("f4"), known)
                for cue, d in (("appearance", 9), ("motion", 4))
            },
            SETTINGS,
        )
        for _ in range(2)
    ]


@pytest.mark.gpu
@accelerated
def test_loss_and_gradient_agree_with_the_cpu():
    device, found = pick_device("auto"), recordings()
    gradients = []
    for place in (torch.device("cpu"), device):
        encoder = build_encoder({"appearance": 9, "motion": 4}, SETTINGS).to(place)
        batch = gather([recording.to(place) for recording in found], [torch.arange(24)] * 2)
        batch_loss(encoder, batch, SETTINGS).backward()
        gradients.append(torch.cat([p.grad.cpu().ravel() for p in encoder.parameters()]))
    assert (gradients[0] - gradients[1]).norm() < 1e-3 * gradients[0].norm()


@pytest.mark.gpu
@accelerated
@pytest.mark.parametrize("kind", ["transformer", "lstm", "tcn"])
def test_training_and_embedding_run_there(kind):
    encoder = SETTINGS.encoder.model_copy(update={"kind": kind, "positions": "after-mlp"})
    settings = SETTINGS.model_copy(update={"encoder": encoder})
    found = recordings()
    data = TrainingData(found, settings.train.n_chunks)
    trained = train_encoder(data, settings, device=pick_device("auto"))
    track = embed_recording(trained.encoder, found[0], ["appearance"], name="r")
    assert np.isfinite(track.features).all()
    assert trained.losses[-1] < trained.losses[0]


def test_an_accelerator_that_is_not_there_is_refused():
    absent = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(ValueError, match=f"no device '{absent}'; it has: cpu"):
        pick_device(absent)


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="unknown device 'tpu'; known: auto, cpu, cuda, mps"):
        check_device("tpu")


def test_the_cpu_is_always_there():
    assert pick_device("cpu").type == "cpu"
