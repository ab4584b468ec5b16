"""Chapters as lines of a YouTube description."""

from __future__ import annotations

from dataclasses import replace

from stepreel.report.exports.chapters import Chapter, chapters_of
from stepreel.report.wording import clock
from stepreel.storyboard.schema import Storyboard

MIN_CHAPTERS = 3
MIN_SECONDS = 10
_MAX_TITLE = 100
_MAX_TEXT = 5000
_OPENING = ("Start",)


def to_youtube(board: Storyboard) -> str:
    """Write one line per chapter; `youtube_problem` says if YouTube will not show them."""
    lines = [
        f"{clock(chapter.start / 1000)} {_short_title(chapter.title)}"
        for chapter in _merged_chapters(board)
    ]
    return "\n".join(lines) + "\n"


def youtube_problem(board: Storyboard) -> str | None:
    """Say why YouTube will not show these chapters; None if it will."""
    count = len(_merged_chapters(board))
    if count < MIN_CHAPTERS:
        return (
            f"YouTube shows chapters only when there are at least {MIN_CHAPTERS} of "
            f"{MIN_SECONDS} s or more; this recording gives {count}."
        )
    n_characters = len(to_youtube(board))
    if n_characters > _MAX_TEXT:
        return f"YouTube allows {_MAX_TEXT} characters in a description; this has {n_characters}."
    return None


def _merged_chapters(board: Storyboard) -> list[Chapter]:
    """Merge chapters until each lasts 10 s and the first starts at 0:00.

    Neighbouring short chapters are merged first; what is still too short is merged into the chapter
    before it. All in whole seconds, because that is the precision of a YouTube description.
    """
    chapters = _from_zero([_in_whole_seconds(chapter) for chapter in chapters_of(board)], board)
    merged: list[Chapter] = []
    waiting: list[Chapter] = []
    for chapter in chapters:
        if waiting and _lasts(chapter):
            if merged and not _is_opening(merged[-1]):
                merged[-1] = _merge([merged[-1], *waiting])
            else:
                chapter = _merge([*waiting, chapter])
            waiting = []
        waiting.append(chapter)
        if _lasts(_merge(waiting)):
            merged.append(_merge(waiting))
            waiting = []
    if waiting:
        merged[-1:] = [_merge([*merged[-1:], *waiting])]
    return merged


def _from_zero(chapters: list[Chapter], board: Storyboard) -> list[Chapter]:
    if not chapters:
        recording = board.recording
        end = round(1000 * (recording.duration_seconds + recording.player_offset_seconds))
        return [Chapter(0, end, _OPENING)]
    opening = Chapter(0, chapters[0].start, _OPENING)
    if _lasts(opening):
        return [opening, *chapters]
    return [replace(chapters[0], start=0), *chapters[1:]]


def _is_opening(chapter: Chapter) -> bool:
    return chapter.start == 0 and chapter.titles == _OPENING


def _in_whole_seconds(chapter: Chapter) -> Chapter:
    return replace(chapter, start=chapter.start // 1000 * 1000, end=chapter.end // 1000 * 1000)


def _lasts(chapter: Chapter) -> bool:
    return chapter.end - chapter.start >= 1000 * MIN_SECONDS


def _merge(chapters: list[Chapter]) -> Chapter:
    titles = tuple(title for chapter in chapters for title in chapter.titles)
    return Chapter(chapters[0].start, chapters[-1].end, titles)


def _short_title(title: str) -> str:
    """Keep a title within YouTube's rules: no angle brackets, one short line."""
    title = title.replace("<", "‹").replace(">", "›")
    return title if len(title) <= _MAX_TITLE else title[: _MAX_TITLE - 1] + "…"
