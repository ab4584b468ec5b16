"""One training step against plain PyTorch: `python benchmarks/train_speed.py [--steps 5]`.

Batch 4, 1024 chunks, cues of 2048 and 128 features, union bootstrap: gathering the moments,
forward, backward, Adam. Plain PyTorch means nn.TransformerEncoder, raw distances in double
precision by torch.cdist, four separate terms, and autograd. The window is computed once and shared
by the terms, or once per term. All variants are measured in turn in one run; their losses must
agree to 1e-4.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from stepreel.config import Settings, load_settings
from stepreel.learn.encoder import Encoder
from stepreel.learn.gradients import GradientPool, gradient_pool
from stepreel.learn.sampling import sample_chunks
from stepreel.learn.training import build_encoder
from stepreel.learn.training_data import RecordingTensors, recording_tensors
from stepreel.system.machine import usable_cores
from stepreel.types import FeatureTrack

WIDTHS = {"appearance": 2048, "motion": 128}
N_CHUNKS, BATCH = 1024, 4
SECONDS, MOMENTS_PER_SECOND = 600.0, 4.0


@dataclass
class Task:
    """Four recordings: their features, their tensors, and the moments to draw from each."""

    times: np.ndarray
    features: list[dict[str, Tensor]]
    recordings: list[RecordingTensors]
    picks: list[Tensor]


def make_task(settings: Settings, *, precompute_distances: bool) -> Task:
    """Make recordings of twelve noisy steps."""
    rng = np.random.default_rng(0)
    times = np.arange(0, SECONDS, 1 / MOMENTS_PER_SECOND)
    step = np.arange(len(times)) * 12 // len(times)
    task = Task(times, [], [], [])
    for _ in range(BATCH):
        tracks = {}
        for cue, width in WIDTHS.items():
            features = rng.normal(size=(12, width))[step] + rng.normal(size=(len(times), width))
            known = np.ones(len(times), bool)
            tracks[cue] = FeatureTrack("r", cue, times, features.astype(np.float32), known)
        task.features.append({c: torch.from_numpy(t.features) for c, t in tracks.items()})
        task.recordings.append(
            recording_tensors(tracks, settings, precompute_distances=precompute_distances)
        )
        task.picks.append(torch.from_numpy(sample_chunks(len(times), N_CHUNKS, rng)))
    return task


class PlainCue(nn.Module):
    """A straightforward encoder with the same weights as ours."""

    def __init__(self, encoder: nn.Module, width: int) -> None:
        super().__init__()
        self.enter = nn.Linear(encoder.enter.in_features, width)
        layer = nn.TransformerEncoderLayer(width, 2, width, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.project = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.enter.load_state_dict(encoder.enter.state_dict())
        self.project.load_state_dict(encoder.project.state_dict())
        for plain, ours in zip(self.transformer.layers, encoder.temporal.layers, strict=True):
            plain.self_attn.in_proj_weight.data.copy_(ours.attend.weight)
            plain.self_attn.in_proj_bias.data.copy_(ours.attend.bias)
            plain.self_attn.out_proj.load_state_dict(ours.merge.state_dict())
            plain.linear1.load_state_dict(ours.widen.state_dict())
            plain.linear2.load_state_dict(ours.narrow.state_dict())
            plain.norm1.load_state_dict(ours.norm_attention.state_dict())
            plain.norm2.load_state_dict(ours.norm_feed.state_dict())

    def forward(self, inputs: Tensor) -> Tensor:
        """Return q."""
        return functional.normalize(self.project(self.transformer(self.enter(inputs))), dim=-1)


def plain_positions(times: Tensor, width: int) -> Tensor:
    """Return the usual sinusoidal encoding of time."""
    angles = 12 * times[..., None] * 10000 ** (-torch.arange(0, width, 2) / width)
    encoding = torch.zeros(*times.shape, width)
    encoding[..., 0::2], encoding[..., 1::2] = angles.sin(), angles.cos()
    return encoding


def plain_window(raw: Tensor, times: Tensor) -> Tensor:
    """Find near and similar moments in double precision."""
    near = (times[:, :, None] - times[:, None, :]).abs() <= 10.0
    raw = raw.double()
    raw = (raw - raw.mean(-1, keepdim=True)) / raw.std(-1, keepdim=True)
    distances = torch.cdist(raw, raw)
    others = near & ~torch.eye(near.shape[-1], dtype=torch.bool)
    threshold = (distances * others).sum(-1) / others.sum(-1).clamp_min(1)
    return (near | (distances <= threshold[:, :, None])).float()


def plain_term(u: Tensor, v: Tensor, times: Tensor, window: Tensor) -> Tensor:
    """Compute Eq. 1 for one pair of cues as it is written."""
    relative = times / SECONDS
    gamma = (relative[:, :, None] - relative[:, None, :]) ** 2 + 1
    d = torch.cdist(u, v)
    return (window * d / gamma + (1 - window) * gamma * torch.clamp(2 - d, min=0)).mean()


def plain_loss(cues: nn.ModuleDict, task: Task, *, window_per_term: bool = False) -> Tensor:
    """Compute the loss as it is written; autograd computes the gradient."""
    times = torch.from_numpy(task.times).float()
    times = torch.stack([times[pick] for pick in task.picks])
    features = {
        cue: torch.stack([f[cue][pick] for f, pick in zip(task.features, task.picks, strict=True)])
        for cue in WIDTHS
    }
    raw = torch.cat(list(features.values()), dim=-1)
    shared = None if window_per_term else plain_window(raw, times)
    projected = [
        cues[cue](x * math.sqrt(128) + plain_positions(times, x.shape[-1]))
        for cue, x in features.items()
    ]
    total = torch.zeros(())
    for u in projected:
        for v in projected:
            window = plain_window(raw, times) if shared is None else shared
            total = total + plain_term(u, v, times, window)
    return total


def timed_step(fill_gradients: Callable[[], float], optimiser: torch.optim.Adam) -> float:
    """Take one step; return its seconds."""
    start = time.perf_counter()
    fill_gradients()
    optimiser.step()
    return time.perf_counter() - start


def gemm_peak() -> float:
    """Return the best GFLOP/s of a large matrix product on this machine."""
    a = torch.randn(2048, 2048)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - start)
    return 2 * 2048**3 / min(seconds) / 1e9


def needed_gflop(precompute_distances: bool, width: int = 128) -> float:
    """Count the multiplications and additions of one step's matrix products."""
    n = N_CHUNKS * BATCH
    pairs = BATCH * N_CHUNKS**2
    enter = 2 * 2 * n * sum(WIDTHS.values()) * width  # forward, weights; inputs need no gradient
    layers = 3 * 2 * n * len(WIDTHS) * (2 * 6 + 2) * width * width  # 2 layers, 1 projector
    attention = (2 + 5) * 2 * pairs * width * len(WIDTHS) * 2  # 2 layers
    contrasts = (3 + 4) * 2 * pairs * width  # own terms need one product backwards, not two
    raw = 0 if precompute_distances else 2 * pairs * sum(WIDTHS.values()) * 0.5625  # by halves
    return (enter + layers + attention + contrasts + raw) / 1e9


def plain_step(plain: nn.ModuleDict, task: Task, *, window_per_term: bool) -> Callable[[], float]:
    """Return a function that computes plain PyTorch's gradients and returns its loss."""

    def fill() -> float:
        plain.zero_grad()
        loss = plain_loss(plain, task, window_per_term=window_per_term)
        loss.backward()
        return loss.item()

    return fill


def our_step(
    settings: Settings, task: Task, encoder: Encoder, pool: GradientPool
) -> Callable[[], float]:
    """Return a function that computes our gradients and returns our loss, as in training."""
    return lambda: pool.fill_gradients(encoder, task.recordings, task.picks, settings)


def measure(n_steps: int, *, precompute_distances: bool) -> None:
    """Take steps in turn and print their time."""
    settings = load_settings("meccano", {"loss.bootstrap_on": "all"})
    task = make_task(settings, precompute_distances=precompute_distances)
    encoder = build_encoder(WIDTHS, settings)
    plain = nn.ModuleDict({cue: PlainCue(encoder.of(cue), 128) for cue in WIDTHS})
    adams = [torch.optim.Adam(model.parameters(), lr=1e-3) for model in (encoder, plain)]
    seconds: dict[str, list[float]] = {}
    with gradient_pool(torch.device("cpu"), BATCH) as pool:
        variants = {
            "stepreel": (our_step(settings, task, encoder, pool), adams[0]),
            "plain PyTorch": (plain_step(plain, task, window_per_term=False), adams[1]),
            "window per term": (plain_step(plain, task, window_per_term=True), adams[1]),
        }
        check_losses({variant: fill() for variant, (fill, _) in variants.items()})
        for number in range(n_steps + 1):
            for variant, (fill, adam) in variants.items():
                torch.set_num_threads(usable_cores())  # the pool's threads have one each
                spent = timed_step(fill, adam)
                if number > 0:
                    seconds.setdefault(variant, []).append(spent)
    ours = np.array(seconds["stepreel"])
    for variant, values in seconds.items():
        ratios = np.array(values) / ours
        print(
            f"  {variant:<17} {np.median(values) * 1e3:6.0f} ms a step, "
            f"{np.median(ratios):.2f} x ours ({ratios.min():.2f} to {ratios.max():.2f})"
        )
    gflop, peak, typical = needed_gflop(precompute_distances), gemm_peak(), float(np.median(ours))
    share = gflop / typical / peak
    print(f"  {gflop:.0f} GFLOP a step: {share:.0%} of the GEMM peak of {peak:.0f} GFLOP/s (60 %)")
    steps = 300 * (17 // BATCH)
    print(
        f"  17 recordings x 300 epochs: {steps} steps, {steps * typical / 60:.1f} min here "
        "(the paper: under 6 min on one A5000)"
    )


def check_losses(losses: dict[str, float]) -> None:
    """Stop unless all variants compute the same loss."""
    for variant, loss in losses.items():
        apart = abs(loss / losses["plain PyTorch"] - 1)
        print(f"  loss {loss:.6f}, relative difference {apart:.1e}: {variant}")
        assert apart < 1e-4, "all variants must compute the same loss"


def print_own_memory() -> None:
    """Take two of our steps and print the peak memory of this process."""
    settings = load_settings("meccano", {"loss.bootstrap_on": "all"})
    task = make_task(settings, precompute_distances=True)
    encoder = build_encoder(WIDTHS, settings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    adam = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    with gradient_pool(torch.device("cpu"), BATCH) as pool:
        for _ in range(2):
            timed_step(our_step(settings, task, encoder, pool), adam)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory {peak:.0f} MB, of which {before:.0f} before the first step (under 1500)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--memory", action="store_true", help="only measure the memory of our step")
    options = parser.parse_args()
    torch.set_num_threads(usable_cores())
    if options.memory:
        print_own_memory()
        return
    # First: the peak of a child process starts at the memory of its parent.
    subprocess.run([sys.executable, __file__, "--memory"], check=True)
    for precompute_distances, where in (
        (True, "kept in memory"),
        (False, "computed in every step"),
    ):
        print(f"raw distances {where}:", flush=True)
        measure(options.steps, precompute_distances=precompute_distances)


if __name__ == "__main__":
    main()
