"""Algorithm 1: from a clustering to key steps, in time order and without overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepreel.config import KeyStepSettings
from stepreel.steps.visits import separate
from stepreel.types import Clustering, Labels, Mask, Seconds

MOST_STEPS = 1000  # as many as a page and its folder of pictures can carry


@dataclass(frozen=True)
class Explanation:
    """What is known about a segment for readers; see `explanations.py`.

    start_cues, end_cues  cues that clearly change there, and how many times as much as usual; None
                          at the recording's own start or end
    looks_like            other shown segments, by position, and their similarity
    """

    start_cues: Mapping[str, float] | None
    end_cues: Mapping[str, float] | None
    looks_like: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Segment:
    """Moments of one cluster without a gap in time, and the one nearest to its centre.

    margin       mean certainty of its moments: 0 = between two clusters, 1 = at the centre
    confidence   see `confidence.py`; 0 until it has been computed
    explanation  None until it has been made, and of hidden segments
    """

    cluster: int
    members: NDArray[np.int64]
    nearest: int
    distance: float
    margin: float
    confidence: float = 0.0
    explanation: Explanation | None = None


@dataclass(frozen=True)
class KeySteps:
    """The segments shown as key steps, and the step of every moment.

    hidden   segments that are not shown because of a limit on their number or time
    step_of  (T,) index into `segments` of the step a moment belongs to, or -1
    kept     (T,) true where the moment was neither excluded nor trimmed
    """

    segments: list[Segment]
    hidden: list[Segment]
    step_of: Labels
    kept: Mask


def pick_key_steps(
    clustering: Clustering, settings: KeyStepSettings, *, moment_seconds: float
) -> KeySteps:
    """Split, and separate what overlaps; all of it is shown until a sampler chooses."""
    segments = cut_segments(clustering, settings.split_gap_seconds)
    shortest = shortest_step(settings, moment_seconds=moment_seconds)
    visits = separate_segments(clustering, segments, shortest=shortest)
    return _key_steps(visits, [], clustering.kept)


def shortest_step(settings: KeyStepSettings, *, moment_seconds: float) -> int:
    """Return how many moments a step has at least."""
    return math.ceil(settings.min_step_seconds / moment_seconds - 1e-9)


def show_only(key_steps: KeySteps, positions: Sequence[int]) -> KeySteps:
    """Hide all segments but those at some positions, in time order; see `samplers/`."""
    chosen = set(positions)
    shown = [segment for n, segment in enumerate(key_steps.segments) if n in chosen]
    hidden = [segment for n, segment in enumerate(key_steps.segments) if n not in chosen]
    return _key_steps(shown, hidden, key_steps.kept)


def with_segments(key_steps: KeySteps, segments: list[Segment]) -> KeySteps:
    """Return other segments of the same recording, in time order; all their moments are kept."""
    kept = key_steps.kept.copy()
    for segment in segments:
        kept[segment.members] = True
    return _key_steps(segments, [], kept)


def _key_steps(shown: list[Segment], hidden: list[Segment], kept: Mask) -> KeySteps:
    step_of = np.full(len(kept), -1, np.int64)
    for position, segment in enumerate(shown):
        step_of[segment.members] = position
    return KeySteps(shown, hidden, step_of, kept)


def cut_segments(clustering: Clustering, gap_seconds: float) -> list[Segment]:
    """Split the kept moments of every cluster at gaps; return segments in time order."""
    kept = clustering.kept
    segments = []
    for cluster in range(clustering.n_clusters):
        members = np.flatnonzero(kept & (clustering.labels == cluster))
        for part in split_at_gaps(clustering.times[members], gap_seconds):
            segments.append(segment_of(clustering, cluster, members[part]))
    return sorted(segments, key=lambda segment: segment.nearest)


def split_at_gaps(times: Seconds, gap_seconds: float) -> list[slice]:
    """Split increasing `times` wherever two neighbours lie more than `gap_seconds` apart.

    >>> split_at_gaps(np.array([0., 1., 2., 7., 8.]), gap_seconds=2.0)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    if len(times) == 0:
        return []
    cuts = np.flatnonzero(np.diff(times) > gap_seconds) + 1
    bounds = [0, *(int(cut) for cut in cuts), len(times)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def separate_segments(
    clustering: Clustering, segments: Sequence[Segment], *, shortest: int
) -> list[Segment]:
    """Return segments in time order that do not overlap and have at least `shortest` moments.

    If all are too short, keep the longest one.
    """
    visits = separate(
        [segment.members for segment in segments],
        shortest=shortest,
        certainty=clustering.certainty,
    )
    if not visits and segments:
        return [max(segments, key=lambda segment: len(segment.members))]
    return [
        segment_of(clustering, segments[position].cluster, members) for position, members in visits
    ]


def segment_of(clustering: Clustering, cluster: int, members: NDArray[np.int64]) -> Segment:
    """Return some moments of a clustering as a segment."""
    own = clustering.distances[members]
    nearest = int(np.argmin(own))
    margin = float(clustering.certainty[members].mean())
    return Segment(cluster, members, int(members[nearest]), float(own[nearest]), margin)
