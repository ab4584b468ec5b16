"""Run the command in a separate process, as a user does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import subprocess
import sys
import threading

from limits import HANG_SECONDS

FAST = ["--set", "extract.cues=motion"]
BRIEF = ["--set", "train.epochs=4", "--set", "train.n_chunks=16"]
TRAINED = ["--set", "key_steps.decoder=kmeans", *BRIEF]  # what `run` does not do by default


def obey_permissions():
    """Drop root's capability to bypass file permissions, so that tests of permissions work."""
    drop_from_bounding_set, dac_override, dac_read_search = 24, 1, 2
    for capability in (dac_override, dac_read_search):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


def stepreel(*arguments, cwd=None, cache=None, **environment):
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
        timeout=HANG_SECONDS,
    )


def on_terminal(*command, stdout_too=True, **environment):
    """Run a command on a pseudo-terminal; return its status, what was shown, and other output.

    stdout_too  whether standard output is shown there too, or returned as the other output
    """
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with subprocess.Popen(
        list(map(str, command)),
        stdin=theirs,
        stdout=theirs if stdout_too else subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **environment},
    ) as process:
        os.close(theirs)
        hang = threading.Timer(HANG_SECONDS, process.kill)
        hang.start()
        shown = b""
        with contextlib.suppress(OSError):  # what Linux raises once nobody writes to it any more
            while part := os.read(ours, 65536):
                shown += part
        other = process.stdout.read().decode() if process.stdout else ""
        process.wait()
        hang.cancel()
    os.close(ours)
    return process.returncode, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()), other
