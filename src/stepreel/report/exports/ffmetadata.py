"""Chapters as FFMETADATA, for ffmpeg to write into a video file."""

from __future__ import annotations

from stepreel.report.exports.chapters import chapters_of
from stepreel.report.wording import one_line
from stepreel.storyboard.schema import Storyboard


def to_ffmetadata(board: Storyboard) -> str:
    """Write chapters for `ffmpeg -i recording -i chapters.ffmeta -map_metadata 1 -c copy out`."""
    lines = [";FFMETADATA1", f"title={_escape_ffmetadata(one_line(board.title))}"]
    for chapter in chapters_of(board):
        lines += ["", "[CHAPTER]", "TIMEBASE=1/1000"]
        lines += [f"START={chapter.start}", f"END={chapter.end}"]
        lines += [f"title={_escape_ffmetadata(chapter.title)}"]
    return "\n".join(lines) + "\n"


def _escape_ffmetadata(text: str) -> str:
    return "".join("\\" + letter if letter in "\\=;#\n" else letter for letter in text)
