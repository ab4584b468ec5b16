"""Use all cores for the independent parts of a computation.

NumPy's own threads wait for each other after every product of matrices. With products as small as
those of a decoder that costs more than it gains, and many times more on a busy machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from stepreel.system.machine import usable_cores

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")
Library = Literal["blas", "openmp"]

BRING_THREADS = ("numpy", "scipy.linalg", "sklearn.cluster", "torch")


def one_thread(*libraries: Library) -> AbstractContextManager[Any]:
    """Keep libraries from starting threads of their own while the context lasts."""
    if "blas" in libraries:
        import scipy.linalg  # noqa: F401 - has a BLAS of its own; what is loaded can be limited
    limited: AbstractContextManager[Any] = _controller().limit(limits=dict.fromkeys(libraries, 1))
    return limited


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
