"""Notes for the readers of a storyboard: what limits it, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepreel.config import KeyStepSettings
from stepreel.features.video_recording import VideoRecording
from stepreel.steps.confidence import calibration, has_clear_structure
from stepreel.steps.decoders.base import Decision
from stepreel.steps.key_steps import KeySteps, shortest_step
from stepreel.steps.samplers.base import ROUNDING, seconds_of
from stepreel.steps.samplers.catalog import SAMPLERS
from stepreel.steps.samplers.sample import is_below_every_step
from stepreel.storyboard.letters import letter
from stepreel.storyboard.review_notes import UNCLEAR_NOTE
from stepreel.storyboard.titles import Titles
from stepreel.types import Clustering, Recording

MOST_NAMED = 9  # kinds in one note
STILL = 0.01  # of the features' mean size; in recordings of people at work it is 0.6 to 0.85


def notes_on_steps(
    recording: Recording,
    clustering: Clustering,
    key_steps: KeySteps,
    settings: KeyStepSettings,
    titles: Titles,
    decision: Decision | None,
) -> list[str]:
    """Return what a reader should know about how the steps were found."""
    return [
        *_still_note(recording),
        *_short_note(recording, key_steps, settings),
        *_hidden_note(recording, key_steps, settings),
        *_budget_note(recording, settings),
        *_missing_kinds_note(clustering, key_steps, settings),
        *_unclear_note(key_steps, decision),
        *titles.unused_note(segment.cluster for segment in key_steps.segments),
    ]


def _still_note(recording: Recording) -> list[str]:
    """Return a note if the features hardly change: then steps depend on time alone."""
    subject = "The picture" if isinstance(recording, VideoRecording) else "The main cue"
    main = next(iter(recording.tracks.values()))
    rows = np.flatnonzero(main.valid)
    sample = main.features[rows[:: max(1, len(rows) // 1000)]]
    if len(sample) < 2 or float(sample.std(axis=0).mean()) > STILL * float(np.abs(sample).mean()):
        return []
    return [f"{subject} hardly changes: the steps are little more than equal parts of the time."]


def _short_note(recording: Recording, key_steps: KeySteps, settings: KeyStepSettings) -> list[str]:
    """Return a note if every step is too short, so that the longest one is shown nevertheless."""
    segments = [*key_steps.segments, *key_steps.hidden]
    shortest = shortest_step(settings, moment_seconds=recording.moment_seconds)
    seconds = seconds_of(segments, recording)
    if len(segments) != 1 or len(segments[0].members) >= shortest:
        return []
    if seconds[0] >= settings.min_step_seconds - ROUNDING:  # with moments that were left out
        return []
    return [
        f"No step lasts {settings.min_step_seconds:g} s (--shortest); the longest one is shown, "
        f"although it lasts {seconds[0]:.1f} s."
    ]


def _hidden_note(recording: Recording, key_steps: KeySteps, settings: KeyStepSettings) -> list[str]:
    """Return a note if a limit on the number of steps, or on their time, hides some of them."""
    shown, found = len(key_steps.segments), len(key_steps.segments) + len(key_steps.hidden)
    budget = settings.budget_seconds
    seconds = seconds_of([*key_steps.segments, *key_steps.hidden], recording)
    if is_below_every_step(seconds, budget):
        return [
            f"{shown} of the {found} steps found are shown, although longer than the {budget:g} s "
            f"asked for (--budget): the shortest one lasts {seconds.min():.1f} s."
        ]
    if not key_steps.hidden:
        return []
    limits = [] if settings.top is None else [f"at most {settings.top} were asked for (--top)"]
    if budget is not None:
        limits.append(f"together they may last {budget:g} s (--budget)")
    which = f"{shown} of the {found} steps found are shown, {SAMPLERS[settings.sample].shows}"
    if limits:
        return [f"{which}, because {', and '.join(limits)}."]
    return [
        f"{which}: a page cannot carry more. Fewer kinds (--clusters) or longer steps "
        "(--set key_steps.min_step_seconds=3) give fewer steps."
    ]


def _budget_note(recording: Recording, settings: KeyStepSettings) -> list[str]:
    """Return a note if more time is allowed than the recording has."""
    budget, seconds = settings.budget_seconds, recording.duration_seconds
    if budget is None or budget < seconds:
        return []
    return [
        f"The recording lasts {seconds:.1f} s, so that a limit of {budget:g} s (--budget) hides "
        "nothing."
    ]


def _missing_kinds_note(
    clustering: Clustering, key_steps: KeySteps, settings: KeyStepSettings
) -> list[str]:
    """Return a note if there are fewer kinds of steps than requested, and say why."""
    was_asked = settings.n_clusters is not None
    requested = settings.number_of_clusters if was_asked else clustering.n_clusters
    if settings.decoder != "kmeans" and (not was_asked or clustering.n_clusters < requested):
        return []  # the number was found, or only a limit
    visited = {segment.cluster for segment in [*key_steps.segments, *key_steps.hidden]}
    present = {int(cluster) for cluster in np.unique(clustering.labels[~clustering.excluded])}
    if len(visited) >= requested:
        return []
    reasons = []
    if short := sorted(present - visited):
        reasons.append(
            f"{_kinds(short)} never lasts {settings.min_step_seconds:g} s without interruption"
            if len(short) == 1
            else f"{_kinds(short)} never last {settings.min_step_seconds:g} s without interruption"
        )
    if absent := sorted(set(range(clustering.n_clusters)) - present):
        verb = "does" if len(absent) == 1 else "do"
        reasons.append(f"{_kinds(absent)} {verb} not occur in this recording")
    if clustering.n_clusters < requested:
        reasons.append("its moments differ too little for more")
    return [f"Found {len(visited)} of {requested} kinds of steps: {'; '.join(reasons)}."]


def _unclear_note(key_steps: KeySteps, decision: Decision | None) -> list[str]:
    """Return a note if no clear structure was found."""
    segments = [*key_steps.segments, *key_steps.hidden]
    values = [segment.confidence for segment in segments]
    found = None if decision is None else decision.found_structure
    if not segments or has_clear_structure(values, calibration().clear, found=found):
        return []
    return [UNCLEAR_NOTE]


def _kinds(clusters: Sequence[int]) -> str:
    """Name kinds of steps by their letters.

    >>> _kinds([0]), _kinds([1, 3, 4])
    ('kind A', 'kinds B, D and E')
    >>> _kinds(range(40))
    'kinds A, B, C, D, E, F, G, H and 32 others'
    """
    letters = [letter(cluster) for cluster in clusters]
    if len(letters) > MOST_NAMED:
        letters = [*letters[: MOST_NAMED - 1], f"{len(letters) - MOST_NAMED + 1} others"]
    if len(letters) == 1:
        return f"kind {letters[0]}"
    return f"kinds {', '.join(letters[:-1])} and {letters[-1]}"
