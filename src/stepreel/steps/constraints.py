"""What a person demands of the steps of one recording: it holds exactly, or an error says why not.

* a shown step contains a moment
* two moments are the same step, or they are not
* there are at least so many steps

Steps are changed as little as that takes. Which are shown is chosen afterwards; a step that
contains a demanded moment always is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepreel.config import KeyStepSettings, Settings
from stepreel.errors import ConstraintError, SettingsError
from stepreel.steps.draft import Draft, groups_of
from stepreel.steps.extents import Extents
from stepreel.steps.key_steps import KeySteps, Segment, with_segments
from stepreel.steps.samplers.base import ROUNDING, seconds_of
from stepreel.types import Clustering, Recording

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Constrained:
    """Key steps that meet what was demanded.

    required  positions of the segments that have to be shown
    """

    key_steps: KeySteps
    required: frozenset[int]


def has_constraints(settings: KeyStepSettings) -> bool:
    """Tell whether anything is demanded of the steps of a recording."""
    return bool(
        settings.contains or settings.same or settings.different or settings.at_least is not None
    )


def check_steps_fit(settings: KeyStepSettings, recording: Recording) -> None:
    """Raise ConstraintError if a recording is too short for as many steps as are asked for."""
    shortest, seconds = settings.min_step_seconds, recording.duration_seconds
    if settings.n_steps is not None and settings.n_steps[0] * shortest > seconds:
        raise ConstraintError(
            f"--steps {settings.n_steps[0]}: at most {int(seconds / shortest)} steps of "
            f"{shortest:g} s (--shortest) fit into {seconds:.1f} s; ask for fewer, or shorter ones"
        )


def without_constraints(settings: Settings) -> Settings:
    """Return settings that demand nothing."""
    free = {"contains": (), "same": (), "different": (), "at_least": None}
    key_steps = settings.key_steps.model_copy(update=free)
    return settings.model_copy(update={"key_steps": key_steps})


def check_constraints(settings: KeyStepSettings, n_recordings: int) -> None:
    """Raise SettingsError if demands contradict each other, or cannot be meant."""
    if n_recordings > 1 and (settings.contains or settings.same or settings.different):
        raise SettingsError(
            "--contains, --same and --different are about moments of one recording, and there are "
            f"{n_recordings}; name the folder of one, as in `stepreel tune out/take1`"
        )
    groups = groups_of(settings.same)
    for a, b in settings.different:
        if a == b or any(a in group and b in group for group in groups):
            raise SettingsError(
                f"the moments {a:g} s and {b:g} s cannot be both the same step (--same) and "
                "different steps (--different); leave one out"
            )
    if settings.at_least is not None and settings.at_least > (settings.top or settings.at_least):
        raise SettingsError(
            f"at least {settings.at_least} steps (--at-least) and at most {settings.top} (--top) "
            "contradict each other"
        )


def constrained(
    key_steps: KeySteps,
    clustering: Clustering,
    recording: Recording,
    settings: KeyStepSettings,
    moment_features: Callable[[], Values],
) -> Constrained:
    """Change steps as little as it takes to meet what the settings demand.

    ConstraintError says what cannot be met, and why.

    moment_features  returns the features of all moments (T, D)
    """
    if not has_constraints(settings):
        return Constrained(key_steps, frozenset())
    extents = Extents(recording)
    for option, times in _demands(settings):
        for time in times:
            extents.moment_at(time, option)
    if not unmet(key_steps.segments, extents, settings):
        return _shown(key_steps, extents, settings)
    draft = Draft(key_steps, clustering, recording, settings, moment_features)
    for time in settings.contains:
        draft.require(time, "--contains")
    for a, b in settings.different:
        draft.part(a, b)
    for a, b in settings.same:
        draft.require(a, "--same")
        draft.require(b, "--same")
    draft.join()
    for a, b in settings.different:
        draft.tell_apart(a, b)
    if settings.at_least is not None:
        draft.have(settings.at_least)
    if problem := unmet(draft.segments, extents, settings):
        raise ConstraintError(problem)
    return _shown(with_segments(key_steps, draft.segments), extents, settings)


def _shown(key_steps: KeySteps, extents: Extents, settings: KeyStepSettings) -> Constrained:
    """Return steps with those that have to be shown, which contain a moment of --contains."""
    demanded = [extents.segment_at(key_steps.segments, time) for time in settings.contains]
    required = frozenset(
        n for n, segment in enumerate(key_steps.segments) if any(segment is d for d in demanded)
    )
    if settings.top is not None and len(required) > settings.top:
        raise ConstraintError(
            f"{len(required)} steps have to be shown because of --contains, but at most "
            f"{settings.top} may be (--top)"
        )
    return Constrained(key_steps, required)


def _demands(settings: KeyStepSettings) -> list[tuple[str, tuple[float, ...]]]:
    """Return what is demanded of moments: the option, and their times."""
    return [
        *(("--contains", (time,)) for time in settings.contains),
        *(("--same", pair) for pair in settings.same),
        *(("--different", pair) for pair in settings.different),
    ]


def unmet(segments: Sequence[Segment], extents: Extents, settings: KeyStepSettings) -> str | None:
    """Return what segments, shown or not, do not meet; None if they meet everything."""

    def kind_at(time: float) -> int | None:
        segment = extents.segment_at(segments, time)
        return None if segment is None else segment.cluster

    for option, times in _demands(settings):
        demand = f"{option} {','.join(f'{time:g}' for time in times)}"
        kinds = [kind_at(time) for time in times]
        for time, kind in zip(times, kinds, strict=True):
            if kind is None:
                return f"{demand}: no step could be made to contain {time:g} s"
        if option == "--same" and len(set(kinds)) > 1:
            return f"{demand}: the steps there could not be made one"
        if option == "--different" and len(set(kinds)) == 1:
            return f"{demand}: the steps there could not be told apart"
    if len(segments) < (settings.at_least or 0):
        return f"--at-least {settings.at_least}: there are only {len(segments)} steps"
    return None


def check_shown(shown: KeySteps, recording: Recording, settings: KeyStepSettings) -> None:
    """Raise ConstraintError if steps that were chosen to be shown do not meet the settings."""
    extents = Extents(recording)
    for time in settings.contains:
        if extents.segment_at(shown.segments, time) is None:
            raise ConstraintError(f"--contains {time:g}: the step there could not be shown")
    n_shown, at_least = len(shown.segments), settings.at_least or 0
    if n_shown >= at_least:
        return
    found = [*shown.segments, *shown.hidden]
    limit = "others do not fit"
    if settings.budget_seconds is not None:
        shortest = float(np.sort(seconds_of(found, recording))[:at_least].sum())
        limit = f"together they may last {settings.budget_seconds:g} s (--budget)"
        if shortest > settings.budget_seconds + ROUNDING:
            limit += f", and the {at_least} shortest ones last {shortest:.1f} s"
    raise ConstraintError(
        f"--at-least {at_least}: {n_shown} of the {len(found)} steps found are shown "
        f"(--sample {settings.sample}): {limit}"
    )
