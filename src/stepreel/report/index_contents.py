"""What an index is made from, kept inside index.html, so that it can be made again.

The index lists folders in the order of the recordings, and the recordings that failed. Neither can
be found out from the storyboards below it.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, ValidationError

from stepreel.errors import StepreelError
from stepreel.report.addresses import path_inside
from stepreel.storyboard.editing import STORYBOARD
from stepreel.storyboard.schema import Storyboard, read_storyboard
from stepreel.system.contracts import Contract
from stepreel.system.files import read_regular

INDEX = "index.html"
# As written by the template: inside, every < is escaped.
_BLOCK = re.compile(r'<script type="application/json" id="contents">([^<]*)</script>')
_TITLE = "<title>Key steps of "


class IndexContents(Contract):
    """The folders of storyboards, in order; names of failed recordings, and why they failed."""

    folders: list[str] = Field(max_length=100_000)
    failed: list[tuple[str, str]] = Field(max_length=100_000)


def read_contents(folder: Path) -> IndexContents | None:
    """Return what the index of `folder` is made from; None if it has no index of stepreel.

    StepreelError if there is one, but it does not say what it is made from.
    """
    path = folder / INDEX
    if not path.is_file():
        return None
    try:
        text = read_regular(path).decode("utf-8", errors="replace")
    except OSError as problem:
        raise StepreelError(f"{path}: cannot be read ({problem.strerror})") from problem
    if _TITLE not in text:
        return None  # a page of somebody else
    block = _BLOCK.search(text)
    try:
        return IndexContents.model_validate_json(block[1] if block else "")
    except ValidationError as problem:
        raise StepreelError(
            f"{path}: does not say what it was made from and stays as it is; "
            "run all its recordings in one command to make it again"
        ) from problem


def read_listed_boards(
    folder: Path, contents: IndexContents
) -> tuple[list[tuple[str, Storyboard]], list[tuple[str, str]]]:
    """Return the storyboards an index lists, by folder, and those that cannot be read, with why.

    Folders that were removed are left out.
    """
    boards, unreadable = [], []
    for name in contents.folders:
        path = _board_file(folder, name)
        if path is None:
            continue
        try:
            boards.append((name, read_storyboard(path)))
        except StepreelError as problem:
            unreadable.append((name, str(problem)))
    return boards, unreadable


def _board_file(folder: Path, name: str) -> Path | None:
    """Return the storyboard in a folder that an index names; None if there is none."""
    try:
        path = path_inside(folder, f"{name}/{STORYBOARD}")
        return path if path is not None and path.exists() else None
    except (OSError, ValueError):  # no name that a file can have
        return None
