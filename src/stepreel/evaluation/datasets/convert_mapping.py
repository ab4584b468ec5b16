"""Convert the pickled mappings of released features to JSON: python -m …convert_mapping FILE.pkl.

This is the only place that reads pickles, and only when run by hand. It accepts plain dicts, texts
and numbers, and refuses everything that would look up a class or a function.
"""

from __future__ import annotations

import argparse
import io
import json
import pickle
import pickletools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from stepreel.errors import DatasetError, StepreelError
from stepreel.evaluation.truth.annotation import location
from stepreel.system.files import explain_write_errors, read_regular, write_text

WARNING = """\
{path} is a pickle. Reading a pickle can run code that whoever made the file put into it.
This converter refuses everything but plain texts and numbers. Continue only if you trust the
source of the file."""


# All that a dict of texts and whole numbers needs. Tuples and lists are not among it: a short
# pickle can nest them so that reading or comparing them never ends.
PLAIN = {
    *("PROTO", "FRAME", "STOP", "MARK", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1"),
}
MOST_ROWS = 2**53  # of a table


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(
            f"it refers to {module_name}.{global_name}, which could run code; a mapping needs "
            "only a dict of texts and whole numbers"
        )


def convert(path: Path) -> Path:
    """Write FILE.json beside FILE.pkl and return its path."""
    mapping = _read(path)
    target = path.with_suffix(".json")
    with explain_write_errors(target.parent):
        write_text(target, json.dumps(mapping, indent=0) + "\n")
    return target


def _read(path: Path) -> dict[str, int]:
    try:
        content = read_regular(path)
        _check_is_plain(content)
        mapping = _unpickle(content)
    except OSError as problem:
        raise DatasetError(f"{path}: cannot be read ({problem.strerror})") from problem
    except Exception as problem:  # a damaged pickle can raise anything
        raise DatasetError(f"{location(path)}: refused ({problem})") from problem
    if not isinstance(mapping, dict):
        raise DatasetError(
            f"{location(path)}: contains a {type(mapping).__name__}; expected a dict"
        )
    for key, row in mapping.items():
        if type(key) is not str or type(row) is not int or not 0 <= row < MOST_ROWS:
            too_large = type(row) is int and abs(row) >= MOST_ROWS
            shown = "a number that is too large" if too_large else repr(row)[:60]
            raise DatasetError(
                f"{location(path)}: {str(key)[:60]!r}: {shown}; "
                "expected frame names and row numbers"
            )
    return mapping


def _check_is_plain(content: bytes) -> None:
    """Look at a pickle without reading it; UnpicklingError if it does more than it needs to."""
    for operation, argument, position in pickletools.genops(content):
        if operation.name in ("GLOBAL", "STACK_GLOBAL", "INST"):
            return  # refused on reading, with the name of what it refers to
        if operation.name not in PLAIN:
            raise pickle.UnpicklingError(
                f"byte {position} is {operation.name}; a mapping needs only a dict of texts and "
                "whole numbers"
            )
        if "PUT" in operation.name and int(str(argument)) > len(content):
            raise pickle.UnpicklingError(f"byte {position} would fill the memory")


def _unpickle(content: bytes) -> Any:
    return _PlainUnpickler(io.BytesIO(content)).load()


def main(arguments: Sequence[str] | None = None) -> int:
    """Warn, ask, convert; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m stepreel.evaluation.datasets.convert_mapping")
    parser.add_argument("file", type=Path, help="the mapping, FILE.pkl; writes FILE.json")
    parser.add_argument(
        "--yes-i-trust-this-file", action="store_true", help="do not ask, for use in scripts"
    )
    options = parser.parse_args(arguments)
    print(WARNING.format(path=options.file), file=sys.stderr)
    if not options.yes_i_trust_this_file and not _agrees():
        print("nothing was read or written", file=sys.stderr)
        return 1
    try:
        target = convert(options.file)
    except StepreelError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"wrote {target}")
    return 0


def _agrees() -> bool:
    try:
        return input("Type yes to continue: ").strip().lower() == "yes"
    except EOFError:
        return False


if __name__ == "__main__":
    sys.exit(main())
