"""Find out what kind of task it is, and choose the decoder for it. No label is seen.

One take: `changes`. Several: where order tells the next step clearly better than time does, steps
recur, and moments are grouped by what they show (`hmm`). Else time weighs as much as it can without
explaining less of the takes that are left out (`judge`); where that is all, the takes share a
`clock`. With few takes hardly anything is clear, and the result is close to equal parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stepreel.features.context import ContextBasis
from stepreel.steps.decoders import changes, clock, hmm
from stepreel.steps.decoders.base import Decision, Decoded, Decoder, Takes
from stepreel.steps.decoders.judge import (
    CLEARLY,
    SURELY,
    TIME_WEIGHTS,
    Difference,
    best_time_weight,
    difference,
    explained_elsewhere,
    explains_anything,
    order_over_time,
)
from stepreel.steps.decoders.timed_points import TimedPoints, Values, fit_points

MOSTLY_TIME = 2.0  # weight from which the order of steps decides more than what they show

RECUR = "Steps recur: moments were grouped by what they show."
BOTH = (
    "Steps come at similar times in all takes: moments were grouped by what they show, and by when."
)
SAME_ORDER = "Steps come in the same order in all takes: borders were placed by shared time."
LITTLE = "Little structure found: these are close to equal parts; another take or cue would help."


class Judgement(NamedTuple):
    """What was found out about a task.

    time_weight    0: steps recur; infinite: they share a clock
    order          bits per step that order tells more than time
    explained      share of unseen features explained with this weight
    by_equal_parts the same, by equal parts
    """

    time_weight: float
    order: Difference
    explained: Difference
    by_equal_parts: Difference

    @property
    def sentence(self) -> str:
        """Say in one sentence how steps were therefore found."""
        if self.time_weight == 0:
            return RECUR
        if self.time_weight < MOSTLY_TIME:
            return BOTH
        is_clear = self.explained.mean > SURELY * self.explained.error
        return SAME_ORDER if is_clear else LITTLE

    @property
    def figures(self) -> dict[str, float]:
        """What the decision rests on; equal parts are shown as a weight of -1."""
        return {
            "time_weight": self.time_weight if np.isfinite(self.time_weight) else -1.0,
            "order_bits": round(self.order.mean, 4),
            "order_bits_error": round(self.order.error, 4) if self.order.error < np.inf else -1.0,
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
    recurs = order.mean > CLEARLY * order.error and explains_anything(shares)
    weight = 0.0 if recurs else best_time_weight(shares)
    explained = difference(shares[TIME_WEIGHTS.index(weight)])
    return Judgement(weight, order, explained, difference(shares[-1]))


def decode(takes: Takes) -> Decoded:
    """Label all takes with the decoder that suits the task."""
    if len(takes.recordings) == 1:
        return replace(changes.decode(takes), used="changes")
    basis, points = fit_points(takes)
    return decode_judged(takes, basis, points, judge(takes, points))


def decode_judged(
    takes: Takes, basis: ContextBasis, points: TimedPoints, judgement: Judgement
) -> Decoded:
    """Do the same where it is known what kind of task it is."""
    weight = judgement.time_weight
    if np.isfinite(weight):
        decoded = hmm.decode_points(takes, basis, points, time_weight=weight)
    else:
        decoded = clock.decode_points(takes, points)
    return replace(decoded, decision=Decision(judgement.sentence, judgement.figures))


AUTO = Decoder(decode, title="chosen by what the takes have in common")
