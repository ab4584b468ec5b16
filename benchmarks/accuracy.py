"""Measure the decoders that need no training, next to null baselines, on all labelled sources.

    python benchmarks/accuracy.py DATA [--work build/accuracy] [--seeds 3] [--only SOURCE]
        [--trained] [--results build/results] [--write]

Three tables: takes together (`strict` / `egoprocel` F1, and the choice of `auto` beside the best
decoder of each task), fewer takes (random subsets), and every recording by itself (`borders` and
`coverage` above as many equal parts; even and odd recordings apart). Labels are used for scoring
only. Every figure is kept as it is made, so that the same command continues; a change of the code
starts anew. `--trained` adds what stepreel did until 0.1.0 for every odd recording by itself:
k-means on an embedding, which is trained. `--results` adds the paper's method on takes together,
from what benchmarks/results.py has measured. `--write` writes docs/results/decoders.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from accuracy_tables import Measured, decoders_page, read_paper, tables
from accuracy_tasks import TASK_SOURCES, TaskSource, tasks_of

from stepreel.config import Settings, load_settings
from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.methods.learned import shown_labels
from stepreel.evaluation.metrics.localization import score_egoprocel, score_strict
from stepreel.evaluation.metrics.storyboard_worth import MEASURES, RecordingJudge
from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps
from stepreel.evaluation.prepare import PreparedTask
from stepreel.features.context import fitted_context
from stepreel.learn.embeddings import learn_embeddings
from stepreel.steps.clustering import cluster_recordings
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.decode import decode
from stepreel.system.files import write_text
from stepreel.system.source_hashes import describe_code
from stepreel.system.store import Store
from stepreel.types import Labels, Recording

DECODERS = ("hmm", "clock", "refined", "auto")
METHODS = ("equal-split", "context-kmeans", *DECODERS)
TAKES = (3, 5, 8, 12)
DRAWS = 5
DURATION = "about 30 minutes on two cores"
DURATION_TRAINED = "about 70 minutes on two cores"


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


def code_version(*more: str) -> str:
    """Return a short hash of the code that figures depend on; name `more` modules, if any."""
    code = describe_code(
        "stepreel.steps.decoders.decode",
        "stepreel.learn.embeddings",
        "stepreel.evaluation.prepare",
        "stepreel.evaluation.methods.learned",
        "stepreel.evaluation.metrics.localization",
        "stepreel.evaluation.metrics.storyboard_worth",
        *more,
    )
    return str(code["source"])[:8]


def settings_of(source: TaskSource, seed: int, decoder: str = "auto") -> Settings:
    """Return the default settings with the source's K and σ."""
    overrides = {
        "key_steps.decoder": decoder,
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
    pairs = zip(decoded.clusterings, recordings, strict=True)
    labels = [shown_labels(clustering, recording, settings) for clustering, recording in pairs]
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


def trained_labels(
    recording: Recording, source: TaskSource, store: Store
) -> tuple[list[Labels], dict[str, float], str]:
    """Label one recording as stepreel 0.1.0 did: k-means on an embedding learned from it."""
    settings = settings_of(source, 0, "kmeans")
    tracks = learn_embeddings([recording], settings, store, device="cpu").tracks
    decoded = decode("kmeans", Takes([recording], tracks, settings))
    return [shown_labels(decoded.clusterings[0], recording, settings)], {}, ""


def worth(
    prepared: PreparedTask, source: TaskSource, store: Store | None, position: int
) -> dict[str, float] | None:
    """Score the storyboard of one recording by itself; None without a true step.

    store  where embeddings are kept; None for `changes`, which learns none
    """
    assert prepared.recordings is not None
    recording, truth = prepared.recordings[position], prepared.truth[position]
    true_steps = TrueSteps.of_labels(truth, recording.times)
    if not len(true_steps.segments):
        return None
    if store is None:
        labels, figures, _ = labels_of("changes", [recording], settings_of(source, 0))
    else:
        labels, figures, _ = trained_labels(recording, source, store)
    shown = ShownSteps.of_labels(labels[0], recording.times)
    measured = RecordingJudge(true_steps, seed=position).measure(shown)
    k = source.n_clusters
    row = {name: measured[name].rates.f1 for name in MEASURES}
    row |= {f"{name} null": measured[name].nulls["matched-split"].f1 for name in MEASURES}
    row |= {"found": len(shown), "true": len(true_steps.segments), **figures}
    row["strict"] = score_strict(truth, labels[0], k).f1
    row["strict null"] = score_strict(truth, equal_split(len(truth), k), k).f1
    return row


def common_options(description: str) -> argparse.ArgumentParser:
    """Return the options of every script that measures on all sources."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/accuracy"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="sources whose names contain this text")
    return parser


def main() -> None:
    parser = common_options(__doc__)
    parser.add_argument("--trained", action="store_true", help="also train on single recordings")
    parser.add_argument("--results", type=Path, help="folder of benchmarks/results.py")
    parser.add_argument("--write", action="store_true", help="write docs/results/decoders.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs all sources, so it does not go with --only")
    print(f"{DURATION_TRAINED if options.trained else DURATION}, 5 of them for features of videos;")
    print("the same command continues after an interruption", flush=True)
    measured = Measured(METHODS, TAKES)
    for source in TASK_SOURCES:
        if options.only.lower() in source.name.lower():
            measure(source, options, measured)
    if options.results is not None:
        measured.paper = read_paper(options.results)
    for title, table in tables(measured).items():
        print(f"\n{title}\n\n{table}", end="")
    if options.write:
        print(decoders_page(measured))


def measure(source: TaskSource, options: argparse.Namespace, measured: Measured) -> None:
    """Measure all tasks of a source, or read what was kept."""
    kept = Kept(options.work / "figures" / code_version())
    store = Store(options.work / "cache")
    for folder, prepared in tasks_of(source, options.data, store):
        print(f"{source.name}: {folder}", flush=True)
        everything = range(len(prepared.times))
        score = partial(scores, prepared, source)
        measured.takes[source.name, folder] = {
            method: [
                kept(f"{folder}/{method}/{seed}", partial(score, method, seed, everything))
                for seed in range(options.seeds)
            ]
            for method in METHODS
        }
        measured.few[folder] = _few(kept, folder, score, len(prepared.times))
        for position in everything:
            ways = {"alone": None, **({"trained": store} if options.trained else {})}
            for way, learned_in in ways.items():
                if way == "trained" and position % 2 == 0:
                    continue
                make = partial(worth, prepared, source, learned_in, position)
                row = kept(f"{folder}/{way}/{position}", make)
                if row is not None:
                    measured.rows(way, source.name).append((position, row))


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
