"""Tracks → tensors: everything about a recording that stays fixed while the encoder learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from stepreel.config import Settings, pick_cues
from stepreel.features.standardise import standardised
from stepreel.learn.encoder import encoder_inputs_
from stepreel.learn.sampling import count_chunks, draws, spacing_seconds, track_seconds, window_of
from stepreel.learn.scratch import Scratch
from stepreel.learn.windows import raw_distances, standardise_over_channels_
from stepreel.types import FeatureTrack, Floats

Tracks = Mapping[str, FeatureTrack]

HELD_BYTES = 256e6  # for the raw distances of all recordings together
# Times are single precision in a step, where three hours round to a millisecond.
ROUNDING_SECONDS = 1e-3


@dataclass(frozen=True)
class Lesson:
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

    def to(self, device: torch.device) -> Lesson:
        """Return the lesson on another device; itself where it is there already."""
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


def prepare_lessons(recordings: Sequence[Tracks], settings: Settings) -> list[Lesson]:
    """Prepare recordings of one task, whose mean length may decide how many moments are drawn."""
    lengths = [len(next(iter(tracks.values()))) for tracks in recordings]
    n_chunks = count_chunks(lengths, settings.train)
    held = worth_holding(lengths, settings)
    return [
        prepare_lesson(tracks, settings, n_chunks=n_chunks, hold_distances=hold)
        for tracks, hold in zip(recordings, held, strict=True)
    ]


def worth_holding(lengths: Sequence[int], settings: Settings) -> list[bool]:
    """Choose recordings whose raw distances are worked out once, the shortest first.

    They never change, so holding them saves the largest matrix product of every step: where they
    fit into memory, and where training draws more pairs than there are.
    """
    if settings.loss.bootstrap == "none":
        return [False] * len(lengths)
    drawn_pairs = draws(len(lengths), settings.train) * count_chunks(lengths, settings.train) ** 2
    room = HELD_BYTES / 4
    held = [False] * len(lengths)
    for number in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        pairs = lengths[number] ** 2
        held[number] = pairs <= min(room, drawn_pairs)
        room -= pairs * held[number]
    return held


def prepare_lesson(
    tracks: Tracks,
    settings: Settings,
    *,
    n_chunks: int | None = None,
    hold_distances: bool = False,
) -> Lesson:
    """Prepare one recording's tracks, which share their times; the first cue is the main one."""
    n_chunks = n_chunks or count_chunks([len(next(iter(tracks.values())))], settings.train)
    cues = list(tracks)
    times = torch.from_numpy(tracks[cues[0]].times)
    features = {cue: torch.from_numpy(_standardised(tracks[cue], settings)) for cue in cues}
    valid = {cue: torch.from_numpy(track.valid) for cue, track in tracks.items()}
    bootstrap = pick_cues(settings.loss.bootstrap_on, cues, setting="loss.bootstrap_on")
    raw = _raw([features[cue] for cue in bootstrap], settings)
    clock = tracks[cues[0]].times
    rounding = min(ROUNDING_SECONDS, spacing_seconds(clock) / 4)
    return Lesson(
        times=times,
        seconds=track_seconds(clock),
        window_seconds=window_of(clock, n_chunks, settings).seconds + rounding,
        inputs={c: encoder_inputs_(features.pop(c), times, settings.encoder) for c in cues},
        valid=valid,
        raw=_in_one_thread(raw_distances, raw) if hold_distances else raw,
        raw_is_distances=hold_distances,
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
    lessons: Sequence[Lesson],
    picks: Sequence[Tensor],
    *,
    drawn: Sequence[int] | None = None,
    scratch: Scratch | None = None,
) -> Batch:
    """Take the picked moments of each lesson; every pick has the same number of them."""
    scratch = scratch or Scratch()
    first = lessons[0]
    device = first.times.device
    pairs = [(lesson, pick.to(device)) for lesson, pick in zip(lessons, picks, strict=True)]
    n_batch, n = len(pairs), len(picks[0])
    inputs = {
        cue: scratch.take(f"inputs {cue}", (n_batch, n, x.shape[-1]), x, x.dtype)
        for cue, x in first.inputs.items()
    }
    for cue, rows in inputs.items():
        for number, (lesson, pick) in enumerate(pairs):
            torch.index_select(lesson.inputs[cue], 0, pick, out=rows[number])
    distances = None
    if first.raw.shape[-1] > 0:
        distances = scratch.take("raw distances", (n_batch, n, n), first.raw, first.raw.dtype)
        for number, (lesson, pick) in enumerate(pairs):
            lesson.distances_between(pick, out=distances[number])
    return Batch(
        drawn=tuple(drawn) if drawn is not None else tuple(range(n_batch)),
        times=torch.stack([lesson.times[pick] for lesson, pick in pairs]).float(),
        seconds=torch.tensor([lesson.seconds for lesson in lessons], device=device),
        window_seconds=torch.tensor([le.window_seconds for le in lessons], device=device),
        inputs=inputs,
        valid={c: torch.stack([le.valid[c][pick] for le, pick in pairs]) for c in inputs},
        raw_distances=distances,
        raw_valid=torch.stack([lesson.raw_valid[pick] for lesson, pick in pairs]),
    )


def _standardised(track: FeatureTrack, settings: Settings) -> Floats:
    return standardised(
        track,
        average_seconds=settings.train.average_seconds,
        z_score=settings.train.standardise == "recording",
    )
