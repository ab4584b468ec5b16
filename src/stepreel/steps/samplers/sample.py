"""Run a sampler by name, if there is anything to choose, and check what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from stepreel.config import KeyStepSettings
from stepreel.errors import ConstraintError, PluginError
from stepreel.steps.key_steps import MOST_STEPS, KeySteps, show_only
from stepreel.steps.samplers.base import ROUNDING, Candidates, Values, seconds_of
from stepreel.steps.samplers.catalog import SAMPLERS
from stepreel.system.cores import one_thread
from stepreel.types import Recording


def sample_steps(
    key_steps: KeySteps,
    recording: Recording,
    settings: KeyStepSettings,
    moment_features: Callable[[], Values],
    required: frozenset[int] = frozenset(),
) -> KeySteps:
    """Hide the steps beyond what the settings allow; without a limit everything is shown.

    If every step is longer than the budget, one is shown, chosen as if there were no budget.

    moment_features  see `Candidates`
    required         positions of segments that are shown in any case; they count as well
    """
    if required:
        return _beside_required(key_steps, recording, settings, moment_features, required)
    segments, limited_by_page = key_steps.segments, settings.top is None
    candidates = Candidates(
        segments,
        seconds_of(segments, recording),
        moment_features,
        top=MOST_STEPS if limited_by_page else settings.top,
        budget_seconds=settings.budget_seconds,
        limited_by_page=limited_by_page,
    )
    if fits(candidates, range(len(segments))):
        return key_steps
    if is_below_every_step(candidates.seconds, settings.budget_seconds):
        candidates = replace(candidates, top=1, budget_seconds=None, limited_by_page=False)
    return show_only(key_steps, choose(settings.sample, candidates))


def _beside_required(
    key_steps: KeySteps,
    recording: Recording,
    settings: KeyStepSettings,
    moment_features: Callable[[], Values],
    required: frozenset[int],
) -> KeySteps:
    """Choose from the other segments what still fits beside those that are shown in any case."""
    others = [n for n in range(len(key_steps.segments)) if n not in required]
    seconds = seconds_of(key_steps.segments, recording)
    top = (MOST_STEPS if settings.top is None else settings.top) - len(required)
    budget = settings.budget_seconds
    taken = float(seconds[sorted(required)].sum())
    if budget is not None and taken > budget + ROUNDING:
        raise ConstraintError(
            f"the steps that --contains demands last {taken:.1f} s together, more than the "
            f"{budget:g} s that are allowed (--budget)"
        )
    left = None if budget is None else budget - taken
    candidates = Candidates(
        [key_steps.segments[n] for n in others],
        seconds[others],
        moment_features,
        top=top,
        budget_seconds=left,
        limited_by_page=settings.top is None,
    )
    if fits(candidates, range(len(others))):
        return key_steps
    if top <= 0 or is_below_every_step(candidates.seconds, left):
        return show_only(key_steps, sorted(required))
    chosen = {others[n] for n in choose(settings.sample, candidates)}
    return show_only(key_steps, sorted(chosen | required))


def is_below_every_step(seconds: Values, budget_seconds: float | None) -> bool:
    """Tell whether even the shortest step is longer than the budget.

    >>> is_below_every_step(np.array([4.0, 2.0]), 1.5), is_below_every_step(np.array([]), 1.5)
    (True, False)
    """
    if budget_seconds is None or not len(seconds):
        return False
    return bool(seconds.min() > budget_seconds + ROUNDING)


def fits(candidates: Candidates, positions: Sequence[int]) -> bool:
    """Tell whether steps are within the limits."""
    if candidates.top is not None and len(positions) > candidates.top:
        return False
    budget = candidates.budget_seconds
    return budget is None or candidates.seconds[list(positions)].sum() <= budget + ROUNDING


def choose(name: str, candidates: Candidates) -> list[int]:
    """Choose with a sampler that `check_sampler` has accepted; at least one step, in time order."""
    try:
        with one_thread("blas"):  # so that features are the same for any number of cores
            chosen = SAMPLERS[name].choose(candidates)
    except Exception as problem:
        if name in SAMPLERS.own:
            raise
        raise PluginError(  # a plug-in can raise anything
            f"the sampler {name} failed ({type(problem).__name__}: {problem})"
        ) from problem
    positions = np.asarray(chosen)
    if positions.ndim != 1 or not len(positions) or positions.dtype.kind not in "iu":
        raise PluginError(
            f"{name}: chose {positions.dtype} {positions.shape}; expected the positions of at "
            "least one segment, as whole numbers"
        )
    n_segments, n_different = len(candidates.segments), len(np.unique(positions))
    if n_different < len(positions) or not 0 <= positions.min() <= positions.max() < n_segments:
        raise PluginError(
            f"{name}: chose the segments {positions.tolist()[:20]}; expected each once, and "
            f"numbers from 0 to {n_segments - 1}"
        )
    if not fits(candidates, positions.tolist()):
        raise PluginError(
            f"{name}: chose {len(positions)} steps of {candidates.seconds[positions].sum():g} s; "
            f"allowed are {candidates.top} steps, and {candidates.budget_seconds} s"
        )
    return sorted(positions.tolist())
