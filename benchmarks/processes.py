"""Run the real command and measure its wall time, CPU time and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil


@dataclass
class Measured:
    """What one run cost."""

    seconds: float
    peak_megabytes: float
    core_seconds: float
    status: int
    output: str


def measure(*arguments: object, cache: object = None) -> Measured:
    """Run `stepreel …` and sample its memory twenty times a second."""
    env = dict(os.environ)
    if cache is not None:
        env["STEPREEL_CACHE"] = str(cache)
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "stepreel", *map(str, arguments)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watched = psutil.Process(process.pid)
    peak, cores = 0, 0.0
    while process.poll() is None:
        try:
            peak = max(peak, watched.memory_info().rss)
            times = watched.cpu_times()
            cores = times.user + times.system
        except psutil.Error:
            break
        time.sleep(0.05)
    output = process.communicate()[0]
    seconds = time.perf_counter() - start
    return Measured(seconds, peak / 1e6, cores, process.returncode, output)
