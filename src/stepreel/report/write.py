"""Write everything a storyboard becomes into one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stepreel.report.addresses import path_inside
from stepreel.report.exports import EXPORTS
from stepreel.report.page import render_page
from stepreel.storyboard.schema import Storyboard
from stepreel.system.files import explained, write_bytes, write_text


def write_report(
    board: Storyboard, folder: Path, *, pictures: Mapping[int, bytes], strip: bytes | None
) -> list[Path]:
    """Write pictures, storyboard.json, exports and storyboard.html; return the files written.

    `pictures` maps a step's index to its JPEG. The page comes last, because it embeds the
    pictures. Step pictures of an earlier run that this board does not name are removed.
    """
    with explained(folder):
        written = _write_pictures(board, folder, pictures, strip)
        texts = {"storyboard.json": board.model_dump_json(indent=2) + "\n"}
        texts |= {export.file: export.make(board) for export in EXPORTS.values()}
        for file, text in texts.items():
            write_text(folder / file, text)
        write_text(folder / "storyboard.html", render_page(board, folder))
        _remove_stale_pictures(board, folder)
    return [*written, *(folder / file for file in texts), folder / "storyboard.html"]


def _write_pictures(
    board: Storyboard, folder: Path, pictures: Mapping[int, bytes], strip: bytes | None
) -> list[Path]:
    files = {
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
            raise ValueError(f"the picture {file!r} would lie outside of {folder}")
        write_bytes(path, jpeg)
        written.append(path)
    return written


def _remove_stale_pictures(board: Storyboard, folder: Path) -> None:
    current = {folder / step.picture for step in board.steps if step.picture}
    for path in sorted((folder / "pictures").glob("step-[0-9]*.jpg")):
        if path not in current:
            path.unlink()
