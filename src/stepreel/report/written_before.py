"""What an earlier storyboard of the same recording has that need not be made again."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from stepreel.report.addresses import address_of, path_inside
from stepreel.storyboard.folders import relative_path
from stepreel.storyboard.schema import PlayableVideo, Storyboard
from stepreel.system.files import link_or_copy
from stepreel.types import VideoFile
from stepreel.video.previews import ThumbnailSheet


@dataclass(frozen=True)
class WrittenBefore:
    """A storyboard that was written to `folder`: its thumbnails and its video stay as they are."""

    folder: Path
    board: Storyboard

    def thumbnails(self) -> ThumbnailSheet | None:
        """Return the thumbnails; None if there are none, or their file is gone."""
        strip = self.board.strip
        path = None if strip is None else path_inside(self.folder, strip.file)
        if strip is None or path is None:
            return None
        with contextlib.suppress(OSError):
            return ThumbnailSheet(
                jpeg=path.read_bytes(),
                count=strip.count,
                columns=strip.columns,
                tile_width=strip.tile_width,
                tile_height=strip.tile_height,
                interval_seconds=strip.interval_seconds,
            )
        return None

    def with_same_video(self, board: Storyboard, video: VideoFile, folder: Path) -> Storyboard:
        """Return a new storyboard of the recording, for `folder`, that plays the same video."""
        playable = self.board.recording.playable
        if playable is not None and folder.resolve() != self.folder.resolve():
            playable = self._moved(playable, video, folder)
        recording = board.recording.model_copy(update={"playable": playable})
        notes = board.notes
        if playable is not None and playable.explanation in self.board.notes:
            notes = [*notes, playable.explanation]  # it was asked for otherwise
        return board.model_copy(update={"recording": recording, "notes": notes})

    def _moved(self, playable: PlayableVideo, video: VideoFile, folder: Path) -> PlayableVideo:
        """Return the video as seen from another folder; a copy comes along."""
        if playable.address is None:
            return playable
        if playable.kind == "original":
            address = address_of(relative_path(folder, video.path))
            return playable.model_copy(update={"address": address})
        path = path_inside(self.folder, unquote(playable.address))
        if path is None or not path.is_file():
            return playable
        target = folder / path.name
        if not (target.exists() and target.stat().st_size == path.stat().st_size):
            link_or_copy(path, target)
        return playable
