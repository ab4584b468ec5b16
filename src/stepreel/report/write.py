"""Write everything a storyboard becomes into one folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from stepreel.report.addresses import path_inside
from stepreel.report.exports import EXPORTS, Export
from stepreel.report.missing_video import without_missing_video
from stepreel.report.page import render_page
from stepreel.report.pictures import read_other_pictures, read_pictures
from stepreel.report.video import read_embedded_video
from stepreel.storyboard.editing import STORYBOARD
from stepreel.storyboard.schema import Storyboard
from stepreel.system.files import explain_write_errors, write_all, write_bytes, write_text

PAGE = "storyboard.html"

log = logging.getLogger(__name__)


def write_report(
    board: Storyboard,
    folder: Path,
    *,
    pictures: Mapping[int, bytes],
    strip: bytes | None,
    other_pictures: Mapping[str, bytes] | None = None,
) -> list[Path]:
    """Write pictures, storyboard.json, the page and all exports; return the files written.

    Step pictures of an earlier run that this board does not name are removed. An export from
    another package that fails is logged as a warning; everything else is still written.

    pictures        the JPEG of each step, by the step's index
    strip           the JPEG of thumbnails that `board.strip` describes
    other_pictures  those of its alternatives, by file
    """
    others = other_pictures or {}
    with explain_write_errors(folder):
        written = _write_pictures(board, folder, pictures, strip, others)
        written += _write_documents(board, folder, pictures, strip, others)
        _remove_stale_pictures(board, folder)
        return written + _write_plugin_exports(board, folder, written)


def render_again(board: Storyboard, path: Path) -> list[Path]:
    """Write the page and all exports of a storyboard that was edited by hand, and itself to `path`.

    Pictures are read from its folder and stay as they are, also those of deleted steps. The page
    does not name a copy of the video that is missing; storyboard.json still does.
    """
    folder = path.parent
    shown = without_missing_video(board, folder)
    pictures, strip = read_pictures(board, folder)
    others = read_other_pictures(board, folder)
    with explain_write_errors(folder):
        written = _write_documents(
            board, folder, pictures, strip, others, file=path.name, shown=shown
        )
        return written + _write_plugin_exports(board, folder, written)


def _write_documents(
    board: Storyboard,
    folder: Path,
    pictures: Mapping[int, bytes],
    strip: bytes | None,
    other_pictures: Mapping[str, bytes],
    *,
    file: str = STORYBOARD,
    shown: Storyboard | None = None,
) -> list[Path]:
    """Write storyboard.json, its exports and the page, which shows `shown` if that differs."""
    texts: dict[str, str | bytes] = {file: board.to_json()}
    texts |= {export.file: export.make(board) for export in EXPORTS.own.values()}
    shown = shown or board
    embedded = read_embedded_video(shown, folder)
    texts[PAGE] = render_page(
        shown, pictures=pictures, other_pictures=other_pictures, strip=strip, video=embedded
    )
    write_all({folder / name: content for name, content in texts.items()})
    return [folder / name for name in texts]


def _write(path: Path, content: str | bytes) -> None:
    if isinstance(content, str):
        write_text(path, content)
    else:
        write_bytes(path, content)


def _write_pictures(
    board: Storyboard,
    folder: Path,
    pictures: Mapping[int, bytes],
    strip: bytes | None,
    other_pictures: Mapping[str, bytes],
) -> list[Path]:
    files = dict(other_pictures) | {
        step.picture: pictures[step.index]
        for step in board.steps
        if step.picture and step.index in pictures
    }
    if board.strip and strip is not None:
        files[board.strip.file] = strip
    written = []
    for file, jpeg in files.items():
        path = path_inside(folder, file)
        if path is None:
            raise ValueError(f"the picture {file!r} would be outside of {folder}")
        write_bytes(path, jpeg)
        written.append(path)
    return written


def _remove_stale_pictures(board: Storyboard, folder: Path) -> None:
    others = [step for other in board.alternatives for step in other.steps]
    current = {folder / step.picture for step in [*board.steps, *others] if step.picture}
    for pattern in ("step-[0-9]*.jpg", "small-at-[0-9]*.jpg"):
        for path in sorted((folder / "pictures").glob(pattern)):
            if path not in current:
                path.unlink()


def _write_plugin_exports(board: Storyboard, folder: Path, written: list[Path]) -> list[Path]:
    """Write the exports of other packages; they may not touch what is already `written`."""
    for origin in EXPORTS.origins():
        if origin.problem:
            _warn_once(f"the export {origin.name} cannot be used: {origin.problem}")
    taken = {_same_file(path) for path in written}
    added = []
    for name, export in EXPORTS.usable().items():
        if name in EXPORTS.own:
            continue
        try:
            path = _free_path(export, folder, taken)
            _write(path, _content(export, board))
        except Exception as problem:  # a plug-in can raise anything
            reason = f"{type(problem).__name__}: {problem}"
            log.warning("%s: the export %s was not written: %s", folder, name, reason)
        else:
            taken.add(_same_file(path))
            added.append(path)
    return added


@cache
def _warn_once(text: str) -> None:
    log.warning("%s", text)


def _same_file(path: Path) -> str:
    """Return what two paths of the same file have in common, even where case does not count."""
    return str(path.resolve()).casefold()


def _free_path(export: Export, folder: Path, taken: set[str]) -> Path:
    path = path_inside(folder, export.file)
    if path is None:
        raise ValueError(f"its file {export.file!r} is outside of the storyboard's folder")
    if _same_file(path) in taken:
        raise ValueError(f"its file {export.file!r} is already used; choose another name")
    return path


def _content(export: Export, board: Storyboard) -> str | bytes:
    content = export.make(board.model_copy(deep=True))  # lists in a board can be changed
    if not isinstance(content, str | bytes):
        raise TypeError(f"its `make` returned {type(content).__name__} instead of str or bytes")
    return content
