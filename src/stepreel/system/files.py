"""Write files atomically, so that a crash never leaves a partial one; read only regular files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from stepreel.errors import OutputError
from stepreel.system.machine import check_memory

COPIES_OF_A_FILE = 3  # its bytes, and the text and the lines or values made from them


def check_regular_file(path: Path) -> None:
    """Raise OSError if `path` is a folder, pipe or device: reading one may never end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "it is a folder, not a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a file that others made; OSError if it is not a regular one."""
    check_regular_file(path)
    return path.open("rb")


def read_regular(path: Path) -> bytes:
    """Read a whole file that others made; OSError if it is not regular or too large for memory."""
    with open_regular(path) as file:
        check_memory(COPIES_OF_A_FILE * os.fstat(file.fileno()).st_size)
        return file.read()


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` on success and is deleted on error."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield file


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Like `atomic_writer`, for libraries that open files themselves: yield the temporary path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _apply_umask(name)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with atomic_writer(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` atomically, as UTF-8 with Unix newlines."""
    write_bytes(path, content.encode("utf-8"))


def link_or_copy(source: Path, target: Path) -> None:
    """Make `target` the same file as `source`, or a copy where that cannot be; atomically.

    For files that are only ever replaced, never changed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    try:
        os.link(source, temporary)
        os.replace(temporary, target)
    except OSError:  # another file system, one without links, or a file of another user
        with atomic_path(target) as copy:
            shutil.copyfile(source, copy)


def write_all(files: Mapping[Path, str | bytes]) -> None:
    """Write several files; none is replaced before all are written."""
    for path in files:
        if path.is_dir():  # the others must not be replaced before this is noticed
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    with contextlib.ExitStack() as stack:
        for path, content in files.items():
            temporary = stack.enter_context(atomic_path(path))
            text = content.encode("utf-8") if isinstance(content, str) else content
            temporary.write_bytes(text)


def _apply_umask(path: str) -> None:
    """Replace mkstemp's owner-only mode with the default permissions of new files."""
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
            return f"the disk is full{_free_space(folder)}; free some space and run again"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "permission denied; change its permissions or choose another folder"
        case errno.EEXIST | errno.ENOTDIR | errno.EISDIR:
            obstacle = problem.filename2 or problem.filename or folder
            return f"{obstacle} is in the way; move it or choose another folder"
        case _:
            return f"cannot be written ({problem.strerror or problem}); try another folder"


def _free_space(folder: Path) -> str:
    for existing in (folder, *folder.absolute().parents):
        with contextlib.suppress(OSError):
            return f" ({shutil.disk_usage(existing).free / 1e6:.1f} MB free)"
    return ""


def check_writable(output: Path) -> None:
    """Raise OutputError if results cannot be written; called before long computations."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output):
            pass
    except (FileExistsError, NotADirectoryError) as problem:
        raise OutputError(
            f"{output}: is a file, not a folder; choose another folder with -o (output=…)"
        ) from problem
    except OSError as problem:
        raise OutputError(
            f"{output}: cannot be written to ({problem.strerror}); "
            "change its permissions or choose another folder with -o (output=…)"
        ) from problem
