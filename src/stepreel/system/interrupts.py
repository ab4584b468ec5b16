"""Hold Ctrl-C back while a library cannot bear it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def delay_interrupts() -> Iterator[None]:
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


@contextlib.contextmanager
def preserve_interrupts() -> Iterator[None]:
    """Let a Ctrl-C stay one, where a library would turn it into an error of its own or lose it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield  # signals reach the main thread alone, and some processes are told to ignore them
        return
    came = []

    def remember(*_: object) -> None:
        came.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    except Exception:
        if not came:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
