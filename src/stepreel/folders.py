"""Name the output folder of every recording: safe, readable, and stable between runs."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.request import pathname2url

from stepreel.errors import OutputError, StepreelError
from stepreel.storyboard import read_storyboard
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
        name = base = safe_name(path.stem)
        number = 2
        while name.casefold() in taken or _is_of_another(output / name, path):
            name = f"{base}-{number}"
            number += 1
        taken.add(name.casefold())
        folders[path] = output / name
    return folders


def name_files(paths: Sequence[Path], folder: Path, suffix: str) -> dict[Path, Path]:
    """Give every recording a file of its own in `folder`, named like it."""
    files: dict[Path, Path] = {}
    for path in paths:
        name = base = safe_name(path.stem)
        number = 2
        while folder / f"{name}{suffix}" in files.values():
            name = f"{base}-{number}"
            number += 1
        files[path] = folder / f"{name}{suffix}"
    return files


def _is_of_another(folder: Path, path: Path) -> bool:
    """Tell whether a folder already holds the storyboard of another recording."""
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
