"""Independent parts on all cores, one thread of NumPy's each."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from limits import HANG_SECONDS
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from stepreel.system.cores import Library, on_all_cores, one_thread


def blas_threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_results_are_in_the_order_of_the_items() -> None:
    arrays = [np.full((50, 50), number, np.float64) for number in range(20)]

    sums = on_all_cores(lambda array: float((array @ array).sum()), arrays)

    assert sums == [float((array @ array).sum()) for array in arrays]


def test_every_part_has_one_thread_and_all_are_given_back() -> None:
    with threadpool_limits(2, "blas"):
        seen = on_all_cores(lambda _: blas_threads(), range(4))
        after = blas_threads()

    assert all(threads == {1} for threads in seen)
    assert after == {2}


def test_parts_run_in_other_threads_and_their_errors_arrive() -> None:
    names = on_all_cores(lambda _: threading.current_thread().name, range(2))

    assert all(name.startswith("stepreel") for name in names)
    with pytest.raises(ZeroDivisionError):
        on_all_cores(lambda number: 1 // number, [1, 0])


def test_contexts_can_be_nested() -> None:
    with threadpool_limits(2, "blas"):
        with one_thread("blas"):
            with one_thread("openmp"), one_thread("blas"):
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Set BLAS to two threads, without a context that would set it back."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.num_threads for library in libraries]
    for library in libraries:
        library.set_num_threads(2)
    yield
    for library, number in zip(libraries, before, strict=True):
        library.set_num_threads(number)


@pytest.mark.parametrize("library", ["blas", "openmp"])
def test_a_context_in_another_thread_leaves_nothing_behind(
    two_threads: None, library: Library
) -> None:
    began, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread(library):
            began.set()
            may_end.wait(HANG_SECONDS)

    with one_thread("blas"):
        thread = threading.Thread(target=other)
        thread.start()
        began.wait(HANG_SECONDS)
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    may_end.set()
    thread.join(HANG_SECONDS)
    assert blas_threads() == {2}
