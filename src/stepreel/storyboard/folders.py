"""Name the output folder of every recording: safe, readable, and stable between runs."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from urllib.request import pathname2url

from stepreel.errors import OutputError, StepreelError
from stepreel.storyboard.schema import read_storyboard
from stepreel.types import readable

LONGEST_NAME = 80
# Names Windows keeps for devices, whatever their case and ending.
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def safe_name(stem: str) -> str:
    """Return a folder name that works on every system and needs no quoting in a shell.

    >>> safe_name('my "best" <script> take'), safe_name("-rf"), safe_name("Übung 1.v2")
    ('my-best-script-take', 'rf', 'Übung-1.v2')
    >>> safe_name("..."), safe_name("nul")
    ('recording', 'nul-recording')
    """
    name = re.sub(r"[^\w.]+", "-", stem).strip("-. ")[:LONGEST_NAME].strip("-. ")
    if not name:
        return "recording"
    return f"{name}-recording" if RESERVED.fullmatch(name) else name


def check_writable(output: Path) -> None:
    """Find out before hours of work, not after, that results cannot be written."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output):
            pass
    except (FileExistsError, NotADirectoryError) as problem:
        raise OutputError(
            f"{output}: is in the way (a file, not a folder); name another folder with -o"
        ) from problem
    except OSError as problem:
        raise OutputError(
            f"{output}: cannot be written to ({problem.strerror}); "
            "change its permissions or name another folder with -o"
        ) from problem


def name_folders(paths: Sequence[Path], output: Path) -> dict[Path, Path]:
    """Give every recording a folder of its own below `output`; the same one in the next run."""
    folders: dict[Path, Path] = {}
    taken = {"index.html", "model"}  # the page that shows them all, and what was learned
    for path in paths:
        in_use = partial(_is_of_another, output, path)
        folders[path] = output / free_name(path.stem, taken, in_use)
    return folders


def name_files(paths: Sequence[Path], folder: Path, suffix: str) -> dict[Path, Path]:
    """Give every recording a file of its own in `folder`, named like it."""
    taken: set[str] = set()
    return {path: folder / f"{free_name(path.stem, taken)}{suffix}" for path in paths}


def free_name(
    name: str, taken: set[str], is_in_use: Callable[[str], bool] = lambda name: False
) -> str:
    """Return a name for a file, like `name` but not among those taken, and take it.

    Names that differ in capitals alone are one name to some systems.

    >>> taken = {"tea"}
    >>> free_name("Tea", taken), free_name("a/b", taken), sorted(taken)
    ('Tea-2', 'a-b', ['a-b', 'tea', 'tea-2'])
    """
    free = base = safe_name(name)
    number = 2
    while free.casefold() in taken or is_in_use(free):
        free = f"{base}-{number}"
        number += 1
    taken.add(free.casefold())
    return free


def _is_of_another(output: Path, path: Path, name: str) -> bool:
    """Tell whether a folder already holds the storyboard of another recording."""
    folder = output / name
    if folder.exists() and not folder.is_dir():
        return True
    if not (folder / "storyboard.json").exists():
        return False
    try:
        stored = read_storyboard(folder / "storyboard.json").recording.file
    except StepreelError:
        return True
    return stored != path_from(folder, path)


def path_from(folder: Path | None, path: Path) -> str:
    """Return the way from a storyboard's folder to its video, with forward slashes."""
    if folder is None:
        return readable(path.resolve().as_posix())
    try:
        return readable(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())
    except ValueError:  # another drive on Windows: there is no relative way
        return f"file:{pathname2url(str(path.resolve()))}"
