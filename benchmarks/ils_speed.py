"""Time ILS-SUMM, and compare what it reaches with the other samplers.

    python benchmarks/ils_speed.py

Steps of 20 kinds and 1 to 60 s, with features in 64 dimensions. 2,000 of them have to take less
than 5 s for every limit; a line above that ends the script with status 1. On a machine that is not
quiet, the seconds of all cores together say more. Total: the sum over all steps of the distance to
the nearest one shown, against that of steps taken at random until the limit is reached.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from stepreel.steps.key_steps import Segment
from stepreel.steps.samplers.base import Candidates
from stepreel.steps.samplers.sample import choose

N_KINDS, WIDTH = 20, 64
SAMPLERS = ("algorithm-1", "nearest", "ils")
LIMIT_SECONDS = 5.0
SIZES = (100, 500, 2000)


def steps(n: int, seed: int = 0) -> Candidates:
    """Make steps, one moment each, that are like others of their kind."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(N_KINDS, size=n)
    offsets = rng.normal(size=(n, WIDTH))
    features = rng.normal(size=(N_KINDS, WIDTH))[kinds] + offsets
    distances = np.linalg.norm(offsets, axis=1)
    segments = [
        Segment(int(kind), np.array([number]), number, float(distance), 1.0)
        for number, (kind, distance) in enumerate(zip(kinds, distances, strict=True))
    ]
    return Candidates(segments, rng.uniform(1, 60, size=n), lambda: features)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    is_slow = False
    print("steps  limit        sampler       shown  total / random        s   core s")
    for n in SIZES:
        candidates = steps(n)
        distances = cdist(candidates.features, candidates.features)
        everything = float(candidates.seconds.sum())
        limits = {
            "top 10": {"top": 10},
            f"top {min(100, n // 2)}": {"top": min(100, n // 2)},
            "2 % of time": {"budget_seconds": everything / 50},
            "20 % of time": {"budget_seconds": everything / 5},
        }
        for name, limit in limits.items():
            limited = replace(candidates, **limit)
            for sampler in SAMPLERS:
                started, computed = time.perf_counter(), time.process_time()
                shown = choose(sampler, limited)
                spent, computed = time.perf_counter() - started, time.process_time() - computed
                random = limited.take(np.random.default_rng(1).permutation(n))
                total, by_chance = (distances[:, s].min(axis=1).sum() for s in (shown, random))
                figures = (
                    f"{len(shown):>5}  {total / by_chance:>14.3f} {spent:>8.2f} {computed:>8.2f}"
                )
                print(f"{n:>5}  {name:<13}{sampler:<13} {figures}", flush=True)
                is_slow = is_slow or spent > LIMIT_SECONDS
    sys.exit(is_slow)


if __name__ == "__main__":
    main()
