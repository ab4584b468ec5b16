"""Memory and time of embedding long recordings, each in its own process.

`python benchmarks/embed_length.py [--moments 10000 20000 40000 80000]`
Two cues of 1280 and 192 features, as extracted from videos. 40,000 moments must stay under 2 GB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time


def embed(n: int) -> None:
    import numpy as np

    from stepreel.config import load_settings
    from stepreel.learn.inference import embed_recording
    from stepreel.learn.training import build_encoder
    from stepreel.learn.training_data import recording_tensors
    from stepreel.types import FeatureTrack

    rng = np.random.default_rng(0)
    widths = {"appearance": 1280, "motion": 192}
    settings = load_settings("quick", {"loss.bootstrap": "none"})
    tracks = {
        cue: FeatureTrack(
            "r",
            cue,
            np.arange(n) / 4,
            rng.standard_normal((n, width), dtype=np.float32),
            np.ones(n, bool),
        )
        for cue, width in widths.items()
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    recording = recording_tensors(tracks, settings)
    embed_recording(build_encoder(widths, settings), recording, list(widths), name="r")
    spent = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    square = n * n * 4 / 1e6
    print(
        f"{n:8d} moments: {spent:6.1f} s, peak {peak:5.0f} MB, of which {before:5.0f} before "
        f"(a T x T matrix would be {square:,.0f} MB)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, nargs="+", default=[10_000, 20_000, 40_000, 80_000])
    parser.add_argument("--here", type=int, help="embed this many moments in this process")
    options = parser.parse_args()
    if options.here:
        embed(options.here)
        return
    for n in options.moments:
        subprocess.run([sys.executable, __file__, "--here", str(n)], check=True)


if __name__ == "__main__":
    main()
