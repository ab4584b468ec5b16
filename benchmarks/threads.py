"""The demo's steps with one and with two threads: `python benchmarks/threads.py [--samples 0 1 2]`.

The number of threads changes the order of sums, so weights differ in their last digits. The step
times must still agree within a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from stepreel.evaluation.datasets.sample import make_sample

WITHIN_SECONDS = 1.0
LEARN = ("--decoder", "kmeans")


def steps(video: Path, folder: Path, n_threads: int) -> list[tuple[float, float, float]]:
    """Return start, moment and end of every step, learned with `n_threads` threads."""
    output = folder / f"{n_threads}-threads"
    subprocess.run(
        [sys.executable, "-m", "stepreel", "run", str(video), "-o", str(output), "--quiet", *LEARN],
        check=True,
        stdout=subprocess.DEVNULL,
        env={
            **os.environ,
            "OMP_NUM_THREADS": str(n_threads),
            "STEPREEL_CACHE": str(folder / f"cache-{n_threads}"),
        },
    )
    board = json.loads((output / video.stem / "storyboard.json").read_text())
    return [(step["start"], step["time"], step["end"]) for step in board["steps"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--samples", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    worst = 0.0
    for number in options.samples:
        video = make_sample(options.folder / f"sample-{number}", seed=number).video
        with_one, with_two = (steps(video, options.folder / f"threads-{number}", n) for n in (1, 2))
        if len(with_one) != len(with_two):
            print(
                f"sample {number}: {len(with_one)} steps with one thread, {len(with_two)} with two"
            )
            worst = float("inf")
            continue
        apart = max(
            abs(a - b)
            for step, other in zip(with_one, with_two, strict=True)
            for a, b in zip(step, other, strict=True)
        )
        worst = max(worst, apart)
        print(
            f"sample {number}: {len(with_one)} steps, times at most {apart:.2f} s apart", flush=True
        )
    sys.exit(worst > WITHIN_SECONDS)


if __name__ == "__main__":
    main()
