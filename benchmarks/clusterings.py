"""Measure the clusterers, and the samplers, on all labelled sources.

    python benchmarks/clusterings.py DATA [--work build/clusterings] [--seeds 3] [--only SOURCE]
        [--write]

Clusterers: `strict` and `egoprocel` F1 of `finch`, `tw-finch`, `ward` and `procut` on context
features (no embedding is learned), beside other decoders, k-means and equal parts; takes together,
and every odd recording by itself; and how many kinds `finch` and `tw-finch` find when no number is
asked for. Samplers: which ten moments are shown of odd recordings in which the default finds more
steps, and how well these represent the recording, differ, and cover the true steps, beside ten
random and ten equally spaced moments. Labels are used for scoring only. Figures are kept as they
are made, so that the same command continues; a change of the code starts anew. `--write` writes
docs/results/clusterings.md.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from accuracy import Kept, code_version, common_options, labels_of, scores
from accuracy import settings_of as with_k
from accuracy_tasks import TASK_SOURCES, TaskSource, tasks_of
from clustering_tables import (
    FIND_NUMBER,
    METHODS,
    SAMPLERS,
    MeasuredClusterings,
    clusterings_page,
    tables,
)
from number_of_kinds import settings_of as with_number

from stepreel.config import Settings
from stepreel.evaluation.methods.clustered import raw_track
from stepreel.evaluation.metrics.key_step_quality import key_step_quality
from stepreel.evaluation.metrics.localization import score_strict
from stepreel.evaluation.metrics.storyboard_worth import Rates, count_covered
from stepreel.evaluation.metrics.timed_steps import true_segments
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.steps.confidence import rate_steps
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.decode import decode
from stepreel.steps.evidence import TaskSteps
from stepreel.steps.key_steps import KeySteps, pick_key_steps
from stepreel.steps.samplers.sample import sample_steps
from stepreel.system.cores import one_thread
from stepreel.system.store import Store
from stepreel.types import Floats, Labels, Recording, Seconds

DURATION = "about 5 minutes on two cores, and 2 more for features of videos"
OF_SAMPLERS = ("stepreel.steps.confidence", "stepreel.evaluation.metrics.key_step_quality")
SHOWN = 10
DRAWS = 20  # of random moments


def alone(prepared: PreparedTask, source: TaskSource, position: int) -> dict[str, float] | None:
    """Return `strict` F1 of every method on one recording; None without a true step."""
    assert prepared.recordings is not None
    recording, truth = prepared.recordings[position], prepared.truth[position]
    if (truth == BACKGROUND).all():
        return None
    settings, found = with_k(source, 0), {}
    for method in METHODS:
        labels, _, _ = labels_of(method, [recording], settings)
        found[method] = score_strict(truth, labels[0], source.n_clusters).f1
    return found


def numbers(prepared: PreparedTask, source: TaskSource) -> dict[str, int]:
    """Return the true number of kinds of a task, K, and what is found if none is asked for."""
    assert prepared.recordings is not None
    takes = Takes(prepared.recordings, None, with_number(source, 0, None))
    true = np.setdiff1d(np.concatenate(prepared.truth), [BACKGROUND])
    found = {name: decode(name, takes).clusterings[0].n_clusters for name in FIND_NUMBER}
    return {"true": len(true), "K": source.n_clusters, **found}


def shown(prepared: PreparedTask, source: TaskSource, position: int) -> dict[str, object] | None:
    """Score what every sampler shows of one recording; None if there is nothing to choose."""
    assert prepared.recordings is not None
    recording, truth = prepared.recordings[position], prepared.truth[position]
    if (truth == BACKGROUND).all():
        return None
    settings = with_number(source, 0, None)
    steps = TaskSteps([recording], None, [found_steps(recording, settings)], settings)
    with one_thread("blas"):
        (rated,) = rate_steps(steps)
    if len(rated.segments) <= SHOWN:
        return None
    raw = raw_track(recording).features
    score = partial(score_moments, raw, truth, recording.times)
    rows: dict[str, object] = {"found": len(rated.segments)}
    for sampler in SAMPLERS:
        limits = {"top": SHOWN, "sample": sampler}
        limited = settings.key_steps.model_copy(update=limits)
        sampled = sample_steps(rated, recording, limited, partial(steps.features, 0))
        rows[sampler] = score(np.array([step.nearest for step in sampled.segments], np.int64))
    n_moments, rng = len(recording.times), np.random.default_rng(position)
    draws = [score(rng.choice(n_moments, SHOWN, replace=False)) for _ in range(DRAWS)]
    rows["random"] = {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]}
    rows["equally spaced"] = score(((np.arange(SHOWN) + 0.5) * n_moments / SHOWN).astype(np.int64))
    return rows


def found_steps(recording: Recording, settings: Settings) -> KeySteps:
    """Find the steps of one recording as `stepreel run` does."""
    decoded = decode(settings.key_steps.decoder, Takes([recording], None, settings))
    return pick_key_steps(
        decoded.clusterings[0], settings.key_steps, moment_seconds=recording.moment_seconds
    )


def score_moments(
    features: Floats, truth: Labels, times: Seconds, moments: Labels
) -> dict[str, float]:
    """Score moments by what they look like, and by the true steps that they show."""
    quality, segments = key_step_quality(features, moments), true_segments(truth, times)
    n_covered = int(count_covered(np.sort(times[moments])[None], segments)[0])
    return {
        "representation": quality.representation,
        "diversity": quality.diversity,
        "coverage": Rates.of(n_covered, len(moments), len(segments)).f1,
    }


def measure(source: TaskSource, options: argparse.Namespace, measured: MeasuredClusterings) -> None:
    """Measure all tasks of a source, or read what was kept."""
    kept = Kept(options.work / "figures" / code_version(*OF_SAMPLERS))
    for folder, prepared in tasks_of(source, options.data, Store(options.work / "cache")):
        print(f"{source.name}: {folder}", flush=True)
        task, everything = (source.name, folder), range(len(prepared.times))
        score = partial(scores, prepared, source)
        measured.together.takes[task] = {
            method: [
                kept(f"{folder}/{method}/{seed}", partial(score, method, seed, everything))
                for seed in range(options.seeds)
            ]
            for method in METHODS
        }
        measured.numbers[task] = kept(f"{folder}/numbers", partial(numbers, prepared, source))
        for position in everything[1::2]:
            for name, make, rows in (
                ("alone", alone, measured.alone),
                ("shown", shown, measured.shown),
            ):
                make_one = partial(make, prepared, source, position)
                row = kept(f"{folder}/{name}/{position}", make_one)
                if row is not None:
                    rows.setdefault(source.name, []).append(row)


def main() -> None:
    parser = common_options(__doc__)
    parser.set_defaults(work=Path("build/clusterings"))
    parser.add_argument("--write", action="store_true", help="write docs/results/clusterings.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs all sources, so it does not go with --only")
    print(DURATION)
    print("the same command continues after an interruption", flush=True)
    measured = MeasuredClusterings()
    for source in TASK_SOURCES:
        if options.only.lower() in source.name.lower():
            measure(source, options, measured)
    for title, table in tables(measured).items():
        print(f"\n{title}\n\n{table}", end="")
    if options.write:
        print(clusterings_page(measured))


if __name__ == "__main__":
    main()
