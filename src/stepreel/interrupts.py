"""Hold Ctrl-C back while a library cannot bear it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let a Ctrl-C that comes meanwhile take effect afterwards.

    Loading a large extension module is such a time: an interrupt inside its C++ start-up ends the
    process with an abort instead of an exception.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
