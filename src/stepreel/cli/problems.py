"""What is wrong with a dataset, told whether or not anything could be done with the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stepreel.cli.terminal import warn

if TYPE_CHECKING:
    from stepreel.evaluation.truth.annotation import Problems


@contextmanager
def problems_of_data(*, lenient: bool) -> Iterator[Problems]:
    """Collect what is wrong with a dataset; where nothing can be done, that is why."""
    from stepreel.errors import StepreelError
    from stepreel.evaluation.truth.annotation import Problems

    problems = Problems(lenient=lenient)
    try:
        yield problems
    except StepreelError:
        tell_left_out(problems)
        raise


def tell_left_out(problems: Problems) -> None:
    """Print what a lenient reading left out."""
    for reason in problems.skipped:
        warn(f"stepreel: left out: {reason}")
