"""Whatever is demanded of the steps of a recording holds for what a reader sees, or is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stepreel.config import KeyStepSettings
from stepreel.errors import ConstraintError, SettingsError
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.constraints import check_constraints, check_shown, constrained
from stepreel.steps.decoders.base import from_labels
from stepreel.steps.key_steps import pick_key_steps
from stepreel.steps.samplers.sample import sample_steps

labellings = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=8).map(
    lambda runs: np.array([kind for kind, length in runs for _ in range(length)])
)


@st.composite
def recordings(draw):
    """Return a recording of a moment per second with gaps, and its clustering with holes."""
    labels = draw(labellings)
    seconds = st.lists(st.sampled_from([1, 1, 1, 1, 1, 2, 5]), min_size=len(labels))
    masks = st.lists(st.sampled_from([False, False, False, True]), min_size=len(labels))
    times = np.cumsum(draw(seconds)[: len(labels)]).astype(float)
    features = labels[:, None] + np.sin(np.arange(len(labels)))[:, None]
    recording = recording_from_arrays("r", times - times[0], {"a": features})
    assume(recording.moment_seconds == 1.0)
    excluded, uncertain = (np.array(draw(masks)[: len(labels)]) for _ in range(2))
    clustering = from_labels(recording, labels, 4)
    return recording, replace(clustering, excluded=excluded, uncertain=uncertain)


@st.composite
def demands(draw, duration):
    moment = st.integers(0, int(2 * duration) - 1).map(lambda halves: halves / 2)
    pairs = st.lists(st.tuples(moment, moment), max_size=2)
    return KeyStepSettings(
        contains=tuple(draw(st.lists(moment, max_size=2))),
        same=tuple(draw(pairs)),
        different=tuple(draw(pairs)),
        at_least=draw(st.none() | st.integers(1, 6)),
        top=draw(st.none() | st.integers(1, 6)),
        budget_seconds=draw(st.none() | st.integers(1, 30)),
        min_step_seconds=draw(st.sampled_from([1, 2, 3])),
        split_gap_seconds=draw(st.sampled_from([1, 2, 10])),
    )


@settings(max_examples=300, deadline=None)
@given(recordings(), st.data())
def test_whatever_is_demanded_holds_or_is_refused(recorded, data):
    recording, clustering = recorded
    choice = data.draw(demands(recording.duration_seconds))
    features = lambda: np.asarray(recording.tracks["a"].features, float)  # noqa: E731
    picked = pick_key_steps(clustering, choice, moment_seconds=recording.moment_seconds)
    try:
        check_constraints(choice, 1)
        got = constrained(picked, clustering, recording, choice, features)
        shown = sample_steps(got.key_steps, recording, choice, features, got.required)
        check_shown(shown, recording, choice)
    except (ConstraintError, SettingsError) as problem:
        refusal = str(problem)
    else:
        refusal = None
    if refusal is not None:
        assert choice.same or "--same makes" not in refusal
        return

    def extent(segment):
        first, last = segment.members[[0, -1]]
        is_last = last == len(recording.times) - 1
        end = recording.times[last] + recording.moment_seconds
        return recording.times[first], recording.duration_seconds if is_last else end

    def kinds_at(time, segments):
        at_time = [(extent(segment), segment.cluster) for segment in segments]
        return [kind for (start, end), kind in at_time if start <= time < end]

    steps = got.key_steps.segments
    assert all(extent(one)[1] <= extent(other)[0] for one, other in pairwise(steps))
    shortest = choice.min_step_seconds / recording.moment_seconds
    assert len(steps) == 1 or all(len(step.members) >= shortest for step in steps)
    assert all(kinds_at(time, shown.segments) for time in choice.contains)
    assert all(kinds_at(a, steps) == kinds_at(b, steps) != [] for a, b in choice.same)
    for a, b in choice.different:
        assert kinds_at(a, steps)
        assert kinds_at(b, steps)
        assert kinds_at(a, steps) != kinds_at(b, steps)
    assert len(shown.segments) >= (choice.at_least or 0)
    assert len(shown.segments) <= (choice.top or len(steps))
    seconds = [end - start for start, end in map(extent, shown.segments)]
    budget = choice.budget_seconds or sum(seconds)
    assert sum(seconds) <= budget or (len(seconds) == 1 and not choice.contains)
