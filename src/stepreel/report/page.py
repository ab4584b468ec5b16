"""Make the page of a storyboard: one file with its pictures, style and scripts inside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from stepreel.report.addresses import address_of
from stepreel.report.cards import FEW_VISITS, MOST_VISITS, cards_of, is_folded
from stepreel.report.exports.webvtt import to_webvtt
from stepreel.report.exports.youtube import to_youtube, youtube_problem
from stepreel.report.html import (
    content_policy,
    environment,
    inlined_script,
    inlined_style,
    jpeg_address,
    script_safe_json,
)
from stepreel.report.kind_titles import kind_titles
from stepreel.report.palette import kinds_used
from stepreel.report.timeline import lay_out_timeline
from stepreel.report.video import mp4_address
from stepreel.report.wording import extent, length
from stepreel.storyboard.review_notes import is_unclear, is_unclear_note
from stepreel.storyboard.schema import Storyboard

_STYLES = ("shared.css", "storyboard.css", "print.css")
_SCRIPTS = ("letters.js", "playhead.js", "timeline.js", "sharing.js", "storyboard.js")
_SCRIPTS_BY_KIND = {
    "video": (*_SCRIPTS, "player.js", "video.js"),
    "features": (*_SCRIPTS, "features.js"),
}
# Embedded pictures, and a video on disk, beside the page or chosen by the reader.
_SOURCES_BY_KIND = {
    "video": {"img": "data: blob:", "media": "'self' file: blob: data:"},
    "features": {"img": "data:"},
}


def render_page(
    board: Storyboard,
    *,
    pictures: Mapping[int, bytes],
    strip: bytes | None = None,
    video: bytes | None = None,
) -> str:
    """Return the page of `board`. A missing picture, or one that is not a JPEG, is left blank.

    pictures  the JPEG of each step, by the step's index
    strip     the JPEG of thumbnails that `board.strip` describes
    video     the MP4 file that the page contains; None if its video is a file of its own
    """
    used, cards = kinds_used([board]), cards_of(board)
    strip_address = jpeg_address(strip) if board.strip else None
    style = inlined_style(_STYLES, kinds=used, board=board, strip=strip_address)
    kind = board.recording.kind
    theme_script, script = inlined_script("theme.js"), inlined_script(*_SCRIPTS_BY_KIND[kind])
    return (
        environment()
        .get_template("storyboard.html.j2")
        .render(
            board=_without_repetition(board),
            cards=cards,
            counts=Counter(step.cluster for step in board.steps),
            content_policy=content_policy(style, [theme_script, script], **_SOURCES_BY_KIND[kind]),
            facts=_facts(board),
            few_visits=FEW_VISITS,
            has_explanations=any(card.start_in_words or card.alike for card in cards),
            is_folded=is_folded(board),
            is_unclear=is_unclear(board),
            kind_titles=kind_titles(board.steps),
            kinds=used,
            most_visits=MOST_VISITS,
            page_data=script_safe_json(_page_data(board, has_strip=strip_address is not None)),
            pictures={
                card.step.index: jpeg_address(pictures.get(card.step.index)) for card in cards
            },
            script=script,
            settings=json.dumps(board.settings, indent=2, ensure_ascii=False, default=str),
            style=style,
            theme_script=theme_script,
            timeline=lay_out_timeline(board),
            video=_video_address(board, video),
        )
    )


def _without_repetition(board: Storyboard) -> Storyboard:
    """Leave out notes that the page shows elsewhere: beside the video, and as a banner."""
    playable = board.recording.playable
    beside_video = None if playable is None else playable.explanation
    notes = [note for note in board.notes if note != beside_video and not is_unclear_note(note)]
    return board.model_copy(update={"notes": notes})


def _video_address(board: Storyboard, embedded: bytes | None) -> str | None:
    """Return the address of the video, seen from the page; None if there is none."""
    recording = board.recording
    if recording.kind == "features":
        return None
    if recording.playable is not None:
        return mp4_address(embedded) or recording.playable.address
    return address_of(recording.file) if recording.file else None


def _facts(board: Storyboard) -> list[str]:
    recording = board.recording
    kinds = len({step.cluster for step in board.steps})
    steps = "1 step" if len(board.steps) == 1 else f"{len(board.steps)} steps"
    if kinds and kinds < len(board.steps):
        steps += f" of {kinds} kinds" if kinds > 1 else " of 1 kind"
    facts = [length(recording.duration_seconds), steps]
    if recording.kind == "features":
        return [*facts, "features, no video"]
    facts.append(f"{recording.width} × {recording.height}")
    return [*facts, f"{recording.fps:.4g} fps"] if recording.fps else facts


def _page_data(board: Storyboard, *, has_strip: bool) -> dict[str, Any]:
    return {
        "duration": lay_out_timeline(board).seconds,
        "offset": (board.recording.playable or board.recording).player_offset_seconds,
        "recordingOffset": board.recording.player_offset_seconds,
        "recording": board.recording.name,
        "steps": [
            {
                **step.model_dump(include={"index", "title", "time", "start", "end"}),
                "extent": extent(step),
            }
            for step in board.steps
        ],
        "spans": [
            [span.start, span.end, span.kind, span.step, span.cluster] for span in board.timeline
        ],
        "strip": board.strip.model_dump(exclude={"file"}) if board.strip and has_strip else None,
        "chapters": {
            "youtube": {"text": to_youtube(board), "problem": youtube_problem(board)},
            "webvtt": {"text": to_webvtt(board), "problem": None},
        },
    }
