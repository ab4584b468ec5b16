"""Measure what a copy in H.264 costs: its time against decoding alone, and its size.

    python benchmarks/proxy.py VIDEO…

Both are measured side by side in one run; decoding runs before and after the copy is made.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from stepreel.types import VideoFile
from stepreel.video.decode import Decoding, frames_from, probe
from stepreel.video.proxy import Recipe, write_proxy


def decode_seconds(video: VideoFile) -> float:
    """Return how long it takes to decode every frame."""
    start = time.perf_counter()
    for _ in frames_from(video, 0.0, Decoding()):
        pass
    return time.perf_counter() - start


def main() -> None:
    """Print a line per video."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("videos", nargs="+", type=Path)
    for path in parser.parse_args().videos:
        video = probe(path)
        before = decode_seconds(video)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.mp4"
            start = time.perf_counter()
            write_proxy(video, copy, Recipe())
            making = time.perf_counter() - start
            size = copy.stat().st_size
        decoding = (before + decode_seconds(video)) / 2
        seconds = max(video.declared_seconds, 1e-9)
        print(
            f"{video.name}: {video.width} x {video.height}, {seconds:.1f} s; "
            f"the copy takes {making / decoding:.1f} x decoding, {making / seconds:.2f} x the "
            f"recording's length, {8e-6 * size / seconds:.2f} Mbit/s"
        )


if __name__ == "__main__":
    main()
