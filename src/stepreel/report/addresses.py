"""Turn file names, whatever characters they contain, into addresses that a browser resolves."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes
from urllib.request import url2pathname

_DRIVE = re.compile(r"[A-Za-z]:/")


def address_of(file: str) -> str:
    """Return the URL of `file`, a path with forward slashes relative to the page.

    A leading `./` and an encoded colon keep a name from being read as a scheme or a host.

    >>> address_of("../my clips/50% #1?.mp4")
    '../my%20clips/50%25%20%231%3F.mp4'
    >>> address_of("javascript:alert(1).mp4")
    './javascript%3Aalert%281%29.mp4'
    >>> address_of("file:///D:/clips/a.mp4"), address_of("D:/a b.mp4")
    ('file:///D:/clips/a.mp4', 'file:///D:/a%20b.mp4')
    """
    if file.lower().startswith("file://"):
        return quote(file, safe="/:%")
    if _DRIVE.match(file):
        return "file:///" + file[:2] + _quote_segments(file[2:])
    if file.startswith("/"):
        return "file:///" + _quote_segments(file.lstrip("/"))
    path = _quote_segments(file)
    return path if path.startswith("../") else "./" + path


def file_of_address(address: str) -> str:
    """Return the file that an address names, byte by byte.

    >>> file_of_address("../my%20clips/50%25.mp4")
    '../my clips/50%.mp4'
    """
    if address.lower().startswith("file:"):
        return url2pathname(address[5:])
    return os.fsdecode(unquote_to_bytes(address))


def path_inside(folder: Path, file: str) -> Path | None:
    """Return the path of `file` in `folder`, or None if it is outside of `folder`.

    A storyboard may come from someone else; it must not make us embed or replace other files.
    """
    path = folder / file
    return path if path.resolve().is_relative_to(folder.resolve()) else None


def _quote_segments(path: str) -> str:
    return "/".join(
        quote(segment, safe="", errors="surrogateescape") for segment in path.split("/")
    )
