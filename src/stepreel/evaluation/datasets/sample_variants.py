"""Takes of the sample task with known departures: skipped, swapped, repeated and added steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepreel.evaluation.datasets.sample import (
    FPS,
    Sample,
    SampleStep,
    make_sample,
    sample_step_names,
)

USUAL = "123567"


@dataclass(frozen=True)
class Variant:
    """One take.

    order       numbers of its steps
    departures  from the usual order, as a comparison names them: a type, and the numbers of steps
    """

    order: str
    departures: tuple[tuple[str, str], ...] = ()


VARIANTS = {
    "take1": Variant(USUAL),
    "take2": Variant(USUAL),
    "take3": Variant("12367", (("skipped", "5"),)),
    "take4": Variant("132567", (("swapped", "32"),)),
    "take5": Variant("1235627", (("repeated", "2"),)),
    "take6": Variant("1235467", (("added", "4"),)),
    "take7": Variant(USUAL),
}


def plan_variant(
    variant: Variant,
    seed: int,
    *,
    step_seconds: tuple[float, float] = (5.0, 9.0),
    pause_seconds: tuple[float, float] = (0.2, 2.0),
) -> tuple[list[SampleStep], float]:
    """Choose how long the steps of a take last; also return the length of the recording.

    step_seconds   the shortest and the longest step; one needs 3 s for hands to come and go
    pause_seconds  the same of the pauses before, between and after steps
    """
    rng, names = np.random.default_rng([seed, 3]), sample_step_names()
    now, steps = 0.0, []
    for number in map(int, variant.order):
        start = _on_a_frame(now + rng.uniform(*pause_seconds))
        now = _on_a_frame(start + rng.uniform(*step_seconds))
        steps.append(SampleStep(start, now, number, names[number - 1]))
    return steps, _on_a_frame(now + rng.uniform(*pause_seconds))


def make_variants(
    folder: Path,
    *,
    seed: int = 0,
    step_seconds: tuple[float, float] = (5.0, 9.0),
    pause_seconds: tuple[float, float] = (0.2, 2.0),
) -> dict[str, Sample]:
    """Film all variants, each by another person; return their files by name."""
    samples = {}
    for number, (name, variant) in enumerate(VARIANTS.items()):
        plan = plan_variant(
            variant, seed + number, step_seconds=step_seconds, pause_seconds=pause_seconds
        )
        samples[name] = make_sample(folder, seed=seed + number, name=name, plan=plan)
    return samples


def _on_a_frame(seconds: float) -> float:
    return round(seconds * FPS) / FPS
