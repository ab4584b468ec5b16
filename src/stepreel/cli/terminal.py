"""Terminal output: results and one-line errors."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

import typer

from stepreel.errors import SettingsError, StepreelError
from stepreel.system.interrupts import preserve_interrupts

LACK_OF_MEMORY = (
    *("allocate memory", "out of memory", "insufficient memory", "bad alloc", "bad_alloc"),
    *("failed to map segment", "start new thread", "resource temporarily unavailable"),
    "error return without exception set",  # Python, once it cannot even make a MemoryError
)
DONE, SOME_FAILED, NOTHING_DONE, INTERRUPTED = 0, 1, 2, 130


def printable(text: str) -> str:
    r"""Replace control characters, which a file name may contain and a terminal would interpret.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def counted(number: int, thing: str) -> str:
    """Format a number of things.

    >>> counted(1, "step"), counted(2, "kind of step")
    ('1 step', '2 kinds of step')
    """
    noun, space, rest = thing.partition(" ")
    return f"{number} {noun}{'' if number == 1 else 's'}{space}{rest}"


def show(text: str) -> None:
    """Print a result that is nowhere else; StepreelError if that is not possible."""
    try:
        typer.echo(printable(text))
    except BrokenPipeError:  # closed by its reader, as in `| head`, who has seen enough
        drop_output()
        raise typer.Exit(DONE) from None
    except OSError as problem:
        drop_output()
        raise StepreelError(only_result_lost(problem)) from None


def say(text: str) -> None:
    """Print a line about results that are in files; it may be lost, as on a full disk."""
    try:
        typer.echo(printable(text))
    except BrokenPipeError:
        drop_output()  # the work goes on: nobody wants to read about it any more
    except OSError as problem:
        warn(f"stepreel: {_lost(problem)}; results in files are not affected")
        drop_output()


def only_result_lost(problem: OSError) -> str:
    """Explain that what a command prints is lost, and was its only result."""
    return (
        f"{_lost(problem)}; what this command prints is its only result: "
        "send it to a terminal, or to a file or pipe that can be written"
    )


def _lost(problem: OSError) -> str:
    reason = "it is closed" if problem.errno == errno.EBADF else problem.strerror
    return f"standard output cannot be written ({reason})"


def drop_output() -> None:
    """Send standard output to nowhere from now on, with all that is still unwritten."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    """Print a line to standard error, if that is possible."""
    with contextlib.suppress(OSError):
        typer.echo(printable(text), err=True)


def refuse(text: str) -> typer.Exit:
    """Print an error; return the exception to raise."""
    warn(f"stepreel: {text}")
    return typer.Exit(NOTHING_DONE)


def exit_interrupted(text: str) -> NoReturn:
    """End the process immediately, with the exit status of Ctrl-C.

    On a normal exit, Python may raise the interrupt again if it arrived while a library evaluated
    code, and the process would end by a signal instead.
    """
    warn(text)
    exit_now(INTERRUPTED)


def exit_now(status: int) -> NoReturn:
    """End the process without what libraries do at a normal exit."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Turn expected errors into one message and the right exit status."""
    logging.basicConfig(format="stepreel: %(message)s", level=logging.WARNING)
    try:
        with preserve_interrupts():
            yield
    except KeyboardInterrupt:
        exit_interrupted(
            "interrupted; finished work is kept, and the same command resumes from there"
        )
    except (SettingsError, StepreelError) as problem:
        raise refuse(str(problem)) from None
    except Exception as problem:
        if is_lack_of_memory(problem):
            reason = " ".join(str(problem).split())[:200] or "an allocation failed"
            raise refuse(
                f"not enough memory ({reason}); finished work is kept: close other programs or "
                "raise the limit (ulimit -v), and run the same command again"
            ) from None
        if not isinstance(problem, OSError):
            raise
        file = f"{problem.filename}: " if problem.filename else ""
        raise refuse(f"{file}{problem.strerror or problem}") from None


def is_lack_of_memory(problem: BaseException) -> bool:
    """Return whether there was not enough memory; libraries say so in many ways.

    >>> is_lack_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    """
    return any(
        isinstance(reason, MemoryError)
        or any(sign in str(reason).lower() for sign in LACK_OF_MEMORY)
        for reason in chained(problem)
    )


def chained(problem: BaseException | None) -> list[BaseException]:
    """Return an exception and those it was raised from or during, the latest first."""
    found: list[BaseException] = []
    while problem is not None and problem not in found:
        found.append(problem)
        problem = problem.__cause__ or problem.__context__
    return found
