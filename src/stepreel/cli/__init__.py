"""The command line: one file per command, each loading what it needs only when it runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence


def main() -> None:
    """Run the command line; Ctrl-C at any point, even while loading, ends with status 130."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a narrow encoding must not stop a result
            stream.reconfigure(errors="replace")
    try:
        from stepreel.cli.app import app

        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(130)
    except SystemExit as ending:
        from stepreel.cli.terminal import chained, exit_now, is_lack_of_memory

        problems = chained(ending.__context__)
        if any(isinstance(problem, BrokenPipeError) for problem in problems):
            sys.exit(_status_without_reader(problems))
        if ending.__context__ is not None and is_lack_of_memory(ending.__context__):
            exit_now(2)  # libraries that tidy up would fail, and print tracebacks
        raise
    except (OSError, MemoryError, ImportError) as problem:  # while loading, or in --help
        from stepreel.cli.terminal import is_lack_of_memory, only_result_lost, refuse

        if is_lack_of_memory(problem):
            refuse(f"not enough memory ({problem}); raise the limit (ulimit -v)")
        elif isinstance(problem, OSError):
            refuse(f"{problem}" if problem.filename else only_result_lost(problem))
        else:
            raise
        sys.exit(2)
    finally:
        _drop_unwritten_output()


def _replace_closed_streams() -> None:
    """Open closed standard streams, as by `2>&-`, as the null device.

    Otherwise the next file that is opened gets the number of such a stream, and a library's
    warnings are written into it. Standard output is opened for reading only: writing to it fails
    as it does on a closed one, so that a command can say that its result is lost.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is given, which is this one
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _status_without_reader(problems: Sequence[BaseException]) -> int:
    """Return the exit status if the reader of a pipe has left, as in `--help | head -1`.

    That is no error, unless one was just being reported.
    """
    return next((int(getattr(p, "exit_code")) for p in problems if hasattr(p, "exit_code")), 0)  # noqa: B009


def _drop_unwritten_output() -> None:
    """Drop output that cannot be written, so that Python does not fail on it while it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
