"""Readers with the faults that benchmarks/fuzz.py must find."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from fuzz_formats import Format

from stepreel.errors import RecordingError


def raise_an_error(path: Path) -> None:
    raise KeyError("an error of the program")


def refuse(path: Path) -> None:
    raise RecordingError("refused")


def hang(path: Path) -> None:
    time.sleep(600)


def grow(path: Path) -> None:
    np.ones(4 * 10**7)


def end_the_process(path: Path) -> None:
    os._exit(7)


READERS = {
    "good": Path.read_bytes,
    "refuse": refuse,
    "error": raise_an_error,
    "hang": hang,
    "grow": grow,
    "end": end_the_process,
}


def faulty_formats(good: Path) -> dict[str, Format]:
    """Return one kind of file per fault."""
    return {
        name: Format("file", lambda content, random: content, read)
        for name, read in READERS.items()
    }
