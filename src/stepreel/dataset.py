"""Tracks → tensors: everything about a recording that stays fixed while the encoder learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stepreel.config import Settings
from stepreel.encoder import encoder_inputs_
from stepreel.loss import standardise_over_channels_
from stepreel.sampling import fitting_window, track_seconds
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
    """Sampled moments of several recordings: every tensor is (B, N) or (B, N, D)."""

    times: Tensor
    seconds: Tensor
    window_seconds: Tensor
    inputs: dict[str, Tensor]
    valid: dict[str, Tensor]
    raw: Tensor
    raw_valid: Tensor


def prepare_lesson(tracks: Tracks, settings: Settings) -> Lesson:
    """Prepare one recording's tracks, which share their times; the first cue is the main one."""
    cues = list(tracks)
    times = torch.from_numpy(tracks[cues[0]].times)
    features = {cue: _standardised(track, settings) for cue, track in tracks.items()}
    valid = {cue: torch.from_numpy(track.valid) for cue, track in tracks.items()}
    bootstrap = cues if settings.loss.bootstrap_on == "all" else cues[:1]
    raw = torch.cat([features[cue] for cue in bootstrap], dim=-1)
    standardise_over_channels_(raw)
    seconds = track_seconds(tracks[cues[0]].times)
    asked = settings.loss.window_seconds
    return Lesson(
        times=times,
        seconds=seconds,
        window_seconds=fitting_window(asked, seconds, settings.train.n_chunks),
        inputs={c: encoder_inputs_(features.pop(c), times, settings.encoder.width) for c in cues},
        valid=valid,
        raw=raw,
        raw_valid=torch.stack([valid[cue] for cue in bootstrap]).all(0),
    )


def gather(lessons: Sequence[Lesson], picks: Sequence[Tensor]) -> Batch:
    """Take the picked moments of each lesson; every pick has the same number of them."""
    pairs = list(zip(lessons, picks, strict=True))
    cues = lessons[0].inputs

    return Batch(
        times=torch.stack([lesson.times[pick] for lesson, pick in pairs]).float(),
        seconds=torch.tensor([lesson.seconds for lesson in lessons]),
        window_seconds=torch.tensor([lesson.window_seconds for lesson in lessons]),
        inputs={c: torch.stack([le.inputs[c][pick] for le, pick in pairs]) for c in cues},
        valid={c: torch.stack([le.valid[c][pick] for le, pick in pairs]) for c in cues},
        raw=torch.stack([lesson.raw[pick] for lesson, pick in pairs]),
        raw_valid=torch.stack([lesson.raw_valid[pick] for lesson, pick in pairs]),
    )


def _standardised(track: FeatureTrack, settings: Settings) -> Tensor:
    """Return the features, averaged and z-scored if asked; invalid moments become zero.

    Worked out column by column: an hour of appearance is 74 MB, and there is room for few copies.
    """
    known = track.valid
    average = MovingAverage(track, settings.train.average_seconds)
    z_score = settings.train.standardise == "recording" and bool(known.any())
    features: Floats = np.empty(track.features.shape, np.float32)
    for number in range(features.shape[1]):
        column = average(np.where(known, track.features[:, number], np.float32(0)))
        if z_score:
            deviation = float(column[known].std())
            column = (column - column[known].mean()) / (deviation if deviation > 1e-6 else 1.0)
            column[~known] = 0
        features[:, number] = column
    return torch.from_numpy(features)


class MovingAverage:
    """Replace every moment's value by the mean of the valid moments within `seconds` / 2 of it.

    One pair of frames cannot tell hammering from holding a hammer; a beat of it can. A departure
    from the paper, whose features describe single frames.
    """

    def __init__(self, track: FeatureTrack, seconds: float) -> None:
        self.nothing_to_do = seconds <= 0
        self.start = np.searchsorted(track.times, track.times - seconds / 2 - 1e-6)
        self.stop = np.searchsorted(track.times, track.times + seconds / 2 + 1e-6)
        counts = np.concatenate([[0], np.cumsum(track.valid)])
        self.share = 1.0 / np.maximum(counts[self.stop] - counts[self.start], 1)

    def __call__(self, column: Floats) -> NDArray[np.float64]:
        """Average one feature, whose invalid moments are zero; running sums need doubles."""
        if self.nothing_to_do:
            return column.astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)])
        averaged: NDArray[np.float64] = (sums[self.stop] - sums[self.start]) * self.share
        return averaged
