"""Talking to a person: errors in one clear line, a progress bar with time left."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import typer

from stepreel.errors import SettingsError, StepreelError
from stepreel.system.interrupts import preserve_interrupts
from stepreel.types import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID

DONE, SOME_FAILED, NOTHING_DONE, INTERRUPTED = 0, 1, 2, 130


def printable(text: str) -> str:
    r"""Replace control characters, which a file name may hold, so that a terminal obeys none.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def counted(number: int, thing: str) -> str:
    """Write a number of things.

    >>> counted(1, "step"), counted(2, "kind of step")
    ('1 step', '2 kinds of step')
    """
    noun, space, rest = thing.partition(" ")
    return f"{number} {noun}{'' if number == 1 else 's'}{space}{rest}"


def say(text: str) -> None:
    """Print a line of results."""
    typer.echo(printable(text))


def warn(text: str) -> None:
    """Print a line about what went wrong."""
    typer.echo(printable(text), err=True)


def refuse(text: str) -> typer.Exit:
    """Return the exit to raise when nothing can be done, having said why."""
    warn(f"stepreel: {text}")
    return typer.Exit(NOTHING_DONE)


def leave_interrupted(text: str) -> NoReturn:
    """End the process with the status of Ctrl-C.

    At once: by the ordinary way out Python itself may re-raise an interrupt that came while a
    library evaluated code, and end by a signal instead.
    """
    warn(text)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Turn errors about the outside world into one message and the right exit status."""
    logging.basicConfig(format="stepreel: %(message)s", level=logging.WARNING)
    try:
        with preserve_interrupts():
            yield
    except KeyboardInterrupt:
        leave_interrupted("interrupted; what is done is kept, the same command goes on from there")
    except (SettingsError, StepreelError) as problem:
        raise refuse(str(problem)) from None
    except BrokenPipeError:
        raise  # nobody reads on, as in `| head`: the way out is the command line library's
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        raise refuse(f"{where}{problem.strerror or problem}") from None


@contextlib.contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """Show a bar with time left on a terminal, and nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = [
        TextColumn("{task.description:<16}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("elapsed, left"),
        TimeRemainingColumn(),
    ]
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: float, total: float) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=total or None)

        yield show
