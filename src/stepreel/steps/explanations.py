"""Why a step is one: which cue changes at its borders, and which other steps look like it.

Neither is used to find steps or to rate them; both are for readers. Hence they are stated only
where they are clear, and a step of which nothing is clear has an empty explanation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from stepreel.steps.evidence import TaskSteps, Values, border_window, changes, is_white_noise
from stepreel.steps.key_steps import Explanation, KeySteps

CLEAR_CHANGE = 2.0  # times the median change of the recording
CLEAR_SHARE = 0.75  # of all moments, at which a cue has to change less
CLEARLY_ALIKE = 0.5  # as a share of how far apart two steps usually are
MOST_ALIKE = 3


def explain_steps(key_steps: KeySteps, task: TaskSteps, position: int) -> KeySteps:
    """Return the key steps of a recording; shown segments have an explanation.

    In white noise nothing starts or ends, and no cue is named.
    """
    shown = key_steps.segments
    if not shown:
        return key_steps
    recording, features = task.recordings[position], task.projected(position)
    found = [*shown, *key_steps.hidden]
    window = border_window(recording, len(found))
    by_cue = {} if is_white_noise(task, position) else features.by_cue
    strengths = {cue: change_strengths(own, window) for cue, own in by_cue.items()}
    means = np.stack([features.together[segment.members].mean(axis=0) for segment in found])
    alike = alike_steps(means, len(shown)) if by_cue else [()] * len(shown)
    n_moments = len(recording.times)
    segments = [
        replace(
            segment,
            explanation=Explanation(
                cues_at(int(segment.members[0]), n_moments, strengths),
                cues_at(int(segment.members[-1]) + 1, n_moments, strengths),
                looks_like,
            ),
        )
        for segment, looks_like in zip(shown, alike, strict=True)
    ]
    return replace(key_steps, segments=segments)


def change_strengths(features: Values, window: int) -> Values:
    """Return (T + 1,) how much a cue changes before every moment, in medians of the recording.

    0 where that is not clearly above what is usual, where too few moments come before or after to
    tell, and everywhere if the cue hardly varies.
    """
    strengths = np.zeros(len(features) + 1)
    if len(features) < 4 or not features.any():
        return strengths
    change = changes(features, window)
    usual = max(float(np.median(change)), 1e-9)
    least = max(CLEAR_CHANGE * usual, float(np.quantile(change, CLEAR_SHARE)))
    strengths[1:-1] = np.where(change > least, change / usual, 0.0)
    beside = window // 2
    strengths[: beside + 1] = strengths[len(features) - beside :] = 0.0
    return strengths


def cues_at(
    moment: int, n_moments: int, strengths: Mapping[str, Values]
) -> dict[str, float] | None:
    """Return the cues that clearly change just before a moment, the strongest first.

    None at the recording's own start and end, where there is nothing to compare.

    >>> cues_at(1, 2, {"gaze": np.array([0, 2.5, 0]), "hands": np.array([0, 4.0, 0])})
    {'hands': 4.0, 'gaze': 2.5}
    """
    if moment in (0, n_moments):
        return None
    changed = {cue: float(own[moment]) for cue, own in strengths.items() if own[moment] > 0}
    return dict(sorted(changed.items(), key=lambda item: -item[1]))


def alike_steps(means: Values, n_shown: int) -> list[tuple[tuple[int, float], ...]]:
    """Return, for the first n_shown steps, which of them look alike, and how much.

    The similarity is 1 - distance / the root mean square distance of all steps: 0 for two that are
    as different as steps usually are, 1 for two whose features have the same mean.

    >>> alike_steps(np.array([[0.0], [0.1], [9.0]]), 3)
    [((1, 0.986),), ((0, 0.986),), ()]
    """
    n_steps = len(means)
    squared = np.square(means).sum(axis=1)
    squares = np.maximum(squared[:, None] + squared - 2 * means @ means.T, 0)
    np.fill_diagonal(squares, 0.0)
    usual = float(np.sqrt(squares.sum() / max(1, n_steps * (n_steps - 1))))
    if n_steps < 3 or usual < 1e-9:
        return [()] * n_shown
    similarity = 1 - np.sqrt(squares[:n_shown, :n_shown]) / usual
    np.fill_diagonal(similarity, -np.inf)
    return [_most_alike(own) for own in similarity]


def _most_alike(similarity: Values) -> tuple[tuple[int, float], ...]:
    best = np.argsort(-similarity, kind="stable")[:MOST_ALIKE]
    least = 1 - CLEARLY_ALIKE
    return tuple((int(n), round(float(similarity[n]), 3)) for n in best if similarity[n] >= least)
