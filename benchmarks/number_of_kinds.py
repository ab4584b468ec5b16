"""Measure how many steps are found where no number is asked for, on all labelled sources.

    python benchmarks/number_of_kinds.py DATA [--work build/accuracy] [--seeds 3] [--only SOURCE]
        [--write]

Takes together: the number of kinds that `auto` finds and those it offers, beside the true one; and
what is scored with it, with the K of the source, with the true number, with what is usual for takes
of that length, and with 7, beside as many equal parts as were found. Every odd recording by itself:
the same for the number of steps. Labels are used for scoring only. Figures are kept as they are
made, so that the same command continues; a change of the code starts anew. `--write` writes
docs/results/number.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import numpy as np
from accuracy import Kept, code_version, common_options
from accuracy_tasks import TASK_SOURCES, TaskSource, tasks_of
from number_tables import MeasuredNumbers, number_page, tables

from stepreel.config import USUAL_CLUSTERS, Settings, load_settings
from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.methods.learned import shown_labels
from stepreel.evaluation.metrics.localization import score_egoprocel, score_strict
from stepreel.evaluation.metrics.storyboard_worth import Rates, count_covered
from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.steps.decoders.base import Decoded, Takes
from stepreel.steps.decoders.decode import decode
from stepreel.steps.decoders.number import usual_number
from stepreel.system.store import Store
from stepreel.types import Labels, Recording

DURATION = "about 10 minutes on two cores, and 5 more for features of videos"


def settings_of(source: TaskSource, seed: int, number: int | None) -> Settings:
    """Return the default settings with the source's σ, and a number of kinds, if any."""
    overrides = {
        "key_steps.n_clusters": number,
        "loss.window_seconds": source.window_seconds,
        "train.seed": seed,
    }
    return load_settings(overrides=overrides)


def labels_of(recordings: Sequence[Recording], settings: Settings) -> tuple[Decoded, list[Labels]]:
    """Find steps as `stepreel run` does; return also the label of every moment, as it is shown."""
    decoded = decode(settings.key_steps.decoder, Takes(recordings, None, settings))
    pairs = zip(decoded.clusterings, recordings, strict=True)
    return decoded, [shown_labels(found, recording, settings) for found, recording in pairs]


def scores(prepared: PreparedTask, labels: Sequence[Labels], number: int) -> dict[str, float]:
    """Score labels of all takes: two protocols, and the mean coverage of their storyboards."""
    truth, found = np.concatenate(prepared.truth), np.concatenate(labels)
    takes = zip(prepared.truth, labels, prepared.times, strict=True)
    covered = [coverage(TrueSteps.of_labels(t, s), ShownSteps.of_labels(x, s)) for t, x, s in takes]
    return {
        "strict": score_strict(truth, found, number).f1,
        "egoprocel": score_egoprocel(truth, found, number).f1,
        "coverage": float(np.mean([f1 for f1 in covered if f1 is not None])),
    }


def coverage(truth: TrueSteps, shown: ShownSteps) -> float | None:
    """Return the F1 of `coverage` for one recording; None without a true step."""
    if not len(truth.segments):
        return None
    n_right = int(count_covered(np.sort(shown.moments)[None], truth.segments)[0])
    return Rates.of(n_right, len(shown), len(truth.segments)).f1


def facts(prepared: PreparedTask, source: TaskSource) -> dict[str, object]:
    """Return what is true of a task, and what number is usual for takes of its length."""
    assert prepared.recordings is not None
    ids = [np.setdiff1d(truth, [BACKGROUND]) for truth in prepared.truth]
    return {
        "takes": len(prepared.recordings),
        "seconds": float(np.median([take.duration_seconds for take in prepared.recordings])),
        "true": len(np.unique(np.concatenate(ids))),
        "per take": float(np.mean([len(own) for own in ids])),
        "given": source.n_clusters,
        "usual": usual_number(Takes(prepared.recordings, None, settings_of(source, 0, None))),
    }


def with_found_number(prepared: PreparedTask, source: TaskSource, seed: int) -> dict[str, object]:
    """Find the number of kinds of a task, and score what is found with it; also equal parts."""
    assert prepared.recordings is not None
    decoded, labels = labels_of(prepared.recordings, settings_of(source, seed, None))
    number = decoded.clusterings[0].n_clusters
    parts = [equal_split(len(truth), number) for truth in prepared.truth]
    return {
        "number": number,
        "offered": decoded.other_numbers,
        "found": scores(prepared, labels, number),
        "parts": scores(prepared, parts, number),
    }


def with_number(
    prepared: PreparedTask, source: TaskSource, seed: int, number: int
) -> dict[str, float]:
    """Score what is found with a number that is asked for."""
    assert prepared.recordings is not None
    _, labels = labels_of(prepared.recordings, settings_of(source, seed, number))
    return scores(prepared, labels, number)


def alone(prepared: PreparedTask, source: TaskSource, position: int) -> dict[str, object] | None:
    """Return how many steps one recording is shown with, and has; None without a true step."""
    assert prepared.recordings is not None
    recording, truth = prepared.recordings[position], prepared.truth[position]
    true_steps = TrueSteps.of_labels(truth, recording.times)
    if not len(true_steps.segments):
        return None
    decoded, labels = labels_of([recording], settings_of(source, 0, None))
    return {
        "found": len(ShownSteps.of_labels(labels[0], recording.times)),
        "offered": decoded.other_numbers,
        "true": len(true_steps.segments),
    }


def measure(source: TaskSource, options: argparse.Namespace, measured: MeasuredNumbers) -> None:
    """Measure all tasks of a source, or read what was kept."""
    kept = Kept(options.work / "figures" / code_version())
    for folder, prepared in tasks_of(source, options.data, Store(options.work / "cache")):
        print(f"{source.name}: {folder}", flush=True)
        task, name = (source.name, folder), f"number/{folder}"
        known = kept(f"{name}/facts", partial(facts, prepared, source))
        measured.facts[task] = known
        asked = {way: known[way] for way in ("given", "true", "usual")}
        asked["seven"] = USUAL_CLUSTERS
        for seed in range(options.seeds):
            row = kept(f"{name}/found/{seed}", partial(with_found_number, prepared, source, seed))
            for way, number in asked.items():
                make = partial(with_number, prepared, source, seed, number)
                row[way] = kept(f"{name}/{number}/{seed}", make)
            measured.takes.setdefault(task, []).append(row)
        for position in range(1, len(prepared.times), 2):
            make = partial(alone, prepared, source, position)
            row = kept(f"{name}/alone/{position}", make)
            if row is not None:
                measured.alone.setdefault(source.name, []).append(row)


def main() -> None:
    parser = common_options(__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/results/number.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs all sources, so it does not go with --only")
    print(DURATION)
    print("the same command continues after an interruption", flush=True)
    measured = MeasuredNumbers()
    for source in TASK_SOURCES:
        if options.only.lower() in source.name.lower():
            measure(source, options, measured)
    for title, table in tables(measured).items():
        print(f"\n{title}\n\n{table}", end="")
    if options.write:
        print(number_page(measured))


if __name__ == "__main__":
    main()
