"""What the page of a comparison plays and links to: each take's video, and its own page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stepreel.comparison.takes import Take
from stepreel.report.addresses import address_of, file_of_address
from stepreel.report.write import PAGE
from stepreel.storyboard.folders import relative_path


@dataclass(frozen=True)
class Playable:
    """The video of a take.

    video    its address, seen from the page of the comparison; None if there is none
    offset   what to add to a time to get the position in it, in seconds
    problem  why there is none; empty if there is one
    page     the address of the take's own page; None if it is not there
    is_seen  whether there are pictures of it; not if it is known by its features only
    """

    video: str | None
    offset: float
    problem: str
    page: str | None
    is_seen: bool = True

    def page_at(self, step: int) -> str | None:
        """Return where to go for a step of which there is nothing to see here."""
        return None if self.is_seen or self.page is None else f"{self.page}#step-{step}"


def playable_of(take: Take, folder: Path) -> Playable:
    """Return what a page in `folder` can play and link to."""
    recording = take.board.recording
    own = take.path / PAGE
    page = _address(folder, own) if own.is_file() else None
    if recording.kind == "features":
        why = "This take is known by its features only: no video."
        return Playable(None, 0.0, why, page, is_seen=False)
    playable = recording.playable
    if playable is None:
        file = recording.file
        video = None if file is None else _address(folder, take.path / file)
        return Playable(video, recording.player_offset_seconds, "", page)
    if playable.address is None:
        return Playable(None, 0.0, playable.explanation or "This take has no video.", page)
    video = _address(folder, take.path / file_of_address(playable.address))
    return Playable(video, playable.player_offset_seconds, "", page)


def _address(folder: Path, file: Path) -> str:
    return address_of(relative_path(folder, file))
