"""The clearest steps, as Algorithm 1 orders them; here confidence counts before distance."""

from __future__ import annotations

from collections.abc import Sequence

from stepreel.steps.key_steps import Segment
from stepreel.steps.samplers.base import Candidates, Sampler


def clearest_first(segments: Sequence[Segment]) -> list[int]:
    """Return the positions of segments by confidence, then by distance to their centre."""

    def rank(position: int) -> tuple[float, float]:
        return -segments[position].confidence, segments[position].distance

    return sorted(range(len(segments)), key=rank)


def choose(candidates: Candidates) -> list[int]:
    """Take the clearest steps that fit."""
    return candidates.take(clearest_first(candidates.segments))


ALGORITHM_1 = Sampler(
    choose, shows="the clearest ones", title="the clearest steps: by confidence, then by distance"
)
