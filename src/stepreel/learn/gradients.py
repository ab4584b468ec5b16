"""Compute the gradient of a batch on all cores, with the same result on any number of cores.

The contribution of every recording is computed by a single thread, and contributions are added in
order. Splitting each operation among threads would round differently depending on their number,
and after fifty epochs the key steps would start at different moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch
from torch import Tensor

from stepreel.config import Bootstrap, Settings
from stepreel.learn.alignment import alignment_loss
from stepreel.learn.encoder import Encoder
from stepreel.learn.loss import bmc2_loss, count_pairs, cue_weight_matrix, time_weights
from stepreel.learn.scratch import ScratchBuffers
from stepreel.learn.training_data import Batch, RecordingTensors, gather
from stepreel.learn.windows import Pairs, choose_pairs, near_window, similar_window


class GradientPool:
    """A thread pool for the recordings of a batch, each with its own scratch buffers."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool
        self._scratch: list[ScratchBuffers] = []

    def fill_gradients(
        self,
        encoder: Encoder,
        recordings: Sequence[RecordingTensors],
        picks: Sequence[Tensor],
        settings: Settings,
        *,
        drawn: Sequence[int] | None = None,
    ) -> float:
        """Set the gradient of every weight to that of the batch's loss; return the loss."""
        while len(self._scratch) < len(recordings):
            self._scratch.append(ScratchBuffers())
        weights = list(encoder.parameters())
        if (
            self._pool is None or settings.loss.alignment_weight > 0
        ):  # alignment compares recordings
            batch = gather(recordings, picks, drawn=drawn, scratch=self._scratch[0])
            loss = batch_loss(encoder, batch, settings, self._scratch[0])
            parts = [(loss, torch.autograd.grad(loss, weights, materialize_grads=True))]
        else:
            counts = _counts(recordings, picks)

            def loss_and_gradients(row: int) -> tuple[Tensor, tuple[Tensor, ...]]:
                scratch = self._scratch[row]
                batch = gather([recordings[row]], [picks[row]], scratch=scratch)
                loss = batch_loss(encoder, batch, settings, scratch, counts=counts)
                return loss.detach(), torch.autograd.grad(loss, weights, materialize_grads=True)

            parts = list(self._pool.map(loss_and_gradients, range(len(recordings))))
        for number, weight in enumerate(weights):
            total = parts[0][1][number]
            for _, gradients in parts[1:]:
                total = total.add_(gradients[number])
            weight.grad = total
        return sum(loss.item() for loss, _ in parts)


@contextmanager
def gradient_pool(device: torch.device, batch_size: int) -> Iterator[GradientPool]:
    """Open a pool for a device; accelerators process the whole batch at once."""
    if device.type != "cpu":
        yield GradientPool(None)
        return
    n_threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(
            min(n_threads, batch_size), initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            yield GradientPool(pool)
    finally:
        torch.set_num_threads(n_threads)


def _counts(recordings: Sequence[RecordingTensors], picks: Sequence[Tensor]) -> Tensor:
    """Count the valid pairs of moments in the batch for every pair of cues; see `count_pairs`."""
    pairs = list(zip(recordings, picks, strict=True))
    cues = recordings[0].valid
    return count_pairs(
        [torch.stack([recording.valid[cue][pick] for recording, pick in pairs]) for cue in cues]
    )


def batch_loss(
    encoder: Encoder,
    batch: Batch,
    settings: Settings,
    scratch: ScratchBuffers | None = None,
    *,
    counts: Tensor | None = None,
) -> Tensor:
    """Return the BMC2 loss of a batch, plus the alignment loss if it has a weight.

    counts  numbers of pairs in the whole batch, if this is a part of one
    """
    scratch = scratch or ScratchBuffers()
    projected = encoder.project(batch.inputs, batch.times)
    loss = bmc2_loss(
        projected,
        batch_pairs(batch, settings.loss.bootstrap, scratch),
        time_weights(batch.times, batch.seconds, scratch),
        cue_weights=cue_weight_matrix(settings.loss.cue_weights, len(projected)),
        valid=list(batch.valid.values()),
        counts=counts,
        scratch=scratch,
    )
    if settings.loss.alignment_weight == 0:
        return loss
    main_valid = next(iter(batch.valid.values()))
    smoothing = settings.loss.alignment_smoothing
    aligned = alignment_loss(projected[0], batch.drawn, smoothing, main_valid)
    return loss + settings.loss.alignment_weight * aligned


def batch_pairs(batch: Batch, bootstrap: Bootstrap, scratch: ScratchBuffers | None = None) -> Pairs:
    """Find near and similar moments, without gradients."""
    near = near_window(batch.times, batch.window_seconds[:, None, None], scratch)
    similar, valid = None, None if bool(batch.raw_valid.all()) else batch.raw_valid
    if batch.raw_distances is not None:
        similar = similar_window(batch.raw_distances, near, valid, scratch)
    return choose_pairs(near, similar, bootstrap, valid)
