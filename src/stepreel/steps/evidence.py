"""What is known about shown steps without labels; `confidence.py` weighs it.

Every kind of evidence is one number per step. Which kinds are used, and how much each counts, is
decided by `benchmarks/calibrate.py`, where labels are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepreel.config import Settings
from stepreel.derived import has_form
from stepreel.steps.decoders.base import Again
from stepreel.steps.key_steps import KeySteps, pick_key_steps
from stepreel.system.cores import on_all_cores
from stepreel.types import Clustering, Floats, Recording

Values = NDArray[np.float64]

RESAMPLINGS = 5
BORDER_SECONDS = (1.0, 15.0)  # shortest and longest stretch compared on either side of a border
DIMENSIONS = 64
COLUMNS_AT_ONCE = 64
WHITE_NOISE_DEVIATIONS = 3.3  # white noise exceeds this once in two thousand recordings


class ProjectedFeatures(NamedTuple):
    """Features of a recording as few columns (T, DIMENSIONS): of all cues, and of each."""

    together: Values
    by_cue: Mapping[str, Values]


@dataclass(frozen=True)
class TaskSteps:
    """The shown steps of all recordings of a task, and what they were found in.

    again  decodes the recordings again from a part of what is known
    """

    recordings: Sequence[Recording]
    again: Again | None
    key_steps: Sequence[KeySteps]
    settings: Settings
    _features: dict[int, ProjectedFeatures] = field(default_factory=dict)

    def extents(self, position: int) -> Values:
        """Return start and end of every step of a recording (n, 2), in seconds."""
        return _extents(self.key_steps[position], self.recordings[position])

    def features(self, position: int) -> Values:
        """Return the features of a recording as few columns, all cues together."""
        return self.projected(position).together

    def projected(self, position: int) -> ProjectedFeatures:
        """Return the features of a recording as few columns, also of every cue by itself."""
        if position not in self._features:
            self._features[position] = projected_features(self.recordings[position])
        return self._features[position]

    @cached_property
    def decoded_again(self) -> list[tuple[Clustering, ...]]:
        """What decoding a part of what is known gives, per recording."""
        if self.again is None:
            return [() for _ in self.recordings]
        repetitions = on_all_cores(self.again, range(RESAMPLINGS))
        return list(zip(*repetitions, strict=True))

    @property
    def known_again(self) -> list[tuple[Clustering, ...]]:
        """The same, if any evidence has asked for it: it takes longer than all others."""
        known = vars(self).get("decoded_again")
        return [() for _ in self.recordings] if known is None else known

    @cached_property
    def resampled_extents(self) -> list[list[Values]]:
        """The steps that decoding a part of what is known gives, per recording."""
        choice = self.settings.key_steps
        return [
            [
                _extents(
                    pick_key_steps(clustering, choice, moment_seconds=recording.moment_seconds),
                    recording,
                )
                for clustering in again
            ]
            for again, recording in zip(self.decoded_again, self.recordings, strict=True)
        ]


def _extents(key_steps: KeySteps, recording: Recording) -> Values:
    starts = [recording.times[segment.members[0]] for segment in key_steps.segments]
    ends = [recording.times[segment.members[-1]] for segment in key_steps.segments]
    return np.stack([starts, np.add(ends, recording.moment_seconds)], axis=1).reshape(-1, 2)


def length(task: TaskSteps, position: int) -> Values:
    """Logarithm of a step's length over the mean length of as many equal parts."""
    extents = task.extents(position)
    part = task.recordings[position].duration_seconds / max(1, len(extents))
    ratio: Values = np.maximum(extents[:, 1] - extents[:, 0], 1e-3) / max(part, 1e-3)
    return np.log(ratio)


def margin(task: TaskSteps, position: int) -> Values:
    """How clearly a step's moments belong to their own cluster."""
    return np.array([segment.margin for segment in task.key_steps[position].segments])


def stability(task: TaskSteps, position: int) -> Values:
    """How well a step is found again from a part of what is known.

    -log(1.02 - IoU), which grows fast where a step is found again almost exactly.
    """
    extents = task.extents(position)
    again = task.resampled_extents[position]
    if not again or not len(extents):
        return np.zeros(len(extents))
    iou: Values = np.mean([_best_overlap(extents, other) for other in again], axis=0)
    return -np.log(1.02 - iou)


def agreement(task: TaskSteps, position: int) -> Values:
    """Return the mean stability of a recording's steps: whether there is a structure to find."""
    values = stability(task, position)
    return np.full(len(values), values.mean() if len(values) else 0.0)


def departure(task: TaskSteps, position: int) -> Values:
    """How far the steps of a recording are, on average, from as many equal parts: 1 - IoU.

    Steps that are equal parts are right as often as those.
    """
    extents = task.extents(position)
    if not len(extents):
        return np.zeros(0)
    recording = task.recordings[position]
    first = float(recording.times[0]) if len(recording.times) else 0.0
    edges = np.linspace(first, first + recording.duration_seconds, len(extents) + 1)
    parts = np.stack([edges[:-1], edges[1:]], axis=1)
    return np.full(len(extents), 1 - _best_overlap(extents, parts).mean())


def borders(task: TaskSteps, position: int) -> Values:
    """How much the features change at a step's start and end, compared with elsewhere.

    The logarithm of the change over its median in the recording; the ends of the recording are no
    borders.
    """
    recording = task.recordings[position]
    segments = task.key_steps[position].segments
    n_moments = len(recording.times)
    if n_moments < 4 or not segments:
        return np.zeros(len(segments))
    window = border_window(recording, len(segments))
    change = np.log(changes(task.features(position), window) + 1e-6)
    change -= np.median(change)
    values = np.zeros(len(segments))
    for number, segment in enumerate(segments):
        edges = [int(segment.members[0]), int(segment.members[-1]) + 1]
        inner = [change[edge - 1] for edge in edges if window // 2 < edge < n_moments - window // 2]
        values[number] = np.mean(inner) if inner else 0.0
    return values


EVIDENCE: Mapping[str, Callable[[TaskSteps, int], Values]] = {
    "length": length,
    "margin": margin,
    "stability": stability,
    "agreement": agreement,
    "departure": departure,
    "borders": borders,
}


FROM_AGAIN = ("stability", "agreement")  # known only if a decoder can decode again


def is_white_noise(task: TaskSteps, position: int) -> bool:
    """Tell whether features of neighbouring moments are unrelated, as if their order were random.

    Then nothing in the recording starts or ends, and no step can be found in it. Compares the
    correlation of neighbouring moments with how large it gets by chance.
    """
    features = task.features(position)
    if len(features) < 2:
        return True
    products = float((features[1:] * features[:-1]).sum())
    by_chance = float(np.sqrt(np.square(features.T @ features).sum() / len(features)))
    return products <= WHITE_NOISE_DEVIATIONS * by_chance


def _best_overlap(extents: Values, others: Values) -> Values:
    """Return the highest IoU of every extent with any of the others."""
    if not len(others):
        return np.zeros(len(extents))
    best: Values = overlaps(extents, others).max(axis=1)
    return best


def overlaps(extents: Values, others: Values) -> Values:
    """Return the IoU of every extent with every other one (n, m).

    >>> overlaps(np.array([[0.0, 2.0]]), np.array([[1.0, 3.0], [5.0, 6.0]])).round(2).tolist()
    [[0.33, 0.0]]
    """
    start = np.maximum(extents[:, None, 0], others[None, :, 0])
    end = np.minimum(extents[:, None, 1], others[None, :, 1])
    common = np.maximum(end - start, 0.0)
    lengths, other_lengths = extents[:, 1] - extents[:, 0], others[:, 1] - others[:, 0]
    union = lengths[:, None] + other_lengths[None, :] - common
    iou: Values = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return iou


def border_window(recording: Recording, n_steps: int) -> int:
    """Return how many moments on either side of a border are compared: half of an equal part."""
    reach = float(np.clip(recording.duration_seconds / n_steps / 2, *BORDER_SECONDS))
    return max(2, round(reach / recording.moment_seconds))


def changes(features: Values, window: int) -> Values:
    """Return, between every two moments, the variance between over that within two windows."""
    n_moments = len(features)
    middle = np.arange(1, n_moments)
    start, stop = np.maximum(0, middle - window), np.minimum(n_moments, middle + window)
    before, after = middle - start, stop - middle
    sums = np.concatenate([np.zeros((1, features.shape[1])), features.cumsum(axis=0)])
    squares = np.concatenate([[0.0], np.square(features).sum(axis=1).cumsum()])
    left = (sums[middle] - sums[start]) / before[:, None]
    right = (sums[stop] - sums[middle]) / after[:, None]
    explained = before * np.square(left).sum(axis=1) + after * np.square(right).sum(axis=1)
    within = (squares[stop] - squares[start] - explained) / np.maximum(before + after - 2, 1)
    between = np.square(left - right).sum(axis=1) * (before * after / (before + after))
    change: Values = between / np.maximum(within, 1e-9)
    return change


def projected_features(recording: Recording) -> ProjectedFeatures:
    """Return z-scored features of all cues, projected at random onto a few dimensions.

    This keeps distances approximately, and a long recording has gigabytes of features. Every cue
    counts the same, whatever its width. Invalid moments are 0, the mean.
    """
    shape = len(recording.times), DIMENSIONS
    kept = recording.derived.get_all(
        ("projected",),
        lambda: _projected(recording),
        lambda found: all(has_form(found.get(cue), "float32", *shape) for cue in recording.tracks),
    )
    by_cue = {cue: kept[cue].astype(np.float64) for cue in recording.tracks}
    return ProjectedFeatures(np.sum(list(by_cue.values()), axis=0), by_cue)


def _projected(recording: Recording) -> dict[str, Floats]:
    rng = np.random.default_rng(0)
    by_cue = {}
    for cue, track in recording.tracks.items():
        projected = np.zeros((len(recording.times), DIMENSIONS))
        for first in range(0, track.width if track.valid.any() else 0, COLUMNS_AT_ONCE):
            columns = track.features[:, first : first + COLUMNS_AT_ONCE].astype(np.float64)
            columns -= columns[track.valid].mean(axis=0)
            deviation = columns[track.valid].std(axis=0)
            columns /= np.where(deviation > 1e-6, deviation, np.inf)
            columns[~track.valid] = 0.0
            projected += (
                columns @ rng.normal(size=(columns.shape[1], DIMENSIONS)) / np.sqrt(track.width)
            )
        by_cue[cue] = projected.astype(np.float32)
    return by_cue
