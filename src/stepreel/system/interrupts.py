"""Handle Ctrl-C around libraries that do not handle KeyboardInterrupt well."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def delay_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt after the block instead of inside it.

    Used while large extension modules are imported: an interrupt during their C++ start-up aborts
    the process instead of raising an exception.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    received = []
    previous = signal.signal(signal.SIGINT, lambda *_: received.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if received:
        raise KeyboardInterrupt


@contextlib.contextmanager
def preserve_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt even if a library in the block swallows or converts it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield  # only the main thread receives signals; if SIGINT is ignored, keep it so
        return
    received = []

    def interrupt(*_: object) -> None:
        received.append(True)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if not received:
            raise
    finally:
        signal.signal(signal.SIGINT, previous)
    if received:
        raise KeyboardInterrupt
