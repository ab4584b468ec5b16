"""Provide the video that a page plays: the recording itself, a copy beside the page, or inside it.

Whatever goes wrong here costs the video alone: the storyboard is written, and says what happened.
"""

from __future__ import annotations

import base64
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import unquote

from stepreel.errors import RecordingError, StepreelError
from stepreel.report.addresses import address_of, path_inside
from stepreel.storyboard.folders import relative_path
from stepreel.storyboard.schema import PlayableVideo, Storyboard
from stepreel.system.files import atomic_path, explain_write_errors
from stepreel.types import Progress, VideoFile, no_progress, readable

if TYPE_CHECKING:
    from stepreel.video.proxy import Recipe

log = logging.getLogger(__name__)

VideoChoice = Literal["link", "copy", "proxy", "embed"]

EXPECTED_KINDS: dict[VideoChoice, tuple[str, ...]] = {
    "link": ("original", "proxy"),
    "copy": ("copy", "proxy"),
    "proxy": ("proxy",),
    "embed": ("embedded",),
}
PROXY_FILE = "recording-h264.mp4"
EMBEDDED_FILE = "recording-small.mp4"
# As base64 this is 20 MB, which most mail servers accept.
MOST_EMBEDDED_BYTES = 15_000_000
FEWEST_BITS_PER_SECOND = 40_000  # of pictures that still show something
SOUND_BITS_PER_SECOND = 32_000
LONG_SECONDS = 1800.0


def check_choice(choice: str) -> None:
    """Raise ValueError for an unknown choice."""
    if choice not in get_args(VideoChoice):
        raise ValueError(f"video={choice!r}; expected {', '.join(get_args(VideoChoice))}")


def boards_with_video(
    board: Storyboard,
    video: VideoFile,
    folder: Path,
    choice: VideoChoice,
    progress: Progress = no_progress,
) -> Iterator[Storyboard]:
    """Yield the storyboard to write at once, and the one to write when its video has been made.

    Making a video can take long. Whoever stops it keeps a storyboard that says so.
    """
    first = _with_playable(board, _video_to_come(video, folder))
    yield first
    final = with_playable_video(board, video, folder, choice, progress)
    if final != first:
        yield final


def with_playable_video(
    board: Storyboard,
    video: VideoFile,
    folder: Path,
    choice: VideoChoice,
    progress: Progress = no_progress,
) -> Storyboard:
    """Return the storyboard with the video that its page plays, made in `folder` if need be.

    link   the recording where it is; a copy in H.264 if browsers cannot play it
    copy   the recording copied beside the page; also a copy in H.264 if browsers cannot play it
    proxy  a copy in H.264 in any case
    embed  a small copy in H.264 inside the page
    """
    try:
        playable = _provide(board, video, folder, choice, progress)
    except (StepreelError, OSError) as problem:
        log.info("%s: no playable video: %s", video.name, problem)
        playable = _fall_back(video, folder, str(problem))
    if playable.kind not in EXPECTED_KINDS[choice]:
        board = board.model_copy(update={"notes": [*board.notes, playable.explanation]})
    return _with_playable(board, playable)


def _with_playable(board: Storyboard, playable: PlayableVideo) -> Storyboard:
    recording = board.recording.model_copy(update={"playable": playable})
    return board.model_copy(update={"recording": recording})


def _video_to_come(video: VideoFile, folder: Path) -> PlayableVideo:
    """Return what a page can play before anything has been made."""
    from stepreel.video.playable import why_not_playable

    try:
        problem = why_not_playable(video.path)
    except (StepreelError, OSError) as unreadable:
        problem = readable(str(unreadable))
    if problem is None:
        return _original(video, folder)
    return PlayableVideo(
        kind="none",
        explanation=f"Browsers cannot play {problem}. A copy in H.264 was still being made when "
        "this page was written; run the same command again to finish it.",
    )


def _provide(
    board: Storyboard, video: VideoFile, folder: Path, choice: VideoChoice, progress: Progress
) -> PlayableVideo:
    from stepreel.video.playable import why_not_playable
    from stepreel.video.proxy import write_proxy

    problem = why_not_playable(video.path)
    if choice == "embed":
        return _embedded(board, video, folder, progress)
    if choice == "copy":
        copy = _copy(video, folder)
        if problem is None:
            return PlayableVideo(
                kind="copy",
                address=address_of(copy.name),
                player_offset_seconds=video.player_offset_seconds,
                explanation="The video shown is a copy of the recording, beside the page.",
            )
    if choice == "link" and problem is None:
        return _original(video, folder)
    recipe = proxy_recipe(board.recording.duration_seconds)
    write_proxy(video, folder / PROXY_FILE, recipe, progress=progress)
    because = f", because browsers cannot play {problem}" if problem else ", beside the page"
    return PlayableVideo(
        kind="proxy",
        address=address_of(PROXY_FILE),
        explanation=f"The video shown is a copy in H.264{because}. "
        "The recording itself is unchanged.",
    )


def _original(video: VideoFile, folder: Path, explanation: str = "") -> PlayableVideo:
    return PlayableVideo(
        kind="original",
        address=address_of(relative_path(folder, video.path)),
        player_offset_seconds=video.player_offset_seconds,
        explanation=explanation,
    )


def _fall_back(video: VideoFile, folder: Path, reason: str) -> PlayableVideo:
    """Link the recording if browsers can play it; say why there is nothing else."""
    reason = readable(reason).rstrip(".") + "."
    from stepreel.video.playable import why_not_playable

    try:
        problem = why_not_playable(video.path)
    except (StepreelError, OSError):
        return PlayableVideo(
            kind="none",
            explanation=f"The page has no video. The recording cannot be read: {reason}",
        )
    if problem is None:
        return _original(video, folder, f"The recording is played from its own place: {reason}")
    return PlayableVideo(
        kind="none",
        explanation=f"The page has no video: browsers cannot play {problem}, and a copy in H.264 "
        f"could not be made. {reason}",
    )


def _embedded(
    board: Storyboard, video: VideoFile, folder: Path, progress: Progress
) -> PlayableVideo:
    from stepreel.video.proxy import write_proxy

    seconds = board.recording.duration_seconds
    path, small = folder / EMBEDDED_FILE, embedded_recipe(seconds)
    if small is not None:
        write_proxy(video, path, small, progress=progress)
        if path.stat().st_size <= MOST_EMBEDDED_BYTES:
            return PlayableVideo(
                kind="embedded",
                address=address_of(EMBEDDED_FILE),
                explanation="The video shown is a small copy inside the page. "
                "The recording itself is unchanged.",
            )
        path.unlink()
    write_proxy(video, folder / PROXY_FILE, proxy_recipe(seconds), progress=progress)
    return PlayableVideo(
        kind="proxy",
        address=address_of(PROXY_FILE),
        explanation=f"The recording is too long to be inside the page, which may contain "
        f"{MOST_EMBEDDED_BYTES / 1e6:.0f} MB of video. The video shown is a copy in H.264 "
        f"beside the page: send {PROXY_FILE} with it.",
    )


def proxy_recipe(seconds: float) -> Recipe:
    """Return how to encode so many seconds beside the page: hours in smaller pictures."""
    from stepreel.video.proxy import Recipe

    if seconds <= LONG_SECONDS:
        return Recipe()
    return Recipe(longest=854, most_fps=30, bits_per_second=1_200_000)


def embedded_recipe(seconds: float) -> Recipe | None:
    """Return how to encode so many seconds to be embedded; None if they are too many.

    The longer the recording, the smaller its pictures; the sound goes before the pictures do.
    """
    from stepreel.video.proxy import Recipe

    bits = min(int(0.9 * 8 * MOST_EMBEDDED_BYTES / max(1.0, seconds)), 1_000_000)
    sound = SOUND_BITS_PER_SECOND if bits >= 4 * SOUND_BITS_PER_SECOND else 0
    if bits < FEWEST_BITS_PER_SECOND:
        return None
    longest, most_fps = next(
        (size, fps)
        for least, size, fps in (
            (600_000, 960, 30),
            (250_000, 640, 25),
            (100_000, 480, 15),
            (0, 320, 10),
        )
        if bits >= least
    )
    return Recipe(longest, most_fps, 27, bits - sound, sound)


def _copy(video: VideoFile, folder: Path) -> Path:
    """Copy the recording into `folder` as `recording.…`, unless it is already there."""
    from stepreel.video.decode import fingerprint_of

    suffix = video.path.suffix.lower()
    path = folder / f"recording{suffix if suffix.removeprefix('.').isalnum() else ''}"
    if path.is_file() and (path.samefile(video.path) or fingerprint_of(path) == video.fingerprint):
        return path
    if not video.path.exists():
        raise RecordingError(f"{video.name}: is no longer there")
    with explain_write_errors(folder), atomic_path(path) as temporary:
        shutil.copyfile(video.path, temporary)
    return path


def read_embedded_video(board: Storyboard, folder: Path) -> bytes | None:
    """Return the video that the page of `board` contains, from its folder; None without one.

    A storyboard may come from someone else: files outside of `folder` are not read.
    """
    playable = board.recording.playable
    if playable is None or playable.kind != "embedded" or playable.address is None:
        return None
    path = path_inside(folder, unquote(playable.address))
    try:
        if path is None or path.stat().st_size > MOST_EMBEDDED_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def mp4_address(mp4: bytes | None) -> str | None:
    """Return an MP4 file as a data: address; None for anything else."""
    if mp4 is None or mp4[4:8] != b"ftyp":
        return None
    return "data:video/mp4;base64," + base64.b64encode(mp4).decode("ascii")
