"""A storyboard's pictures when its page is rendered again: read back, or taken again."""

from __future__ import annotations

from pathlib import Path

from stepreel.errors import StepreelError
from stepreel.report.addresses import path_inside
from stepreel.storyboard.picture_files import picture_file, shows_another_moment
from stepreel.storyboard.schema import KeyStep, Storyboard
from stepreel.system.files import write_bytes
from stepreel.types import VideoFile


def read_pictures(board: Storyboard, folder: Path) -> tuple[dict[int, bytes], bytes | None]:
    """Return the JPEG of each step by the step's index, and the strip; what is missing is left out.

    A storyboard may come from someone else: files outside of `folder` are not read.
    """
    files = {step.index: _read(folder, step.picture) for step in board.steps}
    strip = _read(folder, board.strip.file) if board.strip else None
    return {index: jpeg for index, jpeg in files.items() if jpeg is not None}, strip


def read_other_pictures(board: Storyboard, folder: Path) -> dict[str, bytes]:
    """Return the JPEG of every file that alternatives name; what is missing is left out."""
    files = {step.picture for other in board.alternatives for step in other.steps if step.picture}
    read = {file: _read(folder, file) for file in sorted(files)}
    return {file: jpeg for file, jpeg in read.items() if jpeg is not None}


def _read(folder: Path, file: str | None) -> bytes | None:
    path = path_inside(folder, file) if file else None
    try:
        return path.read_bytes() if path else None
    except OSError:
        return None


def retake_pictures(board: Storyboard, folder: Path) -> tuple[Storyboard, list[str]]:
    """Take pictures of steps that are new or have another moment; return also problems.

    Without the recording, such a step has no picture: one of another moment would be wrong.
    """
    moved = [s for s in board.steps if not s.picture or shows_another_moment(s.picture, s.time)]
    if not moved or board.recording.kind != "video":
        return board, []
    problem = ""
    try:
        video = _video_of(board, folder)
        retaken = {step.index: _retake(step, video, folder) for step in moved}
    except StepreelError as reason:
        problem = f"{len(moved)} of its steps have no picture of their moment: {reason}"
        retaken = {step.index: step.model_copy(update={"picture": None}) for step in moved}
    steps = [retaken.get(step.index, step) for step in board.steps]
    return board.model_copy(update={"steps": steps}), [problem] if problem else []


def _retake(step: KeyStep, video: VideoFile, folder: Path) -> KeyStep:
    from stepreel.video.previews import picture_at

    file = picture_file(step.index, step.time)
    write_bytes(folder / file, picture_at(video, step.time))
    return step.model_copy(update={"picture": file})


def _video_of(board: Storyboard, folder: Path) -> VideoFile:
    """Open the recording; it must be the one the storyboard was made of."""
    from stepreel.video.decode import probe

    if board.recording.file is None:
        raise StepreelError("there is no video")
    video = probe(folder / board.recording.file)
    if video.fingerprint != board.recording.fingerprint:
        raise StepreelError(f"{video.name} is not the video this storyboard was made of")
    return video
