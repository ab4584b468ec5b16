"""Find out what kind of task it is, and choose the decoder for it. No label is seen.

One take: `changes`. Several: where order tells the next step clearly better than time does, moments
are grouped by what they show (`hmm`), and a little by when, unless kinds of steps come back. Else
time weighs as much as it can without explaining less of the takes that are left out (`judge`);
where that is all, the takes share a `clock`. With few takes hardly anything is clear, and the
result is close to equal parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stepreel.config import USUAL_CLUSTERS
from stepreel.features.context import ContextBasis
from stepreel.steps.decoders import changes, clock, hmm
from stepreel.steps.decoders.base import Decision, Decoded, Decoder, Takes
from stepreel.steps.decoders.few_moments import on_few_moments, with_few_moments
from stepreel.steps.decoders.judge import (
    CLEARLY,
    TIME_WEIGHTS,
    Difference,
    best_time_weight,
    difference,
    explained_elsewhere,
    explains_anything,
    is_surely_more,
    order_over_time,
)
from stepreel.steps.decoders.number import Number, number_of_kinds, usual_number
from stepreel.steps.decoders.timed_points import TimedPoints, Values, fit_points

MOSTLY_TIME = 2.0  # weight from which time decides more than what moments show
OWN_SPEED = 0.25  # weight of time where kinds have an order, but do not come back
OFTEN = 1.25  # visits of each kind in a take, from which kinds come back

RECUR = "Steps recur: moments were grouped by what they show."
OWN_TIME = (
    "Each kind of step comes about once in a take, at its own time: moments were grouped by what "
    "they show, and a little by when."
)
WHENEVER = "Steps come at different times in all takes: moments were grouped by what they show."
BOTH = (
    "Steps come at similar times in all takes: moments were grouped by what they show, and by when."
)
MOSTLY = (
    "Steps come in the same order in all takes: moments were grouped mostly by when they come, and "
    "a little by what they show."
)
SAME_ORDER = "Steps come in the same order in all takes: borders were placed by shared time."
LITTLE = "Little structure found: these are close to equal parts; another take or cue would help."


class Judgement(NamedTuple):
    """What was found out about a task.

    time_weight     0: only what moments show counts; infinite: takes share a clock
    order           bits per step that order tells more than time
    visits          of each kind of step in a take, without time; 0 if that was not asked
    explained       share of unseen features explained with this weight
    by_equal_parts  the same, by equal parts
    explains        whether kinds surely explain anything
    """

    time_weight: float
    order: Difference
    visits: float
    explained: Difference
    by_equal_parts: Difference
    explains: bool

    @property
    def sentence(self) -> str:
        """Say in one sentence how steps were therefore found."""
        if self.visits:
            return RECUR if self.visits >= OFTEN else OWN_TIME
        if self.time_weight < MOSTLY_TIME:
            return BOTH if self.time_weight else WHENEVER
        if not self.explains:
            return LITTLE
        return MOSTLY if np.isfinite(self.time_weight) else SAME_ORDER

    @property
    def found_structure(self) -> bool:
        """Whether there is more than equal parts."""
        return self.sentence != LITTLE

    @property
    def figures(self) -> dict[str, float]:
        """What the decision rests on; equal parts are shown as a weight of -1."""
        return {
            "time_weight": self.time_weight if np.isfinite(self.time_weight) else -1.0,
            "order_bits": round(self.order.mean, 4),
            "order_bits_error": round(self.order.error, 4) if self.order.error < np.inf else -1.0,
            "visits_per_kind": round(self.visits, 4),
            "explained": round(self.explained.mean, 4),
            "explained_by_equal_parts": round(self.by_equal_parts.mean, 4),
        }


def judge(takes: Takes, points: TimedPoints, shares: Values | None = None) -> Judgement:
    """Find out, without labels, how much time should weigh in finding the steps of a task.

    shares  what `explained_elsewhere` returns, if it is known already
    """
    order = order_over_time(points, takes.n_clusters, seed=takes.seed)
    if shares is None:
        shares = explained_elsewhere(points, takes.n_clusters, seed=takes.seed)
    # Neighbouring moments share what they show, so noise has an order, too; it explains nothing.
    has_order = order.mean > CLEARLY * order.error and explains_anything(shares)
    visits = visits_per_kind(takes, points) if has_order else 0.0
    weight = best_time_weight(shares)
    if has_order:
        weight = 0.0 if visits >= OFTEN else OWN_SPEED
    own = shares[TIME_WEIGHTS.index(weight)]
    return Judgement(
        weight, order, visits, difference(own), difference(shares[-1]), is_surely_more(own)
    )


def visits_per_kind(takes: Takes, points: TimedPoints) -> float:
    """Return how often a kind of step comes in a take, on average, when time does not count."""
    states = hmm.fit_states(points, takes.n_clusters, seed=takes.seed)
    labels = points.split(hmm.label(takes, points, states))
    visits = [(1 + np.count_nonzero(np.diff(own))) / len(np.unique(own)) for own in labels]
    return float(np.mean(visits))


def decode(takes: Takes) -> Decoded:
    """Label all takes with the decoder that suits the task."""
    if len(takes.recordings) == 1:
        return replace(changes.decode(takes), used="changes")
    return _decode_together(takes)


@on_few_moments
def _decode_together(takes: Takes) -> Decoded:
    basis, points = fit_points(takes)
    judgement = judge(takes, points)
    if not takes.is_number_open:
        return decode_judged(takes, basis, points, judgement)
    number = number_of_kinds(takes, points, judgement.time_weight)
    takes = takes.with_number(number.found)
    if number.found != USUAL_CLUSTERS:
        judgement = judge(takes, points)
    decoded = decode_judged(takes, basis, points, judgement)
    return replace(decoded, natural=number.natural)


def found_number(takes: Takes) -> Number:
    """Find the number of kinds for a decoder that has to be told one."""
    if len(takes.recordings) == 1:
        return Number(takes.allowed(usual_number(takes)), ())
    few = [with_few_moments(recording) for recording in takes.recordings]
    takes = replace(takes, recordings=few, embeddings=None)
    _, points = fit_points(takes)
    return number_of_kinds(takes, points, judge(takes, points).time_weight)


def decode_judged(
    takes: Takes, basis: ContextBasis, points: TimedPoints, judgement: Judgement
) -> Decoded:
    """Do the same where it is known what kind of task it is."""
    weight = judgement.time_weight
    if np.isfinite(weight):
        decoded = hmm.decode_points(takes, basis, points, time_weight=weight)
    else:
        decoded = clock.decode_points(takes, points)
    decision = Decision(judgement.sentence, judgement.figures, judgement.found_structure)
    return replace(decoded, decision=decision)


AUTO = Decoder(decode, finds_number=True, title="chosen by what the takes have in common")
