"""Run commands under limits of address space (`ulimit -v`): results, or one line, never a crash.

    python benchmarks/memory_limits.py --from 300 --to 4000 --step 100

prints a line per command and limit in MB, and ends with status 1 if one of them crashed, hung,
printed a traceback, or ended with a status that does not match its results.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from videos import busy_task, steady, write_video

FAST = ("--set", "train.epochs=2", "--set", "train.n_chunks=16", "--quiet")
TRAINED = ("--decoder", "kmeans", *FAST)
COMMANDS = {
    "help": ("--help",),
    "info": ("info",),
    "score": ("score", "--truth", "labels", "--prediction", "labels", "-o", "OUT"),
    "features": ("run", "a.npz", "b.npz", "-o", "OUT", "--no-cache", *TRAINED),
    "video": ("run", "v.mp4", "-o", "OUT", "--no-cache", *TRAINED),
    "untrained": ("run", "v.mp4", "-o", "OUT", "--no-cache", "--quiet"),
    "evaluate": ("evaluate", "npz", "labels", "-o", "OUT", "--seeds", "1", "--no-cache", *FAST),
}
HANG_SECONDS = 600


def make_inputs(folder: Path) -> None:
    """Write a video of four seconds, two feature files, and the same with labels."""
    write_video(folder / "v.mp4", steady(120), busy_task())
    steps = np.repeat([0, 1, 2], 20)
    features = np.eye(3)[steps] + 0.1 * np.random.default_rng(0).normal(size=(60, 3))
    (folder / "labels").mkdir()
    for name in ("a", "b"):
        arrays = {"times": np.arange(60) / 4, "gaze": features}
        np.savez(folder / f"{name}.npz", **arrays)
        np.savez(folder / "labels" / f"{name}.npz", **arrays, labels=steps)


def try_limit(folder: Path, command: str, megabytes: int) -> str:
    """Run a command under a limit; return what is wrong with its end, or nothing."""
    output = folder / f"{command}-{megabytes}"
    arguments = [str(output) if part == "OUT" else part for part in COMMANDS[command]]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000,) * 2)

    try:
        done = subprocess.run(
            [sys.executable, "-m", "stepreel", *arguments],
            cwd=folder,
            preexec_fn=limit,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    has_results = bool(done.stdout) and ("OUT" not in COMMANDS[command] or output.exists())
    if "Traceback" in done.stderr or "Exception ignored" in done.stderr:
        return f"traceback: {done.stderr[-2000:]}"
    if done.returncode == 0:
        return "" if has_results else "status 0 without results"
    if done.returncode != 2:
        return f"status {done.returncode}: {done.stderr[-2000:]}"
    lines = done.stderr.splitlines()
    return "" if len(lines) == 1 and "memory" in lines[0] else f"not one line: {lines}"


def main() -> None:
    """Try every command at every limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="first", type=int, default=300, metavar="MB")
    parser.add_argument("--to", dest="last", type=int, default=4000, metavar="MB")
    parser.add_argument("--step", type=int, default=100, metavar="MB")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    options = parser.parse_args()
    n_wrong = 0
    with tempfile.TemporaryDirectory() as name:
        make_inputs(Path(name))
        for command in options.commands.split(","):
            for megabytes in range(options.first, options.last + 1, options.step):
                wrong = try_limit(Path(name), command, megabytes)
                print(f"{command} {megabytes} MB: {wrong or 'right'}", flush=True)
                n_wrong += bool(wrong)
    print(f"{n_wrong} wrong")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
