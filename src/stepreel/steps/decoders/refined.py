"""Features learned across takes, used only where they tell more than what they were learned from.

Learning (`learn/refining.py`) is tried on some takes and one part of the columns: do kinds found in
what was learned explain the other columns of the takes left out better than kinds found without?
Where they surely do, all takes are refined and steps are found in that; else learning changes
nothing, and the storyboard says so. The rest is as in `auto`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stepreel.steps.decoders import auto, hmm
from stepreel.steps.decoders.base import Decision, Decoded, Decoder, Kinds, Takes
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.steps.decoders.judge import (
    SURELY,
    Difference,
    as_sure,
    difference,
    explained_elsewhere,
)
from stepreel.steps.decoders.timed_points import TimedPoints, Values, fit_points, points_in
from stepreel.system.machine import SPACE_FOR_LEARNING, check_address_space
from stepreel.types import Mask

if TYPE_CHECKING:
    from stepreel.learn.refining import Refiner

REFINER = "refiner/"  # begins the names of its arrays in a model
HELPED = "Learning across takes tells more than the features alone, so it was used."
DID_NOT_HELP = "Learning across takes tells no more than the features alone, so it was not used."


def decode(takes: Takes) -> Decoded:
    """Label all takes by what was learned across them, if that helps."""
    if len(takes.recordings) == 1:
        return auto.decode(takes)
    return _decode_together(takes)


@on_few_moments
def _decode_together(takes: Takes) -> Decoded:
    basis, points = fit_points(takes)
    plain = explained_elsewhere(points, takes.n_clusters, seed=takes.seed)
    learned = explained_elsewhere(points, takes.n_clusters, seed=takes.seed, seen_as=seen_refined)
    gain = gain_of_learning(plain, learned)
    helps = gain.mean > as_sure(SURELY, len(takes.recordings)) * gain.error
    refiner = _refiner_of(points, takes.seed) if helps else None
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

    arrays = {
        name.removeprefix(REFINER): array.astype(np.float64)
        for name, array in kinds.items()
        if name.startswith(REFINER)
    }
    try:
        refiner = Refiner(**arrays)
    except TypeError as problem:
        raise KeyError(f"{REFINER}…") from problem
    points = refine(points_in(takes, kinds), refiner)
    return replace(hmm.find_in_points(takes, points, kinds), used="refined")


def gain_of_learning(plain: Values, learned: Values) -> Difference:
    """Return how much more is explained, each way with the weight of time that suits it best."""
    best = [shares[shares.mean(axis=1).argmax()] for shares in (learned, plain)]
    return difference(best[0] - best[1])


def refine(points: TimedPoints, refiner: Refiner) -> TimedPoints:
    """Return points with refined features, as if there were one cue."""
    features = refiner(points.features)
    return replace(points, features=features, widths=(features.shape[1],))


def _refiner_of(points: TimedPoints, seed: int) -> Refiner:
    check_address_space(SPACE_FOR_LEARNING)
    from stepreel.learn.refining import learn_refiner

    thinned = points.thinned()
    return learn_refiner(thinned.features, thinned.lengths, seed=seed)


def seen_refined(view: TimedPoints, is_known: Mask, seed: int) -> TimedPoints:
    """Learn from the takes that are known, and refine all of them."""
    if view.features.shape[1] == 0 or not is_known.any():
        return view
    known = replace(view, fitted=is_known & view.fitted)
    return refine(view, _refiner_of(known, seed))


REFINED = Decoder(decode, find_again, title="features learned across takes, where that tells more")
