"""The paper's ablation tables on a folder of `.npz` recordings.

    python benchmarks/ablation.py losses DATA/jigsaws/Suturing --cues left_arm,right_arm \
        --clusters 7 --window-seconds 3 [--seeds 0 1 2] -o build/ablation

Every file holds `times`, one (T, D) array per cue and `labels` (T,), 0 = background. Training sees
no labels. The size is reduced (preset `paper`: 256 chunks, 100 epochs) unless `--set` says
otherwise. The cost is said first; what is done is kept, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from ablation_tables import TABLES, Row

from stepreel.cli.terminal import progress_bar
from stepreel.cluster import cluster_recordings
from stepreel.config import Settings, load_settings, parse_assignments, pick_cues
from stepreel.dataset import Lesson, prepare_lessons
from stepreel.embed import embed_recording
from stepreel.evaluation.baselines import equal_split
from stepreel.evaluation.localization import LocalizationScores, score_egoprocel, score_strict
from stepreel.feature_files import FeatureRecording, read_features
from stepreel.files import write_bytes, write_text
from stepreel.machine import usable_cores
from stepreel.standardise import standardised
from stepreel.store import Store, digest
from stepreel.train import build_encoder, train_encoder
from stepreel.types import FeatureTrack, Labels

PROTOCOLS = {"egoprocel": score_egoprocel, "strict": score_strict}
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Data:
    """Recordings in file-name order, and their true steps, which only scoring sees."""

    recordings: list[FeatureRecording]
    truth: list[Labels]

    def first(self, n_cues: int | None) -> list[dict[str, FeatureTrack]]:
        """Return the tracks of the first cues alone."""
        return [dict(list(r.tracks.items())[:n_cues]) for r in self.recordings]


def read_data(folder: Path, cues: Sequence[str]) -> Data:
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise SystemExit(f"{folder}: holds no .npz file")
    truth = []
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            if "labels" not in arrays:
                raise SystemExit(f"{file}: holds no `labels`, so nothing can be scored")
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
    return load_settings("paper", overrides)


def run_row(row: Row, data: Data, settings: Settings, store: Store) -> Scores:
    """Train, embed, cluster all recordings together, score."""
    lessons = prepare_lessons(data.first(row.n_cues), settings)
    rng = np.random.default_rng(settings.train.seed)
    chosen = rng.permutation(len(lessons))[: row.n_recordings].tolist()
    entry = store.model_entry(
        {
            "recordings": [data.recordings[number].fingerprint for number in chosen],
            "settings": settings.model_dump(exclude={"key_steps", "embed"}),
        }
    )
    with progress_bar() as progress:
        trained = train_encoder(
            [lessons[n] for n in chosen], settings, entry=entry, progress=progress
        )
    cues = pick_cues(settings.embed.cues, list(lessons[0].inputs), setting="embed.cues")
    tracks = [embed_recording(trained.encoder, le, cues, recording="") for le in lessons]
    k = settings.key_steps.n_clusters
    found = cluster_recordings(tracks, k, seed=settings.train.seed)
    return score([one.labels for one in found], data, k)


def score(labels: Sequence[Labels], data: Data, n_clusters: int) -> Scores:
    truth, found = np.concatenate(data.truth), np.concatenate(list(labels))
    return {name: _numbers(rule(truth, found, n_clusters)) for name, rule in PROTOCOLS.items()}


def _numbers(scores: LocalizationScores) -> dict[str, float]:
    return {"f1": scores.f1, "iou": scores.iou}


def null_rows(data: Data, n_clusters: int, seeds: Sequence[int]) -> dict[str, list[Scores]]:
    """Score what needs no learning: chance, an equal split, and clusters of the raw features."""
    lengths = [len(labels) for labels in data.truth]
    raw = [
        FeatureTrack(
            one.name,
            "raw",
            next(iter(one.tracks.values())).times,
            np.concatenate(
                [standardised(t, average_seconds=0, z_score=True) for t in one.tracks.values()], 1
            ),
            np.ones(len(next(iter(one.tracks.values()))), bool),
        )
        for one in data.recordings
    ]

    def random(seed: int) -> list[Labels]:
        rng = np.random.default_rng(seed)
        return [rng.integers(n_clusters, size=n) for n in lengths]

    def raw_kmeans(seed: int) -> list[Labels]:
        return [one.labels for one in cluster_recordings(raw, n_clusters, seed=seed)]

    return {
        "random": [score(random(seed), data, n_clusters) for seed in seeds],
        "equal split": [score([equal_split(n, n_clusters) for n in lengths], data, n_clusters)],
        "raw k-means": [score(raw_kmeans(seed), data, n_clusters) for seed in seeds],
    }


def estimate(lessons: Sequence[Lesson], settings: Settings) -> float:
    """Return about how many seconds one training takes, from one epoch of it."""
    one_epoch = settings.train.model_copy(update={"epochs": 1, "stop_when_settled": False})
    short = settings.model_copy(update={"train": one_epoch})
    train_encoder(lessons, short)
    began = time.monotonic()
    train_encoder(lessons, short)
    return (time.monotonic() - began) * settings.train.epochs


def table_text(title: str, rows: dict[str, list[Scores]], notes: dict[str, str]) -> str:
    """Write means, and the spread over seeds where there are several."""
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
    import io

    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 1.2 + 0.42 * len(rows)), layout="constrained")
    panels = figure.subplots(1, len(PROTOCOLS), sharey=True)
    for axes, protocol in zip(panels, PROTOCOLS, strict=True):
        for place, runs in enumerate(rows.values()):
            values = [run[protocol]["f1"] for run in runs]
            colour = "#b5b5b5" if place < n_null else "#2563a8"
            axes.barh(place, np.mean(values), color=colour, height=0.7)
            axes.plot(values, [place] * len(values), "o", color="black", markersize=3)
            axes.text(0.6, place, f"{np.mean(values):.1f}", va="center", fontsize=8, color="white")
        axes.axvline(np.mean([r[protocol]["f1"] for r in rows["equal split"]]), color="#a33", lw=1)
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
    parser.add_argument("--cues", default="", help="names, parted by commas; the first is main")
    parser.add_argument("--clusters", type=int, default=7)
    parser.add_argument("--window-seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/ablation"))
    return parser.parse_args()


def main() -> None:
    options = parse()
    torch.set_num_threads(usable_cores())
    data = read_data(options.folder, [c for c in options.cues.split(",") if c])
    cues = list(data.recordings[0].tracks)
    rows = [row for row in TABLES[options.table] if (row.n_recordings or 0) < len(data.recordings)]
    store = Store(options.output / "cache")
    runs = [
        (row, seed, row_settings(row, options, cues, seed))
        for row in rows
        for seed in options.seeds
    ]
    results = {
        id(settings): store.root / "rows" / f"{_key(row, data, settings)}.json"
        for row, _, settings in runs
    }
    missing = [run for run in runs if not results[id(run[2])].exists()]
    title = f"{options.table} on {options.folder.name}: K {options.clusters}, σ "
    title += f"{options.window_seconds:g} s, {len(options.seeds)} seed(s), {', '.join(cues)}"
    print(title)
    if missing:
        base = row_settings(Row(""), options, cues, 0)
        seconds = estimate(prepare_lessons(data.first(None), base), base)
        scale = [(s.train.n_chunks / base.train.n_chunks) ** 1.5 for _, _, s in missing]
        print(
            f"{len(missing)} trainings to do, {len(runs) - len(missing)} done before; "
            f"about {math.ceil(sum(scale) * seconds / 60)} minutes, and clustering",
            flush=True,
        )
    for row, seed, settings in missing:
        began = time.monotonic()
        scores = run_row(row, data, settings, store)
        write_text(results[id(settings)], json.dumps(scores))
        spent = time.monotonic() - began
        print(
            f"  {row.name}, seed {seed}: F1 {scores['egoprocel']['f1']:.1f}, {spent:.0f} s",
            flush=True,
        )
    table: dict[str, list[Scores]] = null_rows(data, options.clusters, options.seeds)
    n_null, notes = len(table), {}
    for row, _, settings in runs:
        table.setdefault(row.name, []).append(json.loads(results[id(settings)].read_text()))
        count = sum(p.numel() for p in build_encoder(_widths(data, row), settings).parameters())
        paper = f"; paper {row.paper[0]:g} / {row.paper[1]:g}" if row.paper else ""
        notes[row.name] = f"{count / 1e6:.2f} M parameters{paper}"
    text = table_text(title, table, notes)
    name = f"{options.table}-{options.folder.name}"
    write_text(options.output / f"{name}.txt", text)
    write_bytes(options.output / f"{name}.png", plot(title, table, n_null))
    print(f"\n{text}\n{options.output / name}.txt, .png")


def _key(row: Row, data: Data, settings: Settings) -> str:
    prints = [recording.fingerprint for recording in data.recordings]
    return digest([row.n_recordings, prints, settings.model_dump()])


def _widths(data: Data, row: Row) -> dict[str, int]:
    return {cue: track.width for cue, track in data.first(row.n_cues)[0].items()}


if __name__ == "__main__":
    main()
