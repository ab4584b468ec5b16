"""Score sample recordings with several training seeds, next to the equal split.

`python benchmarks/demo_scores.py --folder work [--samples 1 2 3] [--seeds 0 1 2]`
Samples are numbered by the seed of their generator. Protocol `strict`, F1 in percent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from stepreel.config import parse_assignments
from stepreel.evaluation.datasets.sample import make_sample, read_sample_steps
from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.metrics.localization import score_strict
from stepreel.evaluation.truth.annotation import labels_of_spans
from stepreel.evaluation.truth.storyboard_labels import labels_of_storyboard
from stepreel.pipeline import run
from stepreel.system.store import Store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    options = parser.parse_args()
    gains = []
    print("sample  seed   equal split   stepreel   gain   steps")
    for number in options.samples:
        sample = make_sample(options.folder / f"sample-{number}", seed=number)
        truth_steps = read_sample_steps(sample.truth)
        for seed in options.seeds:
            overrides = parse_assignments(options.assignments) | {"train.seed": seed}
            store = Store(options.folder / "cache-demo")
            found = run([sample.video], store, preset="quick", overrides=overrides)
            result = found.results[0]
            board, settings = result.storyboard, result.settings
            times = np.arange(0, board.recording.duration_seconds, 1 / 30)
            truth = labels_of_spans([(t.start, t.end, t.step) for t in truth_steps], times, 0)
            k = settings.key_steps.n_clusters
            null = score_strict(truth, equal_split(len(times), k), k).f1
            ours = score_strict(truth, labels_of_storyboard(board, times), k).f1
            gains.append(ours - null)
            print(
                f"{number:6d} {seed:5d} {null:13.1f} {ours:10.1f} {ours - null:6.1f} "
                f"{len(board.steps):7d}",
                flush=True,
            )
    print(f"gain: mean {np.mean(gains):.1f}, smallest {np.min(gains):.1f}")


if __name__ == "__main__":
    main()
