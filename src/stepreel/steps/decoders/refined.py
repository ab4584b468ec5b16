"""Features learned across takes, used only where they tell more than what they were learned from.

Learning (`learn/refining.py`) is tried on some takes and one part of the columns: do kinds found in
what was learned explain the other columns of the takes left out better than kinds found without?
How long to learn is chosen by that, too. Where it surely helps, all takes are refined and steps are
found in that; else learning changes nothing, and the storyboard says so. The rest is as in `auto`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from stepreel.steps.decoders import auto, hmm
from stepreel.steps.decoders.base import Decision, Decoded, Decoder, Kinds, Takes
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.judge import (
    SURELY,
    Difference,
    Seen,
    as_sure,
    difference,
    explained_elsewhere,
)
from stepreel.steps.decoders.timed_points import TimedPoints, Values, fit_points, points_in
from stepreel.system.machine import SPACE_FOR_LEARNING, check_address_space
from stepreel.types import Mask

if TYPE_CHECKING:
    from stepreel.learn.refining import Refiner

ROUNDS = (1, 3)  # of learning that are tried
REFINER = "refiner/"  # begins the names of its arrays in a model
HELPED = "Learning across takes tells more than the features alone, so it was used."
NOT_TRIED = "Learning across takes needs several, so it was not tried."
DID_NOT_HELP = "Learning across takes tells no more than the features alone, so it was not used."


def decode(takes: Takes) -> Decoded:
    """Label all takes by what was learned across them, if that helps."""
    if len(takes.recordings) == 1:
        alone = auto.decode(takes)
        assert alone.decision is not None
        sentence = f"{alone.decision.sentence} {NOT_TRIED}"
        return replace(alone, decision=replace(alone.decision, sentence=sentence))
    return _decode_together(takes)


@on_few_moments
def _decode_together(takes: Takes) -> Decoded:
    basis, points = fit_points(takes)
    near = moments_within_window(takes, points)
    plain = explained_elsewhere(points, takes.n_clusters, seed=takes.seed)
    rounds, learned = best_learning(takes, points, near)
    gain = gain_of_learning(plain, learned)
    helps = gain.mean > as_sure(SURELY, len(takes.recordings)) * gain.error
    refiner = _refiner_of(points, near, rounds, takes.seed) if helps else None
    used = points if refiner is None else refine(points, refiner)
    judgement = auto.judge(takes, used, learned if helps else plain)
    decoded = auto.decode_judged(takes, basis, used, judgement)
    if refiner is not None and np.isfinite(judgement.time_weight):
        arrays = {f"{REFINER}{name}": array for name, array in refiner.arrays().items()}
        decoded = replace(decoded, used="refined", kinds={**decoded.kinds, **arrays})
    sentence = f"{judgement.sentence} {HELPED if helps else DID_NOT_HELP}"
    figures = {
        **judgement.figures,
        "learning_explains_more": round(gain.mean, 4),
        "learning_explains_more_error": round(gain.error, 4),
    }
    return replace(decoded, decision=Decision(sentence, figures, judgement.found_structure))


@on_few_moments
def find_again(takes: Takes, kinds: Kinds) -> Decoded:
    """Refine later takes as the model's were, and find its states in them."""
    from stepreel.learn.refining import Refiner

    names = (field.name for field in fields(Refiner))
    refiner = Refiner(**{name: kinds[f"{REFINER}{name}"].astype(np.float64) for name in names})
    points = refine(points_in(takes, kinds), refiner)
    return replace(hmm.find_in_points(takes, points, kinds), used="refined")


def gain_of_learning(plain: Values, learned: Values) -> Difference:
    """Return how much more is explained, each way with the weight of time that suits it best."""
    best = [shares[shares.mean(axis=1).argmax()] for shares in (learned, plain)]
    return difference(best[0] - best[1])


def moments_within_window(takes: Takes, points: TimedPoints) -> int:
    """Return how many of the moments that are fitted to lie within σ on either side of one."""
    return int(takes.window_seconds / points.spacing + 1e-6)


def refine(points: TimedPoints, refiner: Refiner) -> TimedPoints:
    """Return points with refined features, as if there were one cue."""
    features = refiner(points.features)
    return replace(points, features=features, widths=(features.shape[1],))


def best_learning(takes: Takes, points: TimedPoints, near: int) -> tuple[int, Values]:
    """Return how many rounds of learning explain most, and the shares that are explained then."""
    check_address_space(SPACE_FOR_LEARNING)
    tried = {
        rounds: explained_elsewhere(
            points, takes.n_clusters, seed=takes.seed, seen_as=seen_refined(near, rounds)
        )
        for rounds in ROUNDS
    }
    best = max(tried, key=lambda rounds: tried[rounds].mean(axis=1).max())
    return best, tried[best]


def seen_refined(near: int, rounds: int) -> Seen:
    """Return what learns from the takes that are known, and refines all of them."""

    def refined_view(view: TimedPoints, is_known: Mask, seed: int) -> TimedPoints:
        known = replace(view, fitted=is_known & view.fitted)
        if view.features.shape[1] == 0 or not known.fitted.any():
            return view
        return refine(view, _refiner_of(known, near, rounds, seed))

    return refined_view


def _refiner_of(points: TimedPoints, near: int, rounds: int, seed: int) -> Refiner:
    from stepreel.learn.refining import learn_refiner

    thinned = points.thinned()
    return learn_refiner(thinned.features, thinned.lengths, n_near=near, rounds=rounds, seed=seed)


REFINED = Decoder(
    decode, find_again, learns=True, title="features learned across takes, where that tells more"
)
