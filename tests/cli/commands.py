"""Run the command in a separate process, as a user does."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

FAST = ["--set", "train.epochs=4", "--set", "train.n_chunks=16", "--set", "extract.cues=motion"]


def obey_permissions():
    """Drop root's capability to bypass file permissions, so that tests of permissions work."""
    drop_from_bounding_set, dac_override, dac_read_search = 24, 1, 2
    for capability in (dac_override, dac_read_search):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


def stepreel(*arguments, cwd=None, cache=None, timeout=120, **environment):
    """Run the command; return the completed process with its output as text."""
    env = {**os.environ, **environment, "PYTHONWARNINGS": "default"}
    if cache is not None:
        env["STEPREEL_CACHE"] = str(cache)
    return subprocess.run(
        preexec_fn=obey_permissions if sys.platform == "linux" else None,
        args=[sys.executable, "-m", "stepreel", *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
