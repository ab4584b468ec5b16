"""Score storyboards of sample recordings, next to as many equal parts.

`python benchmarks/demo_scores.py --folder work [--samples 1 2 3] [--seeds 0 1 2]`
Samples are numbered by the seed of their generator. F1 in percent: borders to 1 s and 2 s,
coverage, and the protocol `strict`, with as many clusters as the storyboard has kinds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from stepreel.config import parse_assignments
from stepreel.evaluation.datasets.sample import make_sample, read_sample_steps
from stepreel.evaluation.methods.baselines import equal_split
from stepreel.evaluation.metrics.localization import score_strict
from stepreel.evaluation.metrics.storyboard_worth import MATCHED_SPLIT, RecordingJudge
from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps
from stepreel.evaluation.truth.annotation import labels_of_spans
from stepreel.evaluation.truth.storyboard_labels import labels_of_storyboard
from stepreel.pipeline import run
from stepreel.storyboard.schema import Storyboard
from stepreel.system.store import Store
from stepreel.types import Labels, Seconds

MEASURES = ("1s", "2s", "coverage")


def score(board: Storyboard, truth: Labels, times: Seconds) -> dict[str, tuple[float, float]]:
    """Return by measure the F1 of a storyboard, and that of as many equal parts."""
    steps = ShownSteps.of_steps([(step.start, step.end, step.time) for step in board.steps])
    measured = RecordingJudge(TrueSteps.of_labels(truth, times)).measure(steps)
    scores = {
        name: (measured[name].rates.f1, measured[name].nulls[MATCHED_SPLIT].f1) for name in MEASURES
    }
    k = board.settings["key_steps"]["n_clusters"]
    ours = score_strict(truth, labels_of_storyboard(board, times), k).f1
    return {**scores, "strict": (ours, score_strict(truth, equal_split(len(times), k), k).f1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    options = parser.parse_args()
    gains = []
    names = "".join(f"{name:>18}" for name in (*MEASURES, "strict"))
    print(f"sample  seed  steps  kinds{names}   (stepreel, equal parts)")
    for number in options.samples:
        sample = make_sample(options.folder / f"sample-{number}", seed=number)
        true_steps = [(t.start, t.end, t.step) for t in read_sample_steps(sample.truth)]
        for seed in options.seeds:
            overrides = parse_assignments(options.assignments) | {"train.seed": seed}
            store = Store(options.folder / "cache-demo")
            board = run([sample.video], store, overrides=overrides).results[0].storyboard
            times = np.arange(0, board.recording.duration_seconds, 1 / 30)
            scores = score(board, labels_of_spans(true_steps, times, 0), times)
            gains.append([ours - equal for ours, equal in scores.values()])
            kinds = board.settings["key_steps"]["n_clusters"]
            cells = "".join(f"{ours:12.1f} {equal:5.1f}" for ours, equal in scores.values())
            print(f"{number:6d} {seed:5d} {len(board.steps):6d} {kinds:6d}{cells}", flush=True)
    for name, values in (("mean", np.mean(gains, axis=0)), ("smallest", np.min(gains, axis=0))):
        print(f"gain, {name:<19}{''.join(f'{value:12.1f}      ' for value in values)}".rstrip())


if __name__ == "__main__":
    main()
