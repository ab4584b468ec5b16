"""Use all cores for the independent parts of a computation.

NumPy's own threads wait for each other after every product of matrices. With products as small as
those of a decoder that costs more than it gains, and many times more on a busy machine.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeVar

from stepreel.system.machine import usable_cores

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")
Library = Literal["blas", "openmp"]

BRING_THREADS = ("numpy", "scipy.linalg", "sklearn.cluster", "torch")


@contextmanager
def one_thread(library: Library) -> Iterator[None]:
    """Keep a library from starting threads of its own while the context lasts.

    OpenMP has a limit per thread. BLAS has one for the process: threads that set it and set it back
    at the same time could leave it behind, so only the main thread does, and computations that are
    started in other threads merely take longer.
    """
    if library == "blas":
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        import scipy.linalg  # noqa: F401 - has a BLAS of its own; only what is loaded is limited
    with _controller().select(user_api=library).limit(limits=1):
        yield


def on_all_cores(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Return function(item) for every item, in order, computed on as many cores as there are.

    It pays for functions that spend their time in NumPy. Results do not depend on the number of
    cores.

    >>> on_all_cores(abs, [-3, 2, -1])
    [3, 2, 1]
    """
    with one_thread("blas"), ThreadPoolExecutor(usable_cores(), "stepreel") as pool:
        return list(pool.map(function, items))


def _controller() -> ThreadpoolController:
    """Return what limits the libraries that are loaded by now."""
    return _controller_of(*(name in sys.modules for name in BRING_THREADS))


@cache
def _controller_of(*loaded: bool) -> ThreadpoolController:
    """Look for libraries with threads, which takes 10 ms, only if there can be new ones."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
