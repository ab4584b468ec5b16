"""Train the encoder on recordings of one task, without labels.

The samples of a step depend only on the seed and the epoch, so an interrupted training that resumes
from its last checkpoint gives exactly the same result.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from stepreel.config import Settings
from stepreel.errors import SettingsError, StepreelError
from stepreel.learn.encoder import Encoder
from stepreel.learn.gradients import GradientPool, gradient_pool
from stepreel.learn.model import TrainedWeights, is_finished
from stepreel.learn.sampling import draw_batches, learning_rate, sample_chunks
from stepreel.learn.training_data import TrainingData
from stepreel.system.failpoints import failpoint
from stepreel.system.machine import check_memory
from stepreel.system.store import Entry
from stepreel.types import AtMost, Progress, no_progress

# Settled: the mean loss of the last 15 epochs is less than 2 % below that of the 15 before.
SETTLE_EPOCHS = 15
SETTLE_SHARE = 0.02
SMALL_LOSS = 0.25  # decreases are compared with at least this share of the first loss

OnCheckpoint = Callable[[Sequence[float], Sequence[float]], None]


@dataclass
class Trained:
    """An encoder with the loss and duration of every epoch of its training."""

    encoder: Encoder
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def weights(self) -> TrainedWeights:
        """Return the weights as NumPy arrays."""
        state = self.encoder.state_dict()
        weights = {name: tensor.cpu().numpy() for name, tensor in state.items()}
        return TrainedWeights(weights, list(self.losses), list(self.seconds))


def build_encoder(cue_widths: dict[str, int], settings: Settings) -> Encoder:
    """Create an untrained encoder."""
    return Encoder(cue_widths, settings.encoder, seed=settings.train.seed)


def check_training_memory(cue_widths: dict[str, int], settings: Settings, n_chunks: int) -> None:
    """Raise SettingsError if training needs more memory than is free, before any is taken.

    Counted are weights, gradients and Adam's two moments, for every pair of cues one number for
    every pair of chunks, and the features of a batch; a training needs a little more.
    """
    with torch.device("meta"):  # shapes without memory
        parts = build_encoder(cue_widths, settings).parameters()
        n_weights = sum(part.numel() for part in parts)
    n_numbers = 4 * n_weights + n_chunks**2 * len(cue_widths) ** 2
    n_numbers += settings.train.batch_size * n_chunks * sum(cue_widths.values())
    try:
        check_memory(4 * n_numbers)
    except OSError as problem:
        raise SettingsError(
            f"the training is too large: {problem.strerror}; choose a smaller encoder.width, "
            "encoder.n_layers, train.n_chunks or train.batch_size"
        ) from None


def train_encoder(
    data: TrainingData,
    settings: Settings,
    *,
    entry: Entry | None = None,
    device: torch.device | None = None,
    progress: Progress = no_progress,
    on_checkpoint: OnCheckpoint | None = None,
) -> Trained:
    """Train an encoder on `data`, reusing or resuming the checkpoint in `entry`, if any.

    on_checkpoint  called with the losses and durations of all epochs after each checkpoint
    """
    cue_widths = {cue: int(x.shape[-1]) for cue, x in data.recordings[0].inputs.items()}
    check_training_memory(cue_widths, settings, data.n_chunks)
    device = device or torch.device("cpu")
    data = replace(data, recordings=[tensors.to(device) for tensors in data.recordings])
    trained = Trained(build_encoder(cue_widths, settings).to(device))
    optimiser = torch.optim.Adam(trained.encoder.parameters(), lr=settings.train.learning_rate)
    if entry is not None and _load(entry, trained, optimiser):
        return trained
    saved_at, interval = time.monotonic(), settings.train.checkpoint_seconds
    epochs = settings.train.epochs
    stops_early = settings.train.stop_when_settled and epochs > 2 * SETTLE_EPOCHS
    total = AtMost(epochs) if stops_early else epochs
    progress("learning", len(trained.losses), total)
    with gradient_pool(device, settings.train.batch_size) as gradients:
        while len(trained.losses) < epochs and not (
            settings.train.stop_when_settled and has_settled(trained.losses)
        ):
            began = time.monotonic()
            trained.losses.append(_train_epoch(data, trained, optimiser, settings, gradients))
            trained.seconds.append(time.monotonic() - began)
            progress("learning", len(trained.losses), total)
            if entry is not None and time.monotonic() - saved_at > interval:
                _save(entry, trained, optimiser, "under way")
                if on_checkpoint is not None:
                    on_checkpoint(trained.losses, trained.seconds)
                saved_at = time.monotonic()
    if entry is not None:
        _save(entry, trained, optimiser, "finished")
    progress("learning", len(trained.losses), len(trained.losses))
    return trained


def has_settled(losses: Sequence[float]) -> bool:
    """Return whether the loss has stopped falling.

    >>> has_settled([1.0] * 30), has_settled([1.0 - 0.01 * n for n in range(30)])
    (True, False)
    """
    if len(losses) < 2 * SETTLE_EPOCHS:
        return False
    earlier = float(np.mean(losses[-2 * SETTLE_EPOCHS : -SETTLE_EPOCHS]))
    recent = float(np.mean(losses[-SETTLE_EPOCHS:]))
    size = max(abs(earlier), SMALL_LOSS * abs(losses[0]))
    return earlier - recent <= SETTLE_SHARE * size


def _train_epoch(
    data: TrainingData,
    trained: Trained,
    optimiser: torch.optim.Adam,
    settings: Settings,
    gradients: GradientPool,
) -> float:
    """Run one epoch and return its mean loss."""
    epoch = len(trained.losses)
    for group in optimiser.param_groups:
        group["lr"] = learning_rate(epoch, settings.train)
    rng = np.random.default_rng([settings.train.seed, epoch])
    extent = settings.train.temporal_extent
    losses: list[float] = []
    for drawn in draw_batches(len(data.recordings), settings.train.batch_size, rng):
        chosen = [data.recordings[number] for number in drawn]
        picks = [
            torch.from_numpy(sample_chunks(len(tensors), data.n_chunks, rng, extent=extent))
            for tensors in chosen
        ]
        loss = gradients.fill_gradients(
            trained.encoder, chosen, picks, settings, drawn=drawn.tolist()
        )
        if not math.isfinite(loss):
            raise _divergence(epoch, f"the loss is {loss}", at_start=not trained.losses + losses)
        if epoch > 0:
            failpoint("mid-epoch")
        optimiser.step()
        losses.append(loss)
    if not all(bool(torch.isfinite(weights).all()) for weights in trained.encoder.parameters()):
        raise _divergence(epoch, "the weights are not finite", at_start=False)
    return float(np.mean(losses))


def _divergence(epoch: int, reason: str, *, at_start: bool) -> StepreelError:
    advice = "try a smaller train.learning_rate"
    if at_start:  # before the first update, only the features can be the cause
        advice = "the features may be too large; try train.standardise=recording"
    return StepreelError(f"training diverged in epoch {epoch + 1}: {reason}; {advice}")


def _save(entry: Entry, trained: Trained, optimiser: torch.optim.Adam, state: str) -> None:
    """Save weights, optimiser state and losses atomically in one file."""
    arrays = {f"encoder.{k}": v.cpu().numpy() for k, v in trained.encoder.state_dict().items()}
    for number, moments in optimiser.state_dict()["state"].items():
        arrays |= {f"adam.{number}.{k}": v.cpu().numpy() for k, v in moments.items()}
    arrays["losses"] = np.array(trained.losses)
    arrays["seconds"] = np.array(trained.seconds)
    arrays["state"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    entry.write(arrays)


def _load(entry: Entry, trained: Trained, optimiser: torch.optim.Adam) -> bool:
    """Load the checkpoint, if there is one; return whether it is that of a finished training."""
    arrays = entry.load()
    if arrays is None:
        return False
    weights = {k: torch.from_numpy(arrays[f"encoder.{k}"]) for k in trained.encoder.state_dict()}
    trained.encoder.load_state_dict(weights)
    trained.losses.extend(float(loss) for loss in arrays["losses"])
    trained.seconds.extend(float(seconds) for seconds in arrays["seconds"])
    moments: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        if name.startswith("adam."):
            _, number, kind = name.split(".")
            moments.setdefault(int(number), {})[kind] = torch.from_numpy(np.array(array))
    stored = optimiser.state_dict()
    optimiser.load_state_dict({"state": moments, "param_groups": stored["param_groups"]})
    return is_finished(arrays)
