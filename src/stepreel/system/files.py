"""Write files so that a crash or a full disk never leaves one that looks whole."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from stepreel.errors import OutputError


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary neighbour of `path`: it takes `path`'s place in the end, or vanishes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _give_usual_permissions(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, all of it or nothing."""
    with atomic_writer(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` as UTF-8 with plain newlines, all of it or nothing."""
    write_bytes(path, content.encode("utf-8"))


def _give_usual_permissions(path: str) -> None:
    """Undo mkstemp's owner-only mode, so that results can be shared like any other file."""
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        Path(path).chmod(0o666 & ~mask)


@contextlib.contextmanager
def explain_write_errors(folder: Path) -> Iterator[None]:
    """Turn an `OSError` while writing into `folder` into an `OutputError` that says what to do."""
    try:
        yield
    except OSError as problem:
        raise OutputError(f"{folder}: {_explain(problem, folder)}") from problem


def _explain(problem: OSError, folder: Path) -> str:
    match problem.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"no room left on the disk{_free_space(folder)}; free some and run again"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "may not be written to; change its permissions or choose another folder"
        case errno.EEXIST | errno.ENOTDIR | errno.EISDIR:
            at = problem.filename2 or problem.filename or folder
            return f"{at} is in the way; move it or choose another folder"
        case _:
            return f"cannot be written ({problem.strerror or problem}); try another folder"


def _free_space(folder: Path) -> str:
    for place in (folder, *folder.absolute().parents):
        with contextlib.suppress(OSError):
            return f" ({shutil.disk_usage(place).free / 1e6:.1f} MB free)"
    return ""


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
