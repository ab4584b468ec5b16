"""Measure the decoders that need no training, next to null baselines, on all labelled sources.

    python benchmarks/accuracy.py DATA [--work build/accuracy] [--seeds 3] [--only SOURCE]

Three tables: takes together (`strict` / `egoprocel` F1, and the choice of `auto` beside the best
decoder of each task), fewer takes (random subsets), and every recording by itself (`borders` and
`coverage` above as many equal parts; even and odd recordings apart). Labels are used for scoring
only. Every figure is kept as it is made, so that the same command continues. About 15 minutes on
two cores, 5 of them for the features of the Knot_Tying videos.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from accuracy_tasks import TASK_SOURCES, TaskSource, tasks_of

from stepreel.config import Settings, load_settings
from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.methods.learned import shown_labels
from stepreel.evaluation.metrics.localization import score_egoprocel, score_strict
from stepreel.evaluation.metrics.storyboard_worth import MEASURES, RecordingJudge
from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps
from stepreel.evaluation.prepare import PreparedTask
from stepreel.features.context import fitted_context
from stepreel.steps.clustering import cluster_recordings
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.decode import decode
from stepreel.system.files import write_text
from stepreel.system.store import Store
from stepreel.types import Labels, Recording

DECODERS = ("hmm", "clock", "auto")
METHODS = ("equal-split", "context-kmeans", *DECODERS)
TAKES = (3, 5, 8, 12)
DRAWS = 5


class Kept:
    """Figures by name, one file each; what is there is not made again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, make: Callable[[], object]) -> object:
        """Return what is kept under a name, or make and keep it."""
        path = self.folder / f"{name.replace('/', '-')}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(make()))
        return json.loads(path.read_text(encoding="utf-8"))


def settings_of(source: TaskSource, seed: int) -> Settings:
    """Return the default settings with the source's K and σ."""
    overrides = {
        "key_steps.n_clusters": source.n_clusters,
        "loss.window_seconds": source.window_seconds,
        "train.seed": seed,
    }
    return load_settings(overrides=overrides)


def labels_of(
    method: str, recordings: Sequence[Recording], settings: Settings
) -> tuple[list[Labels], dict[str, float], str]:
    """Label recordings; return also what `auto` decided on, and how."""
    k = settings.key_steps.n_clusters
    if method == "equal-split":
        return [equal_split(len(recording.times), k) for recording in recordings], {}, ""
    if method == "context-kmeans":
        _, tracks = fitted_context(recordings, window_seconds=settings.loss.window_seconds)
        found = cluster_recordings(tracks, k, seed=settings.train.seed)
        return [clustering.labels for clustering in found], {}, ""
    decoded = decode(method, Takes(recordings, None, settings))
    labels = [shown_labels(clustering, settings) for clustering in decoded.clusterings]
    decision = decoded.decision
    return labels, dict(decision.figures) if decision else {}, decision.sentence if decision else ""


def scores(
    prepared: PreparedTask, source: TaskSource, method: str, seed: int, chosen: Sequence[int]
) -> dict[str, object]:
    """Score one method on some of the takes of a task."""
    recordings = prepared.recordings
    assert recordings is not None
    labels, figures, sentence = labels_of(
        method, [recordings[n] for n in chosen], settings_of(source, seed)
    )
    truth, found = np.concatenate([prepared.truth[n] for n in chosen]), np.concatenate(labels)
    k = source.n_clusters
    return {
        "strict": score_strict(truth, found, k).f1,
        "egoprocel": score_egoprocel(truth, found, k).f1,
        "figures": figures,
        "sentence": sentence,
    }


def worth(prepared: PreparedTask, source: TaskSource, position: int) -> dict[str, float] | None:
    """Score the storyboard of one recording by itself; None without a true step."""
    assert prepared.recordings is not None
    recording, truth = prepared.recordings[position], prepared.truth[position]
    true_steps = TrueSteps.of_labels(truth, recording.times)
    if not len(true_steps.segments):
        return None
    settings = settings_of(source, 0)
    labels, figures, _ = labels_of("changes", [recording], settings)
    shown = ShownSteps.of_labels(labels[0], recording.times)
    measured = RecordingJudge(true_steps, seed=position).measure(shown)
    k = source.n_clusters
    row = {name: measured[name].rates.f1 for name in MEASURES}
    row |= {f"{name} null": measured[name].nulls["matched-split"].f1 for name in MEASURES}
    row |= {"found": len(shown), "true": len(true_steps.segments), **figures}
    row["strict"] = score_strict(truth, labels[0], k).f1
    row["strict null"] = score_strict(truth, equal_split(len(truth), k), k).f1
    return row


def table_of_takes(results: dict[tuple[str, str], dict[str, list[dict]]]) -> None:
    """Print F1 by task, and the mean gain over the equal split by source."""
    print("\n| task | " + " | ".join(METHODS) + " | best | auto says |")
    print("|---" * (len(METHODS) + 3) + "|")
    gains: dict[str, list[list[float]]] = {}
    for (source, folder), methods in results.items():
        means = {
            name: np.mean([[s["strict"], s["egoprocel"]] for s in seeds], axis=0)
            for name, seeds in methods.items()
        }
        best = max((name for name in methods if name != "auto"), key=lambda n: means[n][0])
        cells = [f"{a:.1f} / {b:.1f}" for a, b in means.values()]
        says = sorted({seed["sentence"].split(":")[0] for seed in methods["auto"]})
        print(f"| {folder} | {' | '.join(cells)} | {best} | {'; '.join(says)} |")
        gains.setdefault(source, []).append(list(means["auto"] - means["equal-split"]))
    print("\n| source | auto above equal split, strict / egoprocel |\n|---|---|")
    by_source = {source: np.mean(rows, axis=0) for source, rows in gains.items()}
    for source, gain in by_source.items():
        print(f"| {source} | {gain[0]:+.1f} / {gain[1]:+.1f} |")
    mean = np.mean(list(by_source.values()), axis=0)
    print(f"| mean of {len(by_source)} | {mean[0]:+.1f} / {mean[1]:+.1f} |")


def table_of_few(few: dict[str, dict[int, list[float]]]) -> None:
    """Print the gain of `auto` over the equal split by number of takes."""
    print("\n| task, strict above equal split | " + " | ".join(map(str, TAKES)) + " |")
    print("|---" * (len(TAKES) + 1) + "|")
    for folder, by_number in few.items():
        cells = [
            f"{np.mean(by_number[n]):+.1f} (worst {min(by_number[n]):+.1f})"
            if n in by_number
            else "–"
            for n in TAKES
        ]
        print(f"| {folder} | {' | '.join(cells)} |")


def table_of_singles(singles: dict[str, list[tuple[int, dict[str, float]]]]) -> None:
    """Print, by source and half, F1 and its lead over as many equal parts."""
    for half, name in enumerate(("even recordings (chosen on)", "odd recordings")):
        print(f"\n| {name} | n | found / true | count error | {' | '.join(MEASURES)} | strict |")
        print("|---" * (len(MEASURES) + 5) + "|")
        for source, rows in singles.items():
            own = [row for position, row in rows if position % 2 == half]
            ratio = np.log([row["found"] / row["true"] for row in own])
            cells = [_lead(own, measure) for measure in (*MEASURES, "strict")]
            found, true = (np.mean([row[key] for row in own]) for key in ("found", "true"))
            error = np.exp(np.abs(ratio).mean())
            print(
                f"| {source} | {len(own)} | {found:.1f} / {true:.1f} | × {error:.2f} | "
                + " | ".join(cells)
                + " |"
            )


def _lead(rows: Sequence[dict[str, float]], measure: str) -> str:
    lead = np.array([row[measure] - row[f"{measure} null"] for row in rows])
    error = lead.std(ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else float("nan")
    return f"{np.mean([row[measure] for row in rows]):.1f} ({lead.mean():+.1f} ± {error:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/accuracy"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="sources whose names contain this text")
    options = parser.parse_args()
    print("about 15 minutes on two cores; the same command continues after an interruption")
    kept = Kept(options.work / "figures")
    store = Store(options.work / "cache")
    takes: dict[tuple[str, str], dict[str, list[dict]]] = {}
    few: dict[str, dict[int, list[float]]] = {}
    singles: dict[str, list[tuple[int, dict[str, float]]]] = {}
    for source in TASK_SOURCES:
        if options.only.lower() not in source.name.lower():
            continue
        for folder, prepared in tasks_of(source, options.data, store):
            print(f"{source.name}: {folder}", flush=True)
            everything = range(len(prepared.times))
            score = partial(scores, prepared, source)
            takes[source.name, folder] = {
                method: [
                    kept(f"{folder}/{method}/{seed}", partial(score, method, seed, everything))
                    for seed in range(options.seeds)
                ]
                for method in METHODS
            }
            few[folder] = _few(kept, folder, score, len(prepared.times))
            for position in everything:
                row = kept(f"{folder}/alone/{position}", partial(worth, prepared, source, position))
                if row is not None:
                    singles.setdefault(source.name, []).append((position, row))
    table_of_takes(takes)
    table_of_few(few)
    table_of_singles(singles)


def _few(
    kept: Kept, folder: str, score: Callable[..., dict[str, object]], n_takes: int
) -> dict[int, list[float]]:
    """Score `auto` on random subsets of the takes; return its lead over the equal split."""
    leads: dict[int, list[float]] = {}
    for number in (number for number in TAKES if number < n_takes):
        for draw in range(DRAWS):
            chosen = sorted(np.random.default_rng([number, draw]).permutation(n_takes)[:number])
            found = {
                method: kept(
                    f"{folder}/{number}-takes/{draw}/{method}", partial(score, method, 0, chosen)
                )
                for method in ("auto", "equal-split")
            }
            lead = found["auto"]["strict"] - found["equal-split"]["strict"]
            leads.setdefault(number, []).append(lead)
    return leads


if __name__ == "__main__":
    main()
