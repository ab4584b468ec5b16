"""Learn the encoder from the user's own recordings, label-free, in one readable loop.

What a step draws depends on the seed and the epoch alone, so a run that was killed goes on from its
last checkpoint exactly as if it had not been.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from stepreel.config import Settings
from stepreel.dataset import Batch, Lesson, gather
from stepreel.encoder import Encoder
from stepreel.errors import StepreelError
from stepreel.failpoints import failpoint
from stepreel.loss import alike_window, bmc2_loss, near_window, time_weights
from stepreel.sampling import draw_batches, sample_chunks
from stepreel.store import Entry
from stepreel.types import Progress, no_progress

# Settled: the mean loss of the last 15 epochs is less than 2 % below that of the 15 before.
SETTLE_EPOCHS = 15
SETTLE_SHARE = 0.02
SMALL_LOSS = 0.25  # of the first one: what is left below that is little, however it falls

log = logging.getLogger(__name__)


@dataclass
class Trained:
    """An encoder and how its training went."""

    encoder: Encoder
    losses: list[float] = field(default_factory=list)


def build_encoder(cue_widths: dict[str, int], settings: Settings) -> Encoder:
    """Make an untrained encoder."""
    shape = settings.encoder
    return Encoder(
        cue_widths,
        width=shape.width,
        n_layers=shape.n_layers,
        n_heads=shape.n_heads,
        seed=settings.train.seed,
    )


def train_encoder(
    lessons: Sequence[Lesson],
    settings: Settings,
    *,
    entry: Entry | None = None,
    progress: Progress = no_progress,
) -> Trained:
    """Train an encoder on `lessons`; with an `entry`, re-use or resume what is stored there."""
    cue_widths = {cue: int(x.shape[-1]) for cue, x in lessons[0].inputs.items()}
    trained = Trained(build_encoder(cue_widths, settings))
    optimiser = torch.optim.Adam(trained.encoder.parameters(), lr=settings.train.learning_rate)
    if entry is not None and _load(entry, trained, optimiser) == "finished":
        return trained
    saved_at, pause = time.monotonic(), settings.train.checkpoint_seconds
    epochs = settings.train.epochs
    while len(trained.losses) < epochs and not (
        settings.train.stop_when_settled and has_settled(trained.losses)
    ):
        trained.losses.append(_train_epoch(lessons, trained, optimiser, settings))
        progress("learning", len(trained.losses), epochs)
        if entry is not None and time.monotonic() - saved_at > pause:
            _save(entry, trained, optimiser, "under way")
            saved_at = time.monotonic()
    if entry is not None:
        _save(entry, trained, optimiser, "finished")
    progress("learning", epochs, epochs)
    return trained


def has_settled(losses: Sequence[float]) -> bool:
    """Tell whether the loss has stopped falling.

    >>> has_settled([1.0] * 30), has_settled([1.0 - 0.01 * n for n in range(30)])
    (True, False)
    """
    if len(losses) < 2 * SETTLE_EPOCHS:
        return False
    earlier = float(np.mean(losses[-2 * SETTLE_EPOCHS : -SETTLE_EPOCHS]))
    recent = float(np.mean(losses[-SETTLE_EPOCHS:]))
    size = max(abs(earlier), SMALL_LOSS * abs(losses[0]))
    return earlier - recent <= SETTLE_SHARE * size


def default_pair_weights(n_cues: int) -> Tensor:
    """Return the paper's λ: all ones for two cues; for more, own and main-cue terms only.

    >>> default_pair_weights(3).tolist()
    [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if n_cues <= 2:
        return torch.ones(n_cues, n_cues)
    weights = torch.eye(n_cues)
    weights[0] = 1.0
    return weights


def _train_epoch(
    lessons: Sequence[Lesson], trained: Trained, optimiser: torch.optim.Adam, settings: Settings
) -> float:
    """Take one epoch's steps and return their mean loss."""
    epoch = len(trained.losses)
    rng = np.random.default_rng([settings.train.seed, epoch])
    n_chunks = min(settings.train.n_chunks, max(len(lesson) for lesson in lessons))
    losses = []
    for drawn in draw_batches(len(lessons), settings.train.batch_size, rng):
        chosen = [lessons[number] for number in drawn]
        picks = [torch.from_numpy(sample_chunks(len(one), n_chunks, rng)) for one in chosen]
        loss = batch_loss(trained.encoder, gather(chosen, picks))
        if not torch.isfinite(loss):
            raise StepreelError(
                f"training broke down in epoch {epoch + 1}: the loss is {loss.item()}; "
                "try a smaller train.learning_rate"
            )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if epoch > 0:
            failpoint("mid-epoch")
        optimiser.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def batch_loss(encoder: Encoder, batch: Batch) -> Tensor:
    """Return the BMC2 loss of a batch, with the union of near and alike moments as window."""
    near = near_window(batch.times, batch.window_seconds[:, None, None])
    window = near | alike_window(batch.raw, near, batch.raw_valid)
    return bmc2_loss(
        encoder.project(batch.inputs),
        window,
        time_weights(batch.times, batch.seconds),
        pair_weights=default_pair_weights(len(batch.inputs)),
        valid=list(batch.valid.values()),
    )


def _save(entry: Entry, trained: Trained, optimiser: torch.optim.Adam, state: str) -> None:
    """Store weights, optimiser moments and losses as one file, never half of it."""
    arrays = {f"encoder.{k}": v.numpy() for k, v in trained.encoder.state_dict().items()}
    for number, moments in optimiser.state_dict()["state"].items():
        arrays |= {f"adam.{number}.{k}": v.numpy() for k, v in moments.items()}
    arrays["losses"] = np.array(trained.losses)
    arrays["state"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    entry.write(arrays)


def _load(entry: Entry, trained: Trained, optimiser: torch.optim.Adam) -> str:
    """Take up what is stored; return "finished", "under way" or "absent"."""
    if not entry.exists():
        return "absent"
    arrays = entry.read()
    weights = {k: torch.from_numpy(arrays[f"encoder.{k}"]) for k in trained.encoder.state_dict()}
    trained.encoder.load_state_dict(weights)
    trained.losses.extend(float(loss) for loss in arrays["losses"])
    moments: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        if name.startswith("adam."):
            _, number, kind = name.split(".")
            moments.setdefault(int(number), {})[kind] = torch.from_numpy(np.array(array))
    stored = optimiser.state_dict()
    optimiser.load_state_dict({"state": moments, "param_groups": stored["param_groups"]})
    return str(json.loads(arrays["state"].tobytes()))
