"""Files of arrays in the folder `tuning/` of a recording, named after their content.

A file that the cache has already is linked there, which takes no space while both exist, or copied
where that cannot be done. Cached files are only ever replaced, never changed, so the link stays as
it is, whatever happens to the cache. New content gets a new name; what is listed in the card, which
is written last, therefore always fits together.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from stepreel.system.checked_arrays import Arrays, CheckedArrays, DamagedError, write_arrays
from stepreel.system.files import link_or_copy

SUFFIX = ".safetensors"


def keep_file(source: Path, folder: Path, stem: str) -> str:
    """Link or copy a file of arrays into `folder`; return its name there."""
    name = f"{stem}-{content_id(CheckedArrays.open(source))}{SUFFIX}"
    target = folder / name
    if not is_intact_header(target):
        link_or_copy(source, target)
    return name


def keep_arrays(arrays: Arrays, folder: Path, stem: str) -> str:
    """Write arrays into `folder`; return the name of the file."""
    temporary = folder / f".{stem}.part"
    write_arrays(temporary, arrays, {})
    name = f"{stem}-{content_id(CheckedArrays.open(temporary))}{SUFFIX}"
    os.replace(temporary, folder / name)
    return name


def content_id(file: CheckedArrays) -> str:
    """Return a name for the content of a file, from the checksums it is read with."""
    layouts = sorted((name, *layout.described().items()) for name, layout in file.layouts.items())
    content = hashlib.blake2b(repr(layouts).encode(), digest_size=8)
    content.update(file.blocks)
    return content.hexdigest()


def is_intact_header(path: Path) -> bool:
    """Return whether a file of arrays is there, as far as its header tells."""
    with contextlib.suppress(OSError, DamagedError):
        CheckedArrays.open(path)
        return True
    return False


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process left half-written; nobody else is writing now."""
    for path in sorted(folder.glob(".*.part")):
        with contextlib.suppress(OSError):
            path.unlink()


def remove_others(folder: Path, listed: Iterable[str]) -> None:
    """Remove files of arrays that are not listed: those of an earlier run."""
    keep = set(listed)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name not in keep:
            with contextlib.suppress(OSError):
                path.unlink()
