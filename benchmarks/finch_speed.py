"""Time and memory of FINCH, each number of moments in its own process.

    python benchmarks/finch_speed.py [--moments 10000 50000] [--width 128] [--with-time]

Random walks with noise, one thread per core. 50,000 moments of 128 columns must take less than 10 s
and 2 GB; a line above its limit ends the script with status 1. On a machine that is not quiet, the
seconds of all cores together say more. With --with-time it is TW-FINCH, which has no limit.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

LIMIT_MOMENTS, LIMIT_WIDTH, LIMIT_SECONDS, LIMIT_MEGABYTES = 50_000, 128, 10.0, 2000.0


def measure(n_moments: int, width: int, with_time: bool) -> bool:
    """Print seconds and peak memory; return whether they are within the limits."""
    import numpy as np

    from stepreel.steps.decoders.finch import finch
    from stepreel.steps.decoders.tw_finch import tw_finch

    rng = np.random.default_rng(0)
    points = np.cumsum(rng.normal(size=(n_moments, width)), axis=0)
    points += 3 * rng.normal(size=points.shape)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began, computed = time.perf_counter(), time.process_time()
    passed = np.arange(n_moments) / n_moments
    hierarchy = tw_finch(points, passed) if with_time else finch(points)
    built, computed = time.perf_counter() - began, time.process_time() - computed
    hierarchy.at(7)
    chosen = time.perf_counter() - began - built
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{n_moments:8d} x {width}: {built:5.1f} s ({computed:5.1f} core s), {chosen:5.1f} s for 7 "
        f"kinds, peak {peak:5.0f} MB, of which {before:4.0f} before; levels {hierarchy.sizes}",
        flush=True,
    )
    has_limit = (n_moments, width) == (LIMIT_MOMENTS, LIMIT_WIDTH) and not with_time
    return not has_limit or (built < LIMIT_SECONDS and peak < LIMIT_MEGABYTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, nargs="+", default=[10_000, LIMIT_MOMENTS])
    parser.add_argument("--width", type=int, default=LIMIT_WIDTH)
    parser.add_argument("--with-time", action="store_true")
    parser.add_argument("--here", type=int, help="cluster this many moments in this process")
    options = parser.parse_args()
    if options.here:
        sys.exit(not measure(options.here, options.width, options.with_time))
    more = ["--width", str(options.width), *(["--with-time"] if options.with_time else [])]
    done = [
        subprocess.run([sys.executable, __file__, "--here", str(n), *more], check=False)
        for n in options.moments
    ]
    sys.exit(any(one.returncode for one in done))


if __name__ == "__main__":
    main()
