"""Cut a recording into chapters, one per key step, as players understand them.

A step's extent is an envelope and may overlap another's; chapters may not. A chapter begins where
its step begins. When the previous step's best moment lies at or after that, it begins where the
previous step ends, or at its own best moment if that comes first. So every chapter contains the
best moment of its step, and starts strictly increase; two steps with the very same best moment
(to the millisecond) share a chapter. A chapter ends where the next begins, the last one at the
end of the recording. What lies before the first step is in no chapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from stepreel.report.wording import clock, exact_clock, one_line
from stepreel.storyboard.schema import KeyStep, Storyboard

YOUTUBE_MIN_CHAPTERS = 3
YOUTUBE_MIN_SECONDS = 10
_YOUTUBE_MAX_TITLE = 100
_YOUTUBE_MAX_TEXT = 5000
_OPENING = ("Start",)


@dataclass(frozen=True)
class Chapter:
    """A named stretch of player time, in whole milliseconds."""

    start: int
    end: int
    titles: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its name; one that holds several steps names them all, or the first and the last."""
        return join_titles(self.titles)


def chapters_of(board: Storyboard) -> list[Chapter]:
    """Return the chapters of `board` in player time (see the module's text for the rules)."""
    offset = board.recording.player_offset_seconds
    steps = sorted(board.steps, key=lambda step: step.time)
    titles: dict[int, list[str]] = {}
    for step, start in zip(steps, _starts(steps), strict=True):
        title = one_line(step.title, otherwise=f"Step {step.index}")
        titles.setdefault(round(1000 * (start + offset)), []).append(title)
    starts = list(titles)
    end = round(1000 * (board.recording.duration_seconds + offset))
    ends = [*starts[1:], max(end, starts[-1] + 1)] if starts else []
    return [
        Chapter(start, end, tuple(titles[start])) for start, end in zip(starts, ends, strict=True)
    ]


def _starts(steps: list[KeyStep]) -> list[float]:
    starts = [step.start for step in steps[:1]]
    for before, step in pairwise(steps):
        overlapping = step.start <= before.time
        start = min(max(before.end, before.time), step.time) if overlapping else step.start
        starts.append(max(start, starts[-1]))
    return starts


def join_titles(titles: Sequence[str]) -> str:
    """Name a chapter that holds several steps.

    >>> join_titles(["Fold", "Glue", "Fold"]), join_titles([f"Step {i}" for i in range(3, 8)])
    ('Fold / Glue', 'Step 3 … Step 7')
    """
    distinct = list(dict.fromkeys(titles))
    return " / ".join(distinct) if len(distinct) <= 3 else f"{distinct[0]} … {distinct[-1]}"


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


def to_youtube(board: Storyboard) -> str:
    """Write a description YouTube reads chapters from; `youtube_problem` says when it will not."""
    lines = [
        f"{clock(chapter.start / 1000)} {_youtube_title(chapter.title)}"
        for chapter in _youtube_chapters(board)
    ]
    return "\n".join(lines) + "\n"


def youtube_problem(board: Storyboard) -> str | None:
    """Say why YouTube will not show these chapters, or None when it will."""
    count = len(_youtube_chapters(board))
    if count < YOUTUBE_MIN_CHAPTERS:
        return (
            f"YouTube shows chapters only when there are at least {YOUTUBE_MIN_CHAPTERS} of "
            f"{YOUTUBE_MIN_SECONDS} s or more; this recording gives {count}."
        )
    letters = len(to_youtube(board))
    if letters > _YOUTUBE_MAX_TEXT:
        return f"YouTube allows {_YOUTUBE_MAX_TEXT} letters in a description; this has {letters}."
    return None


def _youtube_chapters(board: Storyboard) -> list[Chapter]:
    """Merge chapters until each lasts 10 s and the first starts at 0:00.

    Short steps in a row form chapters among themselves; what is then still too short joins the
    chapter before it. All in whole seconds, because that is what YouTube sees.
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
    return chapter.end - chapter.start >= 1000 * YOUTUBE_MIN_SECONDS


def _merge(chapters: list[Chapter]) -> Chapter:
    titles = tuple(title for chapter in chapters for title in chapter.titles)
    return Chapter(chapters[0].start, chapters[-1].end, titles)


def _youtube_title(title: str) -> str:
    """Keep a title within YouTube's rules: no angle brackets, one short line."""
    title = title.replace("<", "‹").replace(">", "›")
    return title if len(title) <= _YOUTUBE_MAX_TITLE else title[: _YOUTUBE_MAX_TITLE - 1] + "…"
