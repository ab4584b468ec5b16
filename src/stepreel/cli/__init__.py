"""The command line: one file per command, each loading what it needs only when it runs."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C at any point, even while loading, ends with status 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a narrow encoding must not stop a result
            stream.reconfigure(errors="replace")
    try:
        from stepreel.cli.app import app

        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(130)


if __name__ == "__main__":
    main()
