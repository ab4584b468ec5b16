"""The paper's ablation tables on a folder of `.npz` recordings.

    python benchmarks/ablation.py losses DATA/jigsaws/Suturing --cues left_arm,right_arm \
        --clusters 7 --window-seconds 3 [--seeds 0 1 2] -o build/ablation

Every file contains `times`, one (T, D) array per cue and `labels` (T,), 0 = background. Training
sees no labels. The size is reduced (preset `paper-small`: 256 chunks, 100 epochs) unless `--set`
says otherwise. The cost is printed first. Finished rows are kept, and the same command continues
from there.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ablation_tables import TABLES, Row
from matplotlib.figure import Figure

from stepreel.cli.progress import progress_bar
from stepreel.config import Settings, load_settings, parse_assignments, pick_cues
from stepreel.evaluation.methods.baselines import equal_splits, random_labels
from stepreel.evaluation.methods.clustered import raw_track
from stepreel.evaluation.metrics.localization import (
    LocalizationScores,
    score_egoprocel,
    score_strict,
)
from stepreel.features.feature_files import FeatureRecording, read_features
from stepreel.learn.embeddings import METHOD_VERSION
from stepreel.learn.inference import embed_recording
from stepreel.learn.sampling import count_chunks
from stepreel.learn.training import build_encoder, train_encoder
from stepreel.learn.training_data import TrainingData, prepare_training_data
from stepreel.steps.clustering import cluster_recordings
from stepreel.system.files import write_bytes, write_text
from stepreel.system.store import Store, digest
from stepreel.types import FeatureTrack, Labels

PROTOCOLS = {"egoprocel": score_egoprocel, "strict": score_strict}
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Data:
    """Recordings in file-name order, and their true steps, which are used for scoring only."""

    recordings: list[FeatureRecording]
    truth: list[Labels]

    def first(self, n_cues: int | None) -> list[dict[str, FeatureTrack]]:
        """Return the tracks of the first `n_cues` cues only; None: all."""
        return [dict(list(r.tracks.items())[:n_cues]) for r in self.recordings]


def read_data(folder: Path, cues: Sequence[str]) -> Data:
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise SystemExit(f"{folder}: contains no .npz file")
    truth = []
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            if "labels" not in arrays:
                raise SystemExit(f"{file}: contains no `labels`, so nothing can be scored")
            truth.append(arrays["labels"].astype(np.int64))
    return Data([read_features(file, cues=cues) for file in files], truth)


def row_settings(row: Row, options: argparse.Namespace, cues: Sequence[str], seed: int) -> Settings:
    overrides: dict[str, object] = {
        "extract.cues": list(cues[: row.n_cues]),
        "loss.window_seconds": options.window_seconds,
        "key_steps.n_clusters": row.clusters or options.clusters,
        "train.seed": seed,
        **parse_assignments(options.assignments),
        **row.set,
    }
    return load_settings("paper-small", overrides)


def training_key(row: Row, data: Data, settings: Settings) -> dict[str, object]:
    """Describe everything a row's encoder depends on; rows with the same description share it."""
    return {
        "method": METHOD_VERSION,
        "recordings": [
            data.recordings[n].fingerprint for n in chosen_recordings(row, data, settings)
        ],
        "settings": settings.model_dump(exclude={"key_steps", "embed"}),
    }


def chosen_recordings(row: Row, data: Data, settings: Settings) -> list[int]:
    order = np.random.default_rng(settings.train.seed).permutation(len(data.recordings))
    return sorted(order[: row.n_recordings].tolist())


def run_row(row: Row, data: Data, settings: Settings, store: Store) -> Scores:
    """Train, embed, cluster all recordings together, score."""
    recordings = prepare_training_data(data.first(row.n_cues), settings).recordings
    chosen = [recordings[number] for number in chosen_recordings(row, data, settings)]
    n_chunks = count_chunks([len(tensors) for tensors in chosen], settings.train)
    entry = store.model_entry(training_key(row, data, settings))
    with progress_bar() as progress:
        trained = train_encoder(
            TrainingData(chosen, n_chunks), settings, entry=entry, progress=progress
        )
    cues = pick_cues(settings.embed.cues, list(recordings[0].inputs), setting="embed.cues")
    tracks = [embed_recording(trained.encoder, tensors, cues, name="") for tensors in recordings]
    k = settings.key_steps.n_clusters
    clusterings = cluster_recordings(tracks, k, seed=settings.train.seed)
    return score([clustering.labels for clustering in clusterings], data, k)


def score(labels: Sequence[Labels], data: Data, n_clusters: int) -> Scores:
    truth, predicted = np.concatenate(data.truth), np.concatenate(list(labels))
    return {name: _numbers(rule(truth, predicted, n_clusters)) for name, rule in PROTOCOLS.items()}


def _numbers(scores: LocalizationScores) -> dict[str, float]:
    return {"f1": scores.f1, "iou": scores.iou}


def null_rows(
    data: Data, all_clusters: Sequence[int], seeds: Sequence[int]
) -> dict[str, list[Scores]]:
    """Score null baselines for every K: random, an equal split, and k-means on raw features."""
    lengths = [len(labels) for labels in data.truth]
    raw = [raw_track(recording) for recording in data.recordings]
    rows: dict[str, list[Scores]] = {}
    for k in all_clusters:
        suffix = f", K = {k}" if len(all_clusters) > 1 else ""
        by_chance = [random_labels(lengths, k, seed) for seed in seeds]
        rows[f"random{suffix}"] = [score(labels, data, k) for labels in by_chance]
        rows[f"equal split{suffix}"] = [score(equal_splits(lengths, k), data, k)]
        rows[f"raw k-means{suffix}"] = [
            score(
                [clustering.labels for clustering in cluster_recordings(raw, k, seed=seed)], data, k
            )
            for seed in seeds
        ]
    return rows


def estimate(data: TrainingData, settings: Settings) -> float:
    """Estimate the seconds of one training from one epoch."""
    one_epoch = settings.train.model_copy(update={"epochs": 1, "stop_when_settled": False})
    short = settings.model_copy(update={"train": one_epoch})
    train_encoder(data, short)
    began = time.monotonic()
    train_encoder(data, short)
    return (time.monotonic() - began) * settings.train.epochs


def table_text(title: str, rows: dict[str, list[Scores]], notes: dict[str, str]) -> str:
    """Write means, and the spread over seeds if there are several."""
    lines = [title, f"{'':<36}{'egoprocel F1':>14}{'IoU':>12}{'strict F1':>14}{'IoU':>12}"]
    for name, runs in rows.items():
        cells = []
        for protocol in PROTOCOLS:
            for key in ("f1", "iou"):
                values = [run[protocol][key] for run in runs]
                spread = f" ± {np.std(values):.1f}" if len(values) > 1 else ""
                cells.append(f"{np.mean(values):.1f}{spread}")
        lines.append(
            f"{name:<36}{cells[0]:>14}{cells[1]:>12}{cells[2]:>14}{cells[3]:>12}"
            + (f"   {notes[name]}" if name in notes else "")
        )
    return "\n".join(lines) + "\n"


def plot(title: str, rows: dict[str, list[Scores]], n_null: int) -> bytes:
    """Draw F1 under both protocols as bars, one dot per seed, null rows in grey."""
    figure = Figure(figsize=(10, 1.2 + 0.42 * len(rows)), layout="constrained")
    panels = figure.subplots(1, len(PROTOCOLS), sharey=True)
    for axes, protocol in zip(panels, PROTOCOLS, strict=True):
        for place, runs in enumerate(rows.values()):
            values = [run[protocol]["f1"] for run in runs]
            colour = "#8a8a8a" if place < n_null else "#2563a8"
            axes.barh(place, np.mean(values), color=colour, height=0.7)
            axes.plot(values, [place] * len(values), "o", color="black", markersize=3)
            axes.text(0.6, place, f"{np.mean(values):.1f}", va="center", fontsize=8, color="white")
        axes.set(xlabel="F1, percent", title=f"protocol {protocol}")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(rows)), list(rows))
    panels[0].invert_yaxis()
    figure.suptitle(title)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=130)
    return file.getvalue()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--cues", default="", help="comma-separated names; the first is the main cue"
    )
    parser.add_argument("--clusters", type=int, default=7)
    parser.add_argument("--window-seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/ablation"))
    return parser.parse_args()


@dataclass(frozen=True)
class Run:
    """One row with one seed, and the file with its scores."""

    row: Row
    settings: Settings
    file: Path

    def scores(self) -> Scores:
        """Read the scores back."""
        scores: Scores = json.loads(self.file.read_text())
        return scores


def plan(options: argparse.Namespace, data: Data, store: Store) -> list[Run]:
    cues = list(data.recordings[0].tracks)
    runs = []
    for row in TABLES[options.table]:
        if (row.n_recordings or 0) >= len(data.recordings):
            continue  # training on all recordings is a row of its own
        for seed in options.seeds:
            settings = row_settings(row, options, cues, seed)
            everything = [training_key(row, data, settings), settings.model_dump()]
            runs.append(Run(row, settings, store.root / "rows" / f"{digest(everything)}.json"))
    return runs


def print_cost(runs: Sequence[Run], data: Data, store: Store, options: argparse.Namespace) -> None:
    """Print how long the work will take, before it starts."""
    missing = [run for run in runs if not run.file.exists()]
    keys = {digest(training_key(run.row, data, run.settings)): run for run in missing}
    new = [
        run
        for run in keys.values()
        if not store.model_entry(training_key(run.row, data, run.settings)).exists()
    ]
    if not missing:
        return
    cues = list(data.recordings[0].tracks)
    base = row_settings(Row(""), options, cues, 0)
    seconds = estimate(prepare_training_data(data.first(None), base), base)
    scale = sum((run.settings.train.n_chunks / base.train.n_chunks) ** 1.5 for run in new)
    print(
        f"{len(new)} models to train, {len(missing)} rows to cluster and score, "
        f"{len(runs) - len(missing)} rows already done; training takes about "
        f"{math.ceil(scale * seconds / 60)} minutes",
        flush=True,
    )


def main() -> None:
    options = parse()
    data = read_data(options.folder, [c for c in options.cues.split(",") if c])
    store = Store(options.output / "cache")
    runs = plan(options, data, store)
    all_clusters = sorted({run.settings.key_steps.n_clusters for run in runs})
    title = (
        f"{options.table} on {options.folder.name}: K {', '.join(map(str, all_clusters))}, "
        f"σ {options.window_seconds:g} s, {len(options.seeds)} seed(s), "
        f"{', '.join(data.recordings[0].tracks)}"
    )
    print(title)
    print_cost(runs, data, store, options)
    for run in runs:
        if run.file.exists():
            continue
        began = time.monotonic()
        scores = run_row(run.row, data, run.settings, store)
        write_text(run.file, json.dumps(scores))
        f1, spent = scores["egoprocel"]["f1"], time.monotonic() - began
        print(f"  {run.row.name}, seed {run.settings.train.seed}: F1 {f1:.1f}, {spent:.0f} s")
        sys.stdout.flush()
    table = null_rows(data, all_clusters, options.seeds)
    n_null, notes = len(table), {}
    for run in runs:
        table.setdefault(run.row.name, []).append(run.scores())
        encoder = build_encoder(_widths(data, run.row), run.settings)
        count = sum(weights.numel() for weights in encoder.parameters())
        paper = f"; paper {run.row.paper}" if run.row.paper else ""
        notes[run.row.name] = f"{count / 1e6:.2f} M parameters{paper}"
    text = table_text(title, table, notes)
    name = f"{options.table}-{options.folder.name}"
    write_text(options.output / f"{name}.txt", text)
    write_bytes(options.output / f"{name}.png", plot(title, table, n_null))
    print(f"\n{text}\n{options.output / name}.txt, .png")


def _widths(data: Data, row: Row) -> dict[str, int]:
    return {cue: track.width for cue, track in data.first(row.n_cues)[0].items()}


if __name__ == "__main__":
    main()
