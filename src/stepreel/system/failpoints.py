"""Named points at which a test can kill the program, to check that a rerun resumes correctly."""

from __future__ import annotations

import os
import signal

VARIABLE = "STEPREEL_FAILPOINT"
NAMES = ("mid-extraction", "between-cues", "mid-epoch")


def failpoint(name: str) -> None:
    """Kill the process without clean-up if STEPREEL_FAILPOINT is `name`."""
    assert name in NAMES
    if os.environ.get(VARIABLE) == name:
        if hasattr(signal, "SIGKILL"):
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(137)
