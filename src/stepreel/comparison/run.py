"""Compare the takes in a folder: read, compare, and write if asked to."""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from pathlib import Path

from stepreel.comparison.compare import compare
from stepreel.comparison.schema import Comparison
from stepreel.comparison.takes import read_takes
from stepreel.comparison.write import write_comparison
from stepreel.errors import StepreelError
from stepreel.report.index import rebuild_index
from stepreel.system.files import check_writable
from stepreel.system.locks import lock_output


def compare_takes(
    folder: str | PathLike[str], output: str | PathLike[str] | None = None
) -> Comparison:
    """Compare the takes of a task, from the storyboards in the output folder of a run.

    What cannot be read is left out, as long as two takes are left: see `Comparison.left_out`.

    output  also write compare.html, compare.json and compare.csv into this folder

    >>> comparison = compare_takes("out/")                        # doctest: +SKIP
    >>> comparison.departures[0].sentence                         # doctest: +SKIP
    'take3 does D before C; the others do C first.'
    """
    takes = read_takes(Path(folder))
    comparison = compare(takes)
    if output is not None:
        check_writable(Path(output))
        with lock_output(Path(output)):
            write_comparison(comparison, takes, Path(output))
            with suppress(StepreelError):  # an index that cannot be made again stays as it is
                rebuild_index(Path(output))
    return comparison
