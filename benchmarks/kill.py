"""Kill the command at random moments and compare the rerun with an uninterrupted run.

`python benchmarks/kill.py --folder work [--times 10] [--seed 0]`
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from recordings import looped

from stepreel.evaluation.datasets.sample import make_sample

SETTINGS = ["--set", "extract.shard_seconds=20", "--set", "train.epochs=60", "-q"]


def start(video: Path, output: Path, cache: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "stepreel", "run", str(video), "-o", str(output), *SETTINGS],
        env={**os.environ, "STEPREEL_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.folder / "kill"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    video = looped(make_sample(folder / "sample", seed=0).video, 60, folder / "take.mp4")

    began = time.perf_counter()
    assert start(video, folder / "whole", folder / "cache").wait() == 0
    uninterrupted_seconds = time.perf_counter() - began
    expected = (folder / "whole" / "take" / "storyboard.json").read_bytes()
    rng = random.Random(options.seed)
    same = 0
    for number in range(options.times):
        output, cache = folder / f"out-{number}", folder / f"cache-{number}"
        process = start(video, output, cache)
        after = rng.uniform(0.2, uninterrupted_seconds)
        time.sleep(after)
        process.kill()
        died = process.wait() != 0
        left = list(output.rglob("storyboard.json")) if output.exists() else []
        assert start(video, output, cache).wait() == 0
        result = (output / "take" / "storyboard.json").read_bytes()
        equal = result == expected
        same += equal
        state = "killed" if died else "finished"
        print(f"  {state} after {after:5.1f} s; {len(left)} storyboards; same result: {equal}")
        shutil.rmtree(cache)
    print(f"{same} of {options.times} reruns give the uninterrupted run's storyboard to the byte")
    sys.exit(same != options.times)


if __name__ == "__main__":
    main()
