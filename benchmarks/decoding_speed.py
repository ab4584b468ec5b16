"""Time the decoders: 40 takes of ten minutes, and one recording of an hour.

    python benchmarks/decoding_speed.py

Four moments a second, two cues of 128 and 32 features (takes) or 1280 and 128 (one hour), K = 10 or
found, on all cores. Peak memory is beyond what the features themselves take. The limits are 5 s for
the takes and 3 s for the hour; a line above its limit ends the script with status 1. On a machine
that is not quiet, the seconds of all cores together say more.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace

import numpy as np

from stepreel.config import load_settings
from stepreel.derived import Derived
from stepreel.features.feature_files import FeatureRecording, recording_from_arrays
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.decode import decode

RATE = 4.0
TAKES, TAKE_MOMENTS, TAKE_WIDTHS = 40, 2400, {"appearance": 128, "motion": 32}
HOUR_MOMENTS, HOUR_WIDTHS = 14_400, {"appearance": 1280, "motion": 128}
N_CLUSTERS = 10
RUNS = {  # decoder, K, and the limit in seconds
    "hmm": ("hmm", N_CLUSTERS, 5.0),
    "clock": ("clock", N_CLUSTERS, 5.0),
    "auto": ("auto", N_CLUSTERS, 5.0),
    "auto, K found": ("auto", None, 5.0),
    "changes": ("changes", N_CLUSTERS, 3.0),
}


def recording(n_moments: int, widths: dict[str, int], seed: int) -> FeatureRecording:
    """Make features of steps of 5 to 60 s, each with its own mean, and noise."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(20, 240, size=n_moments // 20)
    kinds = np.repeat(rng.integers(N_CLUSTERS, size=len(lengths)), lengths)[:n_moments]
    times = np.arange(n_moments) / RATE
    arrays = {}
    for cue, width in widths.items():
        means = np.random.default_rng(width).normal(size=(N_CLUSTERS, width)).astype(np.float32)
        noise = rng.normal(size=(n_moments, width)).astype(np.float32)
        arrays[cue] = means[kinds] + 2 * noise
    return recording_from_arrays(f"take{seed}", times, arrays)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    takes = [recording(TAKE_MOMENTS, TAKE_WIDTHS, seed) for seed in range(TAKES)]
    hour = [recording(HOUR_MOMENTS, HOUR_WIDTHS, 0)]
    is_slow = False
    print("decoder        recordings x moments      s   limit  core s   memory so far")
    for name, (decoder, n_clusters, limit) in RUNS.items():
        settings = load_settings(overrides={"key_steps.n_clusters": n_clusters})
        # What one decoder makes of the features must not help the next.
        recordings = [
            replace(one, derived=Derived()) for one in (hour if decoder == "changes" else takes)
        ]
        started, computed = time.perf_counter(), time.process_time()
        decode(decoder, Takes(recordings, None, settings))
        spent, computed = time.perf_counter() - started, time.process_time() - computed
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = f"{len(recordings)} x {len(recordings[0].times):,}"
        times = f"{spent:>6.1f} {limit:>7.1f} {computed:>7.1f}"
        print(f"{name:<14} {size:>20} {times} {peak:>10.0f} MB", flush=True)
        is_slow = is_slow or spent > limit
    sys.exit(is_slow)


if __name__ == "__main__":
    main()
