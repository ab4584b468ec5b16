"""What untrained decoders see of every take: context features, and how much time has passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepreel.config import LONGEST_SETTING, pick_cues
from stepreel.derived import Group, has_form
from stepreel.errors import RecordingError
from stepreel.features.context import (
    CONTEXT,
    ContextBasis,
    CueBasis,
    context_of,
    context_widths,
    fitted_context,
)
from stepreel.steps.decoders.base import Kinds, Takes
from stepreel.system.store import digest
from stepreel.types import FeatureTrack, Floats, Mask, Recording, Seconds

FITTED_PER_WINDOW = 4  # moments per σ that are fitted to: neighbours say the same
MOST_FITTED = 6000  # moments of all takes: more make no difference, and k-means takes longer
BASIS = "basis."  # begins the names of its arrays
SPREAD_OF_TIME = np.sqrt(12.0)  # makes the variance of uniform time 1

Values = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class TimedPoints:
    """The context features of all takes, one after the other, and relative time.

    features  (T, D) z-scored per take
    passed    (T,) share of its take that has passed, from 0 to 1
    known     (T,) where any cue is valid
    fitted    (T,) the moments that are enough to fit something to
    lengths   moments of every take
    widths    columns of every cue
    spacing   seconds between moments that are fitted to
    """

    features: Values
    passed: Values
    known: Mask
    fitted: Mask
    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    spacing: float

    def with_time(self, weight: float) -> Values:
        """Return features with time as one more column, of `weight` times their length."""
        if not weight:
            return self.features
        scale = weight * SPREAD_OF_TIME * np.sqrt(self.features.shape[1])
        return np.column_stack([self.features, scale * (self.passed - 0.5)])

    def columns(self, chosen: NDArray[np.int64]) -> TimedPoints:
        """Return the same with some of the columns, as if there were one cue."""
        return replace(self, features=self.features[:, chosen], widths=(len(chosen),))

    def thinned(self) -> TimedPoints:
        """Return only the moments that are enough to fit something to."""
        take_of = self.take_of()[self.fitted]
        return replace(
            self,
            features=self.features[self.fitted],
            passed=self.passed[self.fitted],
            known=self.known[self.fitted],
            fitted=self.fitted[self.fitted],
            lengths=tuple(np.bincount(take_of, minlength=len(self.lengths)).tolist()),
        )

    def split(self, values: NDArray[T]) -> list[NDArray[T]]:
        """Cut (T, …) into one array per take."""
        return np.split(values, np.cumsum(self.lengths)[:-1])

    def take_of(self) -> NDArray[np.int64]:
        """Return (T,) the number of the take of every moment."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def fit_points(takes: Takes) -> tuple[ContextBasis, TimedPoints]:
    """Fit the components of the cues a run looks at; return also the points of its takes.

    Both depend on all takes. They are kept with these, because fitting reads all their features.
    """
    cues, window = _cues(takes), takes.window_seconds
    together = digest([recording.fingerprint for recording in takes.recordings])
    name = ("context", window, tuple(cues), together)
    fitted: list[tuple[ContextBasis, list[FeatureTrack]]] = []

    def fit() -> tuple[ContextBasis, list[FeatureTrack]]:
        if not fitted:
            fitted.append(fitted_context(takes.recordings, window_seconds=window, cues=cues))
        return fitted[0]

    kept = [
        recording.derived.get_all(
            name,
            partial(lambda n: _kept_context(*fit(), n), number),
            partial(_fits, recording=recording, cues=cues),
        )
        for number, recording in enumerate(takes.recordings)
    ]
    basis = basis_from({key.removeprefix(BASIS): x for key, x in kept[0].items()}, cues)
    contexts = [
        FeatureTrack(recording.name, CONTEXT, recording.times, own["features"], own["valid"])
        for recording, own in zip(takes.recordings, kept, strict=True)
    ]
    return basis, _points_of(takes, contexts, basis)


def _kept_context(
    basis: ContextBasis, contexts: Sequence[FeatureTrack], number: int
) -> dict[str, NDArray[Any]]:
    own = contexts[number]
    arrays = {f"{BASIS}{name}": array for name, array in basis_arrays(basis).items()}
    return {**arrays, "features": own.features, "valid": own.valid}


def _fits(kept: Group, recording: Recording, cues: Sequence[str]) -> bool:
    """Return whether arrays from a file can be what `_kept_context` returns for a recording."""
    try:
        basis = basis_from({key.removeprefix(BASIS): x for key, x in kept.items()}, cues)
    except (KeyError, IndexError, ValueError, TypeError):
        return False
    for cue, fitted in basis.cues.items():
        if not has_form(fitted.reduction, "float32", recording.tracks[cue].width, None):
            return False
        width = 3 * fitted.reduction.shape[1]
        if not has_form(fitted.mean, "float32", width):
            return False
        if not has_form(fitted.components, "float32", width, None):
            return False
    n_moments, n_columns = len(recording.times), sum(context_widths(basis))
    return has_form(kept.get("features"), "float32", n_moments, n_columns) and has_form(
        kept.get("valid"), "bool", n_moments
    )


def points_in(takes: Takes, kinds: Kinds) -> TimedPoints:
    """Return the points of later takes, with the components of a model."""
    basis = basis_from(kinds, _cues(takes))
    return _points_of(takes, context_of(takes.recordings, basis), basis)


def _cues(takes: Takes) -> list[str]:
    cues = list(takes.recordings[0].tracks)
    return pick_cues(takes.settings.embed.cues, cues, setting="embed.cues")


def _points_of(takes: Takes, contexts: Sequence[FeatureTrack], basis: ContextBasis) -> TimedPoints:
    return joined(
        takes, contexts, window_seconds=basis.window_seconds, widths=context_widths(basis)
    )


def joined(
    takes: Takes,
    tracks: Sequence[FeatureTrack],
    *,
    window_seconds: float,
    widths: Sequence[int],
) -> TimedPoints:
    """Join one track of every take; RecordingError if nothing is known of any."""
    known = np.concatenate([track.valid for track in tracks])
    if not known.any():
        raise RecordingError("no moment has valid features; there is nothing to cluster")
    passed = [share_passed(len(track)) for track in tracks]
    seconds = sum(len(take.times) * take.moment_seconds for take in takes.recordings)
    period = max(window_seconds / FITTED_PER_WINDOW, seconds / MOST_FITTED)
    fitted = np.concatenate([every(track.times, period) for track in tracks])
    return TimedPoints(
        features=np.concatenate([track.features for track in tracks]).astype(np.float64),
        passed=np.concatenate(passed),
        known=known,
        fitted=fitted & known if (fitted & known).any() else known,
        lengths=tuple(len(track) for track in tracks),
        widths=tuple(widths),
        spacing=max(period, *(take.moment_seconds for take in takes.recordings)),
    )


def share_passed(n_moments: int) -> Values:
    """Return the share of a take that has passed at each moment; gaps do not count.

    >>> share_passed(4).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    return np.arange(n_moments) / max(n_moments, 1)


def every(times: Seconds, period: float) -> Mask:
    """Mark the first moment of every period.

    >>> every(np.array([0.0, 0.4, 1.1, 1.9, 5.0]), 1.0).tolist()
    [True, False, True, False, True]
    """
    number = np.floor((times - times[:1]) / period + 1e-9)
    return np.concatenate([[True], np.diff(number) > 0])[: len(times)]


def basis_arrays(basis: ContextBasis) -> dict[str, Floats]:
    """Return a basis as arrays for a model."""
    arrays = {"window_seconds": np.array([basis.window_seconds], np.float32)}
    for cue, fitted in basis.cues.items():
        arrays[f"{cue}/reduction"] = fitted.reduction
        arrays[f"{cue}/mean"] = fitted.mean
        arrays[f"{cue}/components"] = fitted.components
    return arrays


def basis_from(kinds: Kinds, cues: Sequence[str]) -> ContextBasis:
    """Read a basis back from the arrays of a model; KeyError if one is missing."""
    fitted: Mapping[str, CueBasis] = {
        cue: CueBasis(*(kinds[f"{cue}/{part}"] for part in ("reduction", "mean", "components")))
        for cue in cues
    }
    window_seconds = float(kinds["window_seconds"][0])
    if not 0 < window_seconds <= LONGEST_SETTING:
        raise ValueError(f"a window of {window_seconds:g} s")
    return ContextBasis(window_seconds, fitted)
