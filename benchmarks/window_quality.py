"""Measure the quality of the bootstrapped window with labels, which training never sees.

    python benchmarks/window_quality.py DATA/jigsaws/Suturing --cues left_arm,right_arm \
        --window-seconds 3

For every cue and for all cues side by side: the share of pairs that show the same true step, among
all pairs, among near pairs, and among the pairs that the bootstrap adds (similar, but not near). A
bootstrap helps only if the last share is above the first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from ablation import Data, read_data

from stepreel.config import load_settings
from stepreel.learn.gradients import batch_pairs
from stepreel.learn.sampling import sample_chunks
from stepreel.learn.training_data import gather, prepare_training_data
from stepreel.learn.windows import near_window


def shares(data: Data, on: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the shares of same-step pairs among all, near and added pairs, and of added pairs."""
    settings = load_settings(
        "paper-small",
        {
            "loss.window_seconds": options.window_seconds,
            "loss.bootstrap_on": "all" if on == "all cues" else [on],
        },
    )
    rng = np.random.default_rng(options.seed)
    same_and_count = {name: np.zeros(2) for name in ("all pairs", "near", "added")}
    for recording, truth in zip(
        prepare_training_data(data.first(None), settings).recordings, data.truth, strict=True
    ):
        pick = sample_chunks(len(recording), settings.train.n_chunks, rng)
        batch = gather([recording], [torch.from_numpy(pick)])
        near = near_window(batch.times, batch.window_seconds[:, None, None])[0].numpy()
        union = batch_pairs(batch, "union").attract[0].numpy()
        same = truth[pick][:, None] == truth[pick][None, :]
        others = ~np.eye(len(pick), dtype=bool)
        for name, pairs in (
            ("all pairs", others),
            ("near", near & others),
            ("added", union & ~near),
        ):
            same_and_count[name] += same[pairs].sum(), pairs.sum()
    result = {name: same / max(count, 1) for name, (same, count) in same_and_count.items()}
    result["added of all"] = same_and_count["added"][1] / same_and_count["all pairs"][1]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cues", default="")
    parser.add_argument("--window-seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = read_data(options.folder, [c for c in options.cues.split(",") if c])
    cues = list(data.recordings[0].tracks)
    print(f"same true step, in percent, {options.folder.name}, σ {options.window_seconds:g} s")
    print(f"{'bootstrapped on':<20}{'all pairs':>11}{'near':>8}{'added':>8}{'added of all':>14}")
    for on in [*cues, "all cues"]:
        row = {name: 100 * share for name, share in shares(data, on, options).items()}
        print(
            f"{on:<20}{row['all pairs']:>11.1f}{row['near']:>8.1f}{row['added']:>8.1f}"
            f"{row['added of all']:>14.1f}"
        )


if __name__ == "__main__":
    main()
