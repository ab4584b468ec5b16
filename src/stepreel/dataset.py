"""Tracks → tensors: everything about a recording that stays fixed while the encoder learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from stepreel.config import Settings, pick_cues
from stepreel.encoder import encoder_inputs_
from stepreel.loss import standardise_over_channels_
from stepreel.sampling import asked_window, count_chunks, fitting_window, track_seconds
from stepreel.standardise import standardised
from stepreel.types import FeatureTrack, Floats

Tracks = Mapping[str, FeatureTrack]


@dataclass(frozen=True)
class Lesson:
    """One recording, ready to learn from.

    times   (T,) seconds
    inputs  per cue (T, D): what the encoder sees
    valid   per cue (T,)
    raw     (T, ΣD) of the bootstrapping cues, standardised over channels
    """

    times: Tensor
    seconds: float
    window_seconds: float
    inputs: dict[str, Tensor]
    valid: dict[str, Tensor]
    raw: Tensor
    raw_valid: Tensor

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Batch:
    """Sampled moments of several recordings: every tensor is (B, N) or (B, N, D).

    drawn  which recording each row is of; one can be drawn more than once
    """

    drawn: tuple[int, ...]
    times: Tensor
    seconds: Tensor
    window_seconds: Tensor
    inputs: dict[str, Tensor]
    valid: dict[str, Tensor]
    raw: Tensor
    raw_valid: Tensor

    def to(self, device: torch.device) -> Batch:
        """Return the batch on another device; itself where it is there already."""
        if self.times.device == device:
            return self
        return Batch(
            drawn=self.drawn,
            times=self.times.to(device),
            seconds=self.seconds.to(device),
            window_seconds=self.window_seconds.to(device),
            inputs={cue: x.to(device) for cue, x in self.inputs.items()},
            valid={cue: x.to(device) for cue, x in self.valid.items()},
            raw=self.raw.to(device),
            raw_valid=self.raw_valid.to(device),
        )


def prepare_lessons(recordings: Sequence[Tracks], settings: Settings) -> list[Lesson]:
    """Prepare recordings of one task, whose mean length may decide how many moments are drawn."""
    lengths = [len(next(iter(tracks.values()))) for tracks in recordings]
    n_chunks = count_chunks(lengths, settings.train)
    return [prepare_lesson(tracks, settings, n_chunks=n_chunks) for tracks in recordings]


def prepare_lesson(tracks: Tracks, settings: Settings, *, n_chunks: int | None = None) -> Lesson:
    """Prepare one recording's tracks, which share their times; the first cue is the main one."""
    n_chunks = n_chunks or count_chunks([len(next(iter(tracks.values())))], settings.train)
    cues = list(tracks)
    times = torch.from_numpy(tracks[cues[0]].times)
    features = {cue: torch.from_numpy(_standardised(tracks[cue], settings)) for cue in cues}
    valid = {cue: torch.from_numpy(track.valid) for cue, track in tracks.items()}
    bootstrap = pick_cues(settings.loss.bootstrap_on, cues, setting="loss.bootstrap_on")
    raw = torch.cat([features[cue] for cue in bootstrap], dim=-1)
    standardise_over_channels_(raw)
    seconds = track_seconds(tracks[cues[0]].times)
    covered = seconds * settings.train.temporal_extent
    asked = asked_window(tracks[cues[0]].times, settings.loss)
    return Lesson(
        times=times,
        seconds=seconds,
        window_seconds=fitting_window(asked, covered, n_chunks),
        inputs={c: encoder_inputs_(features.pop(c), times, settings.encoder) for c in cues},
        valid=valid,
        raw=raw,
        raw_valid=torch.stack([valid[cue] for cue in bootstrap]).all(0),
    )


def gather(
    lessons: Sequence[Lesson], picks: Sequence[Tensor], *, drawn: Sequence[int] | None = None
) -> Batch:
    """Take the picked moments of each lesson; every pick has the same number of them."""
    pairs = list(zip(lessons, picks, strict=True))
    cues = lessons[0].inputs

    return Batch(
        drawn=tuple(drawn) if drawn is not None else tuple(range(len(lessons))),
        times=torch.stack([lesson.times[pick] for lesson, pick in pairs]).float(),
        seconds=torch.tensor([lesson.seconds for lesson in lessons]),
        window_seconds=torch.tensor([lesson.window_seconds for lesson in lessons]),
        inputs={c: torch.stack([le.inputs[c][pick] for le, pick in pairs]) for c in cues},
        valid={c: torch.stack([le.valid[c][pick] for le, pick in pairs]) for c in cues},
        raw=torch.stack([lesson.raw[pick] for lesson, pick in pairs]),
        raw_valid=torch.stack([lesson.raw_valid[pick] for lesson, pick in pairs]),
    )


def _standardised(track: FeatureTrack, settings: Settings) -> Floats:
    return standardised(
        track,
        average_seconds=settings.train.average_seconds,
        z_score=settings.train.standardise == "recording",
    )
