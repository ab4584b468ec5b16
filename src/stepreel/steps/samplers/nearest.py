"""The steps whose moment is nearest to the centre of its cluster, as the paper shows them."""

from __future__ import annotations

from stepreel.steps.samplers.base import Candidates, Sampler


def choose(candidates: Candidates) -> list[int]:
    """Take the nearest steps that fit."""
    segments = candidates.segments
    return candidates.take(sorted(range(len(segments)), key=lambda n: segments[n].distance))


NEAREST = Sampler(
    choose,
    shows="those nearest to the centre of their kind",
    title="the steps nearest to the centre of their kind, as in the paper",
)
