"""How long scoring takes: all protocols and baselines on MECCANO's labels, and Kendall's tau.

    python benchmarks/evaluation_speed.py DATA

DATA/egoprocel contains the annotations; without them, labels of the same size are made up. Each
time is also given in products of two 4096 x 4096 matrices, to tell a slow machine from slow code.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.egoprocel import FORMAT
from stepreel.evaluation.methods.baselines import BASELINES
from stepreel.evaluation.metrics.kendall import task_tau
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.prediction_scores import score_prediction
from stepreel.evaluation.prepare import prepare_task
from stepreel.evaluation.truth.annotation import Problems
from stepreel.types import Labels


def meccano_labels(data: Path) -> list[Labels]:
    root = data / "egoprocel"
    if not root.is_dir():
        print("(no annotations found: using random labels of the same size)")
        rng = np.random.default_rng(0)
        return [np.repeat(rng.integers(0, 18, 60), 124) for _ in range(17)]
    (task,) = FORMAT.read(Request(root, Problems(), task="meccano"))
    return prepare_task(task, Problems(), labels_rate=FORMAT.labels_rate).truth


def product_seconds() -> float:
    matrix = np.ones((4096, 4096), np.float32)
    began = time.monotonic()
    matrix @ matrix
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--recordings", type=int, default=40, help="to compute tau of")
    options = parser.parse_args()
    truth = meccano_labels(options.data)
    lengths = [len(labels) for labels in truth]
    began = time.monotonic()
    for protocol in PROTOCOLS.values():
        for baseline in BASELINES.values():
            for seed in range(3):
                score_prediction(truth, baseline(lengths, 7, seed), 7, protocol)
    scoring = time.monotonic() - began
    print(
        f"{len(PROTOCOLS)} protocols, {len(BASELINES)} baselines, 3 seeds, {sum(lengths)} moments:"
    )
    print(f"  {scoring:.1f} s (limit 10), {scoring / product_seconds():.1f} matrix products")
    rng = np.random.default_rng(0)
    embeddings = [
        rng.normal(size=(1000, 256)).astype(np.float32) for _ in range(options.recordings)
    ]
    began = time.monotonic()
    task_tau(embeddings)
    tau = time.monotonic() - began
    print(f"Kendall's tau, {len(embeddings)} recordings of 1000 moments: {tau:.1f} s (limit 30)")
    print(f"  {tau / product_seconds():.1f} matrix products")
    if scoring > 10 or tau > 30:
        raise SystemExit("too slow; is the machine busy with something else?")


if __name__ == "__main__":
    main()
