"""Tracks → tensors: everything about a recording that does not change during training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from stepreel.config import Settings, pick_cues
from stepreel.features.standardise import standardised
from stepreel.learn.encoder import encoder_inputs_
from stepreel.learn.sampling import (
    SamplingPlan,
    Window,
    draws_per_recording,
    plan_sampling,
    track_seconds,
)
from stepreel.learn.scratch import ScratchBuffers
from stepreel.learn.windows import raw_distances, standardise_over_channels_
from stepreel.types import FeatureTrack, Floats, moment_seconds

Tracks = Mapping[str, FeatureTrack]

PRECOMPUTED_BYTES = 256e6  # memory for precomputed raw distances of all recordings
# Training steps use float32 times, which are rounded to about a millisecond after three hours.
ROUNDING_SECONDS = 1e-3


@dataclass(frozen=True)
class RecordingTensors:
    """One recording, prepared for training.

    times   (T,) seconds
    inputs  per cue (T, D): input of the encoder
    valid   per cue (T,)
    window_seconds  σ plus a tolerance for rounded times
    raw     of the bootstrapping cues, standardised over channels: (T, ΣD) features or,
            if `raw_is_distances`, (T, T) distances between all moments
    """

    times: Tensor
    seconds: float
    window_seconds: float
    inputs: dict[str, Tensor]
    valid: dict[str, Tensor]
    raw: Tensor
    raw_is_distances: bool
    raw_valid: Tensor

    def __len__(self) -> int:
        return len(self.times)

    def to(self, device: torch.device) -> RecordingTensors:
        """Return the tensors on a device; unchanged if they are already there."""
        if self.times.device == device:
            return self
        return replace(
            self,
            times=self.times.float().to(device),  # Metal has no float64
            inputs={cue: x.to(device) for cue, x in self.inputs.items()},
            valid={cue: x.to(device) for cue, x in self.valid.items()},
            raw=self.raw.to(device),
            raw_valid=self.raw_valid.to(device),
        )

    def distances_between(self, pick: Tensor, out: Tensor) -> None:
        """Write the raw distances between the picked moments into `out`, (N, N)."""
        if self.raw_is_distances:
            torch.index_select(self.raw.index_select(0, pick), 1, pick, out=out)
        else:
            raw_distances(self.raw[pick], out=out)


@dataclass(frozen=True)
class Batch:
    """Sampled moments of several recordings: every tensor is (B, N) or (B, N, D).

    drawn          the recording of each row; a recording can be drawn more than once
    raw_distances  (B, N, N) between raw features; None without bootstrapping
    """

    drawn: tuple[int, ...]
    times: Tensor
    seconds: Tensor
    window_seconds: Tensor
    inputs: dict[str, Tensor]
    valid: dict[str, Tensor]
    raw_distances: Tensor | None
    raw_valid: Tensor


@dataclass(frozen=True)
class TrainingData:
    """Recordings of one task, prepared for training, and N, the moments sampled from each."""

    recordings: list[RecordingTensors]
    n_chunks: int


def prepare_training_data(
    recordings: Sequence[Tracks], settings: Settings, plan: SamplingPlan | None = None
) -> TrainingData:
    """Prepare recordings of one task; `plan` is computed unless it is passed."""
    all_times = [next(iter(tracks.values())).times for tracks in recordings]
    plan = plan or plan_sampling(all_times, settings)
    lengths = [len(times) for times in all_times]
    precomputed = choose_precomputed(lengths, plan.n_chunks, settings)
    tensors = [
        recording_tensors(tracks, settings, window=window, precompute_distances=precompute)
        for tracks, window, precompute in zip(recordings, plan.windows, precomputed, strict=True)
    ]
    return TrainingData(tensors, plan.n_chunks)


def choose_precomputed(lengths: Sequence[int], n_chunks: int, settings: Settings) -> list[bool]:
    """Choose the recordings whose raw distances are computed once, shortest recordings first.

    The distances never change, so this saves the largest matrix product of every step. It is done
    where they fit into memory and training needs more pairs than the recording has.
    """
    if settings.loss.bootstrap == "none":
        return [False] * len(lengths)
    drawn_pairs = draws_per_recording(len(lengths), settings.train) * n_chunks**2
    free_pairs = PRECOMPUTED_BYTES / 4  # of float32
    precomputed = [False] * len(lengths)
    for number in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        pairs = lengths[number] ** 2
        precomputed[number] = pairs <= min(free_pairs, drawn_pairs)
        free_pairs -= pairs * precomputed[number]
    return precomputed


def recording_tensors(
    tracks: Tracks,
    settings: Settings,
    *,
    window: Window | None = None,
    precompute_distances: bool = False,
) -> RecordingTensors:
    """Prepare the tracks of one recording, which share their times; the first is the main cue."""
    cues = list(tracks)
    clock = tracks[cues[0]].times
    window = window or plan_sampling([clock], settings).windows[0]
    times = torch.from_numpy(clock)
    features = {cue: torch.from_numpy(_standardised(tracks[cue], settings)) for cue in cues}
    valid = {cue: torch.from_numpy(track.valid) for cue, track in tracks.items()}
    bootstrap = pick_cues(settings.loss.bootstrap_on, cues, setting="loss.bootstrap_on")
    raw = _raw([features[cue] for cue in bootstrap], settings)
    rounding = min(ROUNDING_SECONDS, moment_seconds(clock) / 4)
    return RecordingTensors(
        times=times,
        seconds=track_seconds(clock),
        window_seconds=window.seconds + rounding,
        inputs={c: encoder_inputs_(features.pop(c), times, settings.encoder) for c in cues},
        valid=valid,
        raw=_in_one_thread(raw_distances, raw) if precompute_distances else raw,
        raw_is_distances=precompute_distances,
        raw_valid=torch.stack([valid[cue] for cue in bootstrap]).all(0),
    )


def _in_one_thread(compute: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Run in one thread, so that results do not depend on the number of cores.

    Whether a pair is similar can depend on the last bit of a distance.
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return compute(rows)
    finally:
        torch.set_num_threads(n_threads)


def _raw(features: Sequence[Tensor], settings: Settings) -> Tensor:
    if settings.loss.bootstrap == "none":
        return features[0][:, :0]
    raw = torch.cat(list(features), dim=-1)
    standardise_over_channels_(raw)
    return raw


def gather(
    recordings: Sequence[RecordingTensors],
    picks: Sequence[Tensor],
    *,
    drawn: Sequence[int] | None = None,
    scratch: ScratchBuffers | None = None,
) -> Batch:
    """Gather the picked moments of each recording into a batch; all picks have the same length."""
    scratch = scratch or ScratchBuffers()
    first = recordings[0]
    device = first.times.device
    pairs = [
        (recording, pick.to(device)) for recording, pick in zip(recordings, picks, strict=True)
    ]
    n_batch, n = len(pairs), len(picks[0])
    inputs = {
        cue: scratch.get(f"inputs {cue}", (n_batch, n, x.shape[-1]), x, x.dtype)
        for cue, x in first.inputs.items()
    }
    for cue, rows in inputs.items():
        for number, (recording, pick) in enumerate(pairs):
            torch.index_select(recording.inputs[cue], 0, pick, out=rows[number])
    distances = None
    if first.raw.shape[-1] > 0:
        distances = scratch.get("raw distances", (n_batch, n, n), first.raw, first.raw.dtype)
        for number, (recording, pick) in enumerate(pairs):
            recording.distances_between(pick, out=distances[number])
    return Batch(
        drawn=tuple(drawn) if drawn is not None else tuple(range(n_batch)),
        times=torch.stack([recording.times[pick] for recording, pick in pairs]).float(),
        seconds=torch.tensor([recording.seconds for recording in recordings], device=device),
        window_seconds=torch.tensor(
            [recording.window_seconds for recording in recordings], device=device
        ),
        inputs=inputs,
        valid={
            cue: torch.stack([recording.valid[cue][pick] for recording, pick in pairs])
            for cue in inputs
        },
        raw_distances=distances,
        raw_valid=torch.stack([recording.raw_valid[pick] for recording, pick in pairs]),
    )


def _standardised(track: FeatureTrack, settings: Settings) -> Floats:
    return standardised(
        track,
        average_seconds=settings.train.average_seconds,
        z_score=settings.train.standardise == "recording",
    )
