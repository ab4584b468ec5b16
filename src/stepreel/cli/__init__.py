"""The command line: one file per command, each loading what it needs only when it runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys


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
    except (OSError, MemoryError, ImportError) as problem:  # while loading, or in --help
        from stepreel.cli.terminal import is_lack_of_memory, refuse

        if isinstance(problem, ImportError) and not is_lack_of_memory(problem):
            raise
        refuse(str(getattr(problem, "strerror", "") or f"not enough memory ({problem})"))
        sys.exit(2)
    finally:
        _drop_unwritten_output()


def _replace_closed_streams() -> None:
    """Open closed standard streams, as by `2>&-`, as the null device.

    Otherwise the next file that is opened gets the number of such a stream, and a library's
    warnings are written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            stream = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)


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
