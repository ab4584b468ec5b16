"""Tell whether learning across takes helps: `python benchmarks/refining.py DATA [--only SOURCE]`.

For every task that defaults may be chosen on: `strict` / `egoprocel` F1 of the hidden Markov model
on context features, and on the same features learned across takes for 1, 3 and 9 rounds. Beside
them, what `refined` finds out without labels: how much more of unseen features is explained after
learning, with its standard error. Labels are used for scoring only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from accuracy import common_options, settings_of
from accuracy_tasks import TASK_SOURCES, TaskSource, tasks_of

from stepreel.evaluation.metrics.localization import score_egoprocel, score_strict
from stepreel.evaluation.prepare import PreparedTask
from stepreel.learn.refining import learn_refiner
from stepreel.steps.decoders import hmm
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.judge import explained_elsewhere
from stepreel.steps.decoders.refined import (
    best_learning,
    gain_of_learning,
    moments_within_window,
    refine,
)
from stepreel.steps.decoders.timed_points import TimedPoints, fit_points
from stepreel.system.store import Store
from stepreel.types import Labels

ROUNDS = (1, 3, 9)


def labels_in(takes: Takes, points: TimedPoints) -> Labels:
    """Label all takes in given points, without time."""
    states = hmm.fit_states(points, takes.n_clusters, seed=takes.seed)
    return hmm.label(takes, points, states)


def refined_points(points: TimedPoints, near: int, rounds: int, seed: int) -> TimedPoints:
    thinned = points.thinned()
    return refine(
        points,
        learn_refiner(thinned.features, thinned.lengths, n_near=near, rounds=rounds, seed=seed),
    )


def row_of(source: TaskSource, prepared: PreparedTask, seeds: Sequence[int]) -> list[str]:
    """Return F1 without learning and after each number of rounds, and the label-free answer."""
    truth = np.concatenate(prepared.truth)
    assert prepared.recordings is not None
    scores, gains = [], []
    for seed in seeds:
        takes = Takes(prepared.recordings, None, settings_of(source, seed))
        _, points = fit_points(takes)
        near = moments_within_window(takes, points)
        ways = [points, *(refined_points(points, near, rounds, seed) for rounds in ROUNDS)]
        found = [labels_in(takes, way) for way in ways]
        k = takes.n_clusters
        scores.append(
            [(score_strict(truth, x, k).f1, score_egoprocel(truth, x, k).f1) for x in found]
        )
        plain = explained_elsewhere(points, k, seed=seed)
        _, learned = best_learning(takes, points, near)
        gains.append(gain_of_learning(plain, learned))
    cells = [f"{strict:.1f} / {egoprocel:.1f}" for strict, egoprocel in np.mean(scores, axis=0)]
    gain, error = np.mean(gains, axis=0)
    return [*cells, f"{100 * gain:+.2f} ± {100 * error:.2f}"]


def main() -> None:
    options = common_options(__doc__).parse_args()
    head = ["task", "no learning", *(f"{n} rounds" for n in ROUNDS), "explained more, percent"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for source in TASK_SOURCES:
        if options.only.lower() not in source.name.lower() or not source.choosing:
            continue
        chosen = replace(source, folders=source.choosing)
        for folder, prepared in tasks_of(chosen, options.data, Store(options.work / "cache")):
            row = row_of(source, prepared, range(options.seeds))
            print("| " + " | ".join([folder, *row]) + " |", flush=True)


if __name__ == "__main__":
    main()
