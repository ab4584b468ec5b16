"""Speed and memory: `python benchmarks/speed.py --folder work [extraction|run|length|help]`.

Figures are ratios of things measured side by side in one run: machines differ and are shared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import cv2
from processes import measure
from recordings import camera_like, enlarged_sample, looped

from stepreel.cues import make_cues
from stepreel.features.extraction import extract_tracks
from stepreel.system.machine import usable_cores
from stepreel.system.store import Store
from stepreel.video.decode import probe
from stepreel.video.moments import walk_moments

RATE = 4.0
PLAIN_LOOP = (sys.executable, Path(__file__).parent / "plain_loop.py")


def seconds_of(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cost_of(work) -> tuple[float, float]:
    """Return seconds, and seconds of all cores together, which other programs disturb less."""
    before = sum(os.times()[:4])
    seconds = seconds_of(work)
    return seconds, sum(os.times()[:4]) - before


def cost_of_command(*command: object) -> tuple[float, float]:
    words = list(map(str, command))
    return cost_of(lambda: subprocess.run(words, capture_output=True, check=True))


def decode_only(video: Path) -> float:
    """Only decode, with the small pictures that every cue needs."""
    return seconds_of(lambda: sum(1 for _ in walk_moments(probe(video), rate=RATE)))


def spread(work, batches) -> float:
    """Run a single stage on all cores."""
    with ThreadPoolExecutor(usable_cores()) as pool:
        return seconds_of(lambda: list(pool.map(work, batches)))


def extraction(folder: Path) -> None:
    """Compare overlapped stages with the sum of single stages, on three minutes of video."""
    video = looped(enlarged_sample(folder), 180, folder / "3min.mp4")
    appearance, motion = make_cues(["appearance", "motion"])
    appearance.prepare(folder / "backbones")
    moments = list(walk_moments(probe(video), rate=RATE))
    batches = [moments[i : i + 16] for i in range(0, len(moments), 16)]
    cv2.setNumThreads(1)
    alone = {
        "decoding": decode_only(video),
        "flow": spread(motion.extract, batches),
        "network": spread(appearance.extract, batches),
    }
    del moments, batches
    shutil.rmtree(folder / "fresh", ignore_errors=True)
    cores_before = sum(os.times()[:2])
    together = seconds_of(
        lambda: extract_tracks(
            probe(video), [appearance, motion], Store(folder / "fresh"), rate=RATE
        )
    )
    share = (sum(os.times()[:2]) - cores_before) / (together * usable_cores())
    for name, seconds in alone.items():
        print(f"  {name:<28} {seconds:7.2f} s alone on all cores")
    total = sum(alone.values())
    print(f"  {'extraction, all overlapped':<28} {together:7.2f} s, previews and storing included")
    print(
        f"  ratio {together / total:.2f} (at most 1.1); {share:.0%} of core time used (aim: 90 %)"
    )


def run(folder: Path, options: argparse.Namespace) -> None:
    """Run the whole command on ten minutes of 720p beside other tools, then with at most 9 kinds.

    The tools take turns, each in a process of its own, and the middle of their times counts.
    """
    source = camera_like(options.video, folder)
    video = looped(source, 600, folder / f"10min-{source.name}")
    detector = options.scenedetect or shutil.which("scenedetect")
    costs = defaultdict(list)
    for turn in range(options.turns):
        shutil.rmtree(folder / "cache", ignore_errors=True)
        costs["plain PyAV loop"].append(cost_of_command(*PLAIN_LOOP, video))
        first = measure("run", video, "-o", folder / "out", "-q", cache=folder / "cache")
        again = measure("run", video, "-o", folder / "out", "-q", "-k", 9, cache=folder / "cache")
        assert first.status == again.status == 0, first.output + again.output
        costs["stepreel run, first"].append((first.seconds, first.core_seconds))
        costs["stepreel run, at most 9 kinds"].append((again.seconds, again.core_seconds))
        costs["decoding with our previews"].append(cost_of(lambda: decode_only(video)))
        if detector:
            command = (detector, "-q", "-i", video, "detect-adaptive")
            costs["PySceneDetect"].append(cost_of_command(*command))
        print(f"  turn {turn + 1}: {first.peak_megabytes:.0f} MB peak of stepreel run", flush=True)
    print_ratios(costs, "plain PyAV loop")
    if not detector:
        print("  PySceneDetect is not here (pip install scenedetect opencv-python-headless), or is")
        print("  elsewhere (--scenedetect PROGRAM)")


def print_ratios(costs: Mapping[str, Sequence[tuple[float, float]]], unit: str) -> None:
    """Print the middle and spread of seconds, and how they compare; of core seconds likewise."""
    plain, plain_cores = (median(column) for column in zip(*costs[unit], strict=True))
    for name, pairs in costs.items():
        times, cores = zip(*pairs, strict=True)
        print(
            f"  {name:<30} {median(times):6.1f} s ({min(times):.1f} to {max(times):.1f}), "
            f"{median(times) / plain:.2f} x plain; {median(cores):6.1f} core seconds, "
            f"{median(cores) / plain_cores:.2f} x"
        )


def length(folder: Path, minutes: list[int]) -> None:
    """Print time and memory by length."""
    print("  minutes   seconds   seconds per minute   peak MB")
    for number in minutes:
        video = looped(enlarged_sample(folder), 60 * number, folder / f"{number}min.mp4")
        shutil.rmtree(folder / "cache-length", ignore_errors=True)
        done = measure("run", video, "-o", folder / "out", "-q", cache=folder / "cache-length")
        assert done.status == 0, done.output
        print(
            f"  {number:7d} {done.seconds:9.1f} {done.seconds / number:14.2f} "
            f"{done.peak_megabytes:17.0f}",
            flush=True,
        )
        shutil.rmtree(folder / "cache-length")
        video.unlink()


def help_time(folder: Path) -> None:
    """Time `stepreel --help`, best of five, next to an empty Python."""

    def best(*command: str) -> float:
        return min(
            seconds_of(lambda: subprocess.run(command, capture_output=True, check=True))
            for _ in range(5)
        )

    python = best(sys.executable, "-c", "pass")
    print(f"  --help {best(sys.executable, '-m', 'stepreel', '--help'):.2f} s (under 0.5)")
    print(f"  an empty Python {python:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--minutes", type=int, nargs="+", default=[5, 20, 60, 180])
    parser.add_argument("--video", type=Path, help="for run: a real video to loop, of any length")
    parser.add_argument("--scenedetect", help="for run: the program, where it is not on the path")
    parser.add_argument("--turns", type=int, default=3, help="for run: how often each is measured")
    parser.add_argument("parts", nargs="*", default=["extraction", "run", "length", "help"])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{usable_cores()} cores")
    for part in options.parts:
        print(part, flush=True)
        if part == "length":
            length(options.folder, options.minutes)
        elif part == "run":
            run(options.folder, options)
        else:
            {"extraction": extraction, "help": help_time}[part](options.folder)


if __name__ == "__main__":
    main()
