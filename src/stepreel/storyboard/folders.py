"""Choose the output folder of every recording: portable, readable and stable between runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.request import pathname2url

from stepreel.errors import StepreelError
from stepreel.storyboard.schema import read_storyboard
from stepreel.system.names import free_name, natural_order
from stepreel.types import Recording, readable


def name_folders(recordings: Mapping[int, Recording], output: Path) -> dict[int, Path]:
    """Return a separate folder below `output` for every recording; the same one in every run."""
    folders: dict[int, Path] = {}
    # The index, the folder of the model, and what `stepreel compare` writes.
    taken = {"index.html", "model", "compare.html", "compare.json", "compare.csv"}
    for position, recording in recordings.items():
        name = recording.name if recording.path is None else recording.path.stem
        is_in_use = partial(_belongs_to_another, output, recording.path)
        folders[position] = output / free_name(name, taken, is_in_use)
    return folders


def _belongs_to_another(output: Path, path: Path | None, name: str) -> bool:
    """Return whether a folder already contains the storyboard of another recording."""
    folder = output / name
    if folder.exists() and not folder.is_dir():
        return True
    if not (folder / "storyboard.json").exists():
        return False
    try:
        stored = read_storyboard(folder / "storyboard.json").recording.file
    except StepreelError:
        return False  # broken by an edit, perhaps: it must be seen, not avoided
    return stored != (None if path is None else path_from(folder, path))


def storyboard_files(path: Path) -> list[Path]:
    """Return the storyboards that a file or folder stands for: its own, or those of its folders."""
    if not path.is_dir():
        return [path]
    own = path / "storyboard.json"
    return [own] if own.exists() else all_storyboards(path)


def all_storyboards(folder: Path) -> list[Path]:
    """Return the storyboards in a folder and in the folders in it."""
    folders = sorted(folder.iterdir(), key=lambda inner: natural_order(inner.name.casefold()))
    files = [inner / "storyboard.json" for inner in (folder, *folders)]
    return [file for file in files if file.is_file()]


def path_from(folder: Path | None, path: Path) -> str:
    """Return the path from a storyboard's folder to its recording, with forward slashes.

    Bytes of a name that are not UTF-8 are replaced.
    """
    if folder is None:
        return readable(path.resolve().as_posix())
    return readable(relative_path(folder, path))


def relative_path(folder: Path, path: Path) -> str:
    """Like `path_from`, but with every byte of the name, undecodable ones as surrogates."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # no relative path between drives on Windows
        return f"file:{pathname2url(str(path.resolve()))}"
