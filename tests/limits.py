"""Limits of time and memory in tests.

A busy machine is many times slower than an idle one, so a wait that only guards against a hang is
long. Nothing waits that long unless it fails.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import FrameType

HANG_SECONDS = 1200.0


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in a block that takes longer, even if it waits for a pipe."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took more than {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def run_limited(
    code: str, *arguments: object, gigabytes: float
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process that may use so much address space, as with `ulimit -v`."""

    def limit() -> None:
        n_bytes = int(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))

    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        preexec_fn=limit,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
