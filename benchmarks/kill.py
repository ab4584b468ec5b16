"""Kill the command at random moments and compare what is left with an uninterrupted run.

`python benchmarks/kill.py --folder work [--kills 10] [--runs 1] [--seed 0]`

With `--runs 4`, four runs work on the same cache and output at once, and one of them is killed: the
others must finish as if it had never been there. Then the killed one is started again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from recordings import looped

from stepreel.evaluation.datasets.sample import make_sample

SETTINGS = ["--set", "extract.shard_seconds=10", "--decoder", "kmeans"]
SETTINGS += ["--set", "train.epochs=30", "-q"]
COMPARED = (
    "take1/storyboard.json",
    "take2/storyboard.json",
    "index.html",
    "model/model.safetensors",
)


@dataclass(frozen=True)
class Runs:
    """Starts runs of the same recordings."""

    folder: Path

    def start(self, output: Path, cache: Path) -> subprocess.Popen[bytes]:
        """Start a run of both recordings."""
        takes = [str(self.folder / f"take{number}.mp4") for number in (1, 2)]
        return subprocess.Popen(
            [sys.executable, "-m", "stepreel", "run", *takes, "-o", str(output), *SETTINGS],
            env={**os.environ, "STEPREEL_CACHE": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def make_recordings(self) -> None:
        """Make two recordings of half a minute."""
        for number in (1, 2):
            sample = make_sample(self.folder / f"sample-{number}", seed=number).video
            looped(sample, 30, self.folder / f"take{number}.mp4")


def contents(output: Path) -> dict[str, bytes | None]:
    """Return what every run must give to the byte; None for what is missing."""
    files = {name: output / name for name in COMPARED}
    return {name: file.read_bytes() if file.exists() else None for name, file in files.items()}


def one_round(
    runs: Runs, number: int, n_runs: int, after: float
) -> tuple[str, dict[str, bytes | None]]:
    """Kill one of several runs after some seconds, let the others finish, and start it again."""
    output, cache = runs.folder / f"out-{number}", runs.folder / f"cache-{number}"
    first, *others = [runs.start(output, cache) for _ in range(n_runs)]
    time.sleep(after)
    first.kill()
    state = "killed" if first.wait() != 0 else "finished"
    failed = sum(other.wait() != 0 for other in others)
    failed += runs.start(output, cache).wait() != 0
    found = contents(output)
    left = [path for path in cache.rglob("*") if path.suffix in (".lock", ".part")]
    shutil.rmtree(cache)
    return f"{state} after {after:5.1f} s; {failed} failed; {len(left)} files left over", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1, help="at once, on the same cache and output")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    runs = Runs(options.folder.resolve() / f"kill-{options.runs}")
    shutil.rmtree(runs.folder, ignore_errors=True)
    runs.folder.mkdir(parents=True)
    runs.make_recordings()

    assert runs.start(runs.folder / "whole", runs.folder / "cache").wait() == 0
    shutil.rmtree(runs.folder / "cache" / "recordings")
    shutil.rmtree(runs.folder / "cache" / "models")
    began = time.perf_counter()
    assert runs.start(runs.folder / "whole", runs.folder / "cache").wait() == 0
    seconds = time.perf_counter() - began  # with the network
    expected = contents(runs.folder / "whole")
    assert None not in expected.values()
    rng = random.Random(options.seed)
    same = 0
    for number in range(options.kills):
        # Several runs take longer together, but none is worth killing when all are done.
        state, found = one_round(runs, number, options.runs, rng.uniform(0.2, seconds))
        same += found == expected
        print(f"  {state}; same result: {found == expected}", flush=True)
    print(f"{same} of {options.kills} give the files of the uninterrupted run to the byte")
    sys.exit(same != options.kills)


if __name__ == "__main__":
    main()
