"""Tracks → tensors: everything about a recording that stays fixed while the encoder learns."""

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

PRECOMPUTED_BYTES = 256e6  # for the raw distances of all recordings together
# Times are single precision in a step, where three hours round to a millisecond.
ROUNDING_SECONDS = 1e-3


@dataclass(frozen=True)
class RecordingTensors:
    """One recording, ready to learn from.

    times   (T,) seconds
    inputs  per cue (T, D): what the encoder sees
    valid   per cue (T,)
    window_seconds  σ, and what rounding may add to a distance in time
    raw     of the bootstrapping cues, standardised over channels: (T, ΣD) features, or
            (T, T) the distances between all of them where `raw_is_distances`
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
        """Return the tensors on another device; themselves if they are there already."""
        if self.times.device == device:
            return self
        return replace(
            self,
            times=self.times.float().to(device),  # Apple's GPUs know no doubles
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

    drawn          which recording each row is of; one can be drawn more than once
    raw_distances  (B, N, N), between raw features; None where nothing is bootstrapped
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
    """Recordings of one task, ready for training; `n_chunks` (N) moments are sampled from each."""

    recordings: list[RecordingTensors]
    n_chunks: int


def prepare_training_data(
    recordings: Sequence[Tracks], settings: Settings, plan: SamplingPlan | None = None
) -> TrainingData:
    """Prepare recordings of one task; their sampling is planned here unless it is given."""
    all_times = [next(iter(tracks.values())).times for tracks in recordings]
    plan = plan or plan_sampling(all_times, settings)
    held = choose_precomputed([len(times) for times in all_times], plan.n_chunks, settings)
    tensors = [
        recording_tensors(tracks, settings, window=window, precompute_distances=hold)
        for tracks, window, hold in zip(recordings, plan.windows, held, strict=True)
    ]
    return TrainingData(tensors, plan.n_chunks)


def choose_precomputed(lengths: Sequence[int], n_chunks: int, settings: Settings) -> list[bool]:
    """Choose recordings whose raw distances are computed once, the shortest first.

    They never change, so holding them saves the largest matrix product of every step: where they
    fit into memory, and where training draws more pairs than there are.
    """
    if settings.loss.bootstrap == "none":
        return [False] * len(lengths)
    drawn_pairs = draws_per_recording(len(lengths), settings.train) * n_chunks**2
    buffer = PRECOMPUTED_BYTES / 4
    held = [False] * len(lengths)
    for number in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        pairs = lengths[number] ** 2
        held[number] = pairs <= min(buffer, drawn_pairs)
        buffer -= pairs * held[number]
    return held


def recording_tensors(
    tracks: Tracks,
    settings: Settings,
    *,
    window: Window | None = None,
    precompute_distances: bool = False,
) -> RecordingTensors:
    """Prepare one recording's tracks, which share their times; the first cue is the main one."""
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


def _in_one_thread(work: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Round alike on any number of cores: a window's border may hang on the last digit."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return work(rows)
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
    """Gather the picked moments of each recording; every pick has the same number of them."""
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
        window_seconds=torch.tensor([le.window_seconds for le in recordings], device=device),
        inputs=inputs,
        valid={c: torch.stack([le.valid[c][pick] for le, pick in pairs]) for c in inputs},
        raw_distances=distances,
        raw_valid=torch.stack([recording.raw_valid[pick] for recording, pick in pairs]),
    )


def _standardised(track: FeatureTrack, settings: Settings) -> Floats:
    return standardised(
        track,
        average_seconds=settings.train.average_seconds,
        z_score=settings.train.standardise == "recording",
    )
