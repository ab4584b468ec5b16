"""Make the page of a storyboard: one file with its pictures, style and scripts inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stepreel.report.addresses import address_of
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
from stepreel.report.palette import kinds_used
from stepreel.report.timeline import lay_out_timeline
from stepreel.report.video import mp4_address
from stepreel.report.views import View, view_of, views_of_alternatives
from stepreel.report.wording import extent, length
from stepreel.storyboard.review_notes import is_unclear, is_unclear_note
from stepreel.storyboard.schema import Storyboard

_STYLES = ("shared.css", "storyboard.css", "print.css")
_SCRIPTS = (
    *("letters.js", "playhead.js", "timeline.js", "sharing.js"),
    *("versions.js", "storyboard.js"),
)
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
    other_pictures: Mapping[str, bytes] | None = None,
    strip: bytes | None = None,
    video: bytes | None = None,
) -> str:
    """Return the page of `board`. A missing picture, or one that is not a JPEG, is left blank.

    pictures        the JPEG of each step, by the step's index
    other_pictures  those of the alternatives, by file
    strip           the JPEG of thumbnails that `board.strip` describes
    video           the MP4 file that the page contains; None if its video is a file of its own
    """
    main = view_of(_without_repetition(board), pictures)
    others = views_of_alternatives(board, other_pictures or {})
    used = kinds_used([board, *(view.board for view in others)])
    strip_address = jpeg_address(strip) if board.strip else None
    style = inlined_style(_STYLES, kinds=used, board=board, strip=strip_address)
    kind = board.recording.kind
    theme_script, script = inlined_script("theme.js"), inlined_script(*_SCRIPTS_BY_KIND[kind])
    return (
        environment()
        .get_template("storyboard.html.j2")
        .render(
            view=main,
            alternatives=others,
            all_views=[main, *others],
            content_policy=content_policy(style, [theme_script, script], **_SOURCES_BY_KIND[kind]),
            facts=_facts(board),
            is_unclear=is_unclear(board),
            kinds=used,
            page_data=script_safe_json(
                _page_data(board, others, has_strip=strip_address is not None)
            ),
            script=script,
            settings=json.dumps(board.settings, indent=2, ensure_ascii=False, default=str),
            style=style,
            theme_script=theme_script,
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
    facts = [length(recording.duration_seconds)]
    if recording.kind == "features":
        return [*facts, "features, no video"]
    facts.append(f"{recording.width} × {recording.height}")
    return [*facts, f"{recording.fps:.4g} fps"] if recording.fps else facts


def _page_data(board: Storyboard, others: Sequence[View], *, has_strip: bool) -> dict[str, Any]:
    return {
        "duration": lay_out_timeline(board).seconds,
        "offset": (board.recording.playable or board.recording).player_offset_seconds,
        "recordingOffset": board.recording.player_offset_seconds,
        "recording": board.recording.name,
        "strip": board.strip.model_dump(exclude={"file"}) if board.strip and has_strip else None,
        "alternatives": [_steps_data(view.board) for view in others],
        **_steps_data(board),
    }


def _steps_data(board: Storyboard) -> dict[str, Any]:
    return {
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
        "chapters": {
            "youtube": {"text": to_youtube(board), "problem": youtube_problem(board)},
            "webvtt": {"text": to_webvtt(board), "problem": None},
        },
    }
