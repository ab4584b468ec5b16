"""Chapters as WebVTT, for web players and most desktop players."""

from __future__ import annotations

from stepreel.report.exports.chapters import chapters_of
from stepreel.report.wording import exact_clock
from stepreel.storyboard.schema import Storyboard


def to_webvtt(board: Storyboard) -> str:
    """Write WebVTT chapters."""
    cues = [
        f"{number}\n{exact_clock(chapter.start)} --> {exact_clock(chapter.end)}\n"
        f"{_escape_vtt(chapter.title)}\n"
        for number, chapter in enumerate(chapters_of(board), start=1)
    ]
    return "\n".join(["WEBVTT\n", *cues])


def _escape_vtt(text: str) -> str:
    # Escaping ">" also takes care of "-->", which would end the cue.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
