"""Chapters as lines of a YouTube description.

YouTube knows only where chapters start: each lasts until the next one. A stretch without a step
therefore gets a line of its own if it is long enough for one, or the step before it would seem to
go on. If it holds steps that are not shown, the line says so.
"""

from __future__ import annotations

from dataclasses import replace

from stepreel.report.exports.chapters import Chapter, chapters_of
from stepreel.report.wording import clock
from stepreel.storyboard.schema import Storyboard

MIN_CHAPTERS = 3
MIN_SECONDS = 10
_MAX_TITLE = 100
_MAX_TEXT = 5000
_OPENING = "Start"
_NO_STEP = "Between steps"
_HIDDEN_STEPS = "Other steps"
_SHORTEST_STEP_SECONDS = 1.0  # if the settings do not say


def to_youtube(board: Storyboard) -> str:
    """Write one line per chapter; `youtube_problem` says if YouTube will not show them."""
    lines = [
        f"{clock(chapter.start / 1000)} "
        f"{_short_title(chapter.title or _empty_title(chapter, board))}"
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
    merged: list[Chapter] = []
    waiting: list[Chapter] = []
    for chapter in _without_gaps(board):
        if waiting and _lasts(chapter):
            if merged and merged[-1].titles:
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


def _without_gaps(board: Storyboard) -> list[Chapter]:
    """Return chapters from 0 to the end; long gaps become chapters without a title.

    A step that is too short for YouTube takes what it lacks from the gap after it.
    """
    recording = board.recording
    end = int(recording.duration_seconds + recording.player_offset_seconds) * 1000
    chapters = [_in_whole_seconds(chapter) for chapter in chapters_of(board)]
    starts = [chapter.start for chapter in chapters]
    ends = [*starts[1:], max(end, chapters[-1].end)] if chapters else [end]
    lined_up = [Chapter(0, starts[0] if starts else end, ())]
    for chapter, next_start in zip(chapters, ends, strict=False):
        gap = Chapter(max(chapter.end, chapter.start + 1000 * MIN_SECONDS), next_start, ())
        if _lasts(gap):
            lined_up += [replace(chapter, end=gap.start), gap]
        else:
            lined_up.append(replace(chapter, end=next_start))
    if chapters and not _lasts(lined_up[0]):
        lined_up[:2] = [replace(lined_up[1], start=0)]
    return lined_up


def _empty_title(chapter: Chapter, board: Storyboard) -> str:
    if _hides_steps(chapter, board):
        return _HIDDEN_STEPS
    return _NO_STEP if chapter.start else _OPENING


def _hides_steps(chapter: Chapter, board: Storyboard) -> bool:
    """Tell whether steps that are not shown, as because of --top, are in this stretch.

    Half a second of one is enough, because the stretch is in whole seconds.
    """
    offset = board.recording.player_offset_seconds
    start, end = chapter.start / 1000 - offset, chapter.end / 1000 - offset
    shortest = _shortest_step_seconds(board) - 1e-6
    return any(
        span.seconds >= shortest and min(end, span.end) - max(start, span.start) >= 0.5
        for span in board.timeline
        if span.kind == "left-out" and span.cluster is not None
    )


def _shortest_step_seconds(board: Storyboard) -> float:
    """Return what a step has to last; a storyboard's settings may be of any version, or edited."""
    choice = board.settings.get("key_steps")
    shortest = choice.get("min_step_seconds") if isinstance(choice, dict) else None
    return shortest if isinstance(shortest, float) else _SHORTEST_STEP_SECONDS


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
