"""Whether the video of a storyboard that is rendered again is still there."""

from __future__ import annotations

from pathlib import Path

from stepreel.report.addresses import file_of_address
from stepreel.report.video import mp4_address, read_embedded_video
from stepreel.storyboard.schema import PlayableVideo, Storyboard
from stepreel.types import readable


def video_problem(board: Storyboard, folder: Path) -> str | None:
    """Say what is wrong with the video that the page of `board` plays; None if nothing is."""
    if not _is_missing(board, folder):
        return None
    playable = board.recording.playable
    assert playable is not None
    file = _file_name(playable)
    if playable.kind == "original":
        return f"the recording {file} is not there; the page plays it once it is back"
    if playable.kind == "embedded":
        return (
            f"{file}, the video inside the page, is missing or no MP4 file, so the page has no "
            "video; put it back and render again"
        )
    return f"{file}, the copy that the page plays, is missing; put it back and render again"


def without_missing_video(board: Storyboard, folder: Path) -> Storyboard:
    """Return the storyboard as its page shows it: without a copy that is missing.

    A recording in another place stays linked: it may be on a disk that is not connected now.
    """
    playable = board.recording.playable
    if playable is None or playable.kind == "original" or not _is_missing(board, folder):
        return board
    none = PlayableVideo(
        kind="none",
        explanation=f"{_file_name(playable)}, the copy of the recording that this page plays, was "
        "missing when the page was made.",
    )
    recording = board.recording.model_copy(update={"playable": none})
    notes = [note for note in board.notes if note != playable.explanation]
    return board.model_copy(update={"recording": recording, "notes": notes})


def _is_missing(board: Storyboard, folder: Path) -> bool:
    playable = board.recording.playable
    if playable is None or playable.address is None:
        return False
    if playable.kind == "embedded":
        return mp4_address(read_embedded_video(board, folder)) is None
    return not (folder / file_of_address(playable.address)).is_file()


def _file_name(playable: PlayableVideo) -> str:
    return readable(Path(file_of_address(playable.address or "")).name)
