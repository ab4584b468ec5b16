"""What a lenient reading of data left out, shown whether or not the rest could be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stepreel.cli.terminal import warn
from stepreel.errors import StepreelError


@contextmanager
def showing_left_out() -> Iterator[None]:
    """Print the notes of an error: what had been left out by then may be the reason for it."""
    try:
        yield
    except StepreelError as problem:
        for note in getattr(problem, "__notes__", ()):
            warn(f"stepreel: {note}")
        raise


def show_left_out(left_out: Sequence[str]) -> None:
    """Print what a lenient reading left out."""
    for reason in left_out:
        warn(f"stepreel: left out: {reason}")
