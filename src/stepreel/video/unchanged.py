"""Notice a video that is changed, replaced or removed between its fingerprint and its last frame.

Otherwise the features of one video would be kept under the fingerprint of another.
"""

from __future__ import annotations

from stepreel.errors import RecordingError
from stepreel.types import VideoFile
from stepreel.video.decode import file_status, fingerprint_of


class UnchangedVideo:
    """Checks that a video is still the one that was probed."""

    def __init__(self, video: VideoFile) -> None:
        self._video = video
        self._status = video.status

    def check(self) -> None:
        """Raise RecordingError unless the file's content is that of its fingerprint.

        The content is read again only if the file system reports any change of the file.
        """
        path, name = self._video.path, self._video.name
        if not path.exists():
            raise RecordingError(
                f"{name}: was removed while it was being read; put it back and run again"
            )
        status = file_status(path)
        if status == self._status:
            return
        if fingerprint_of(path) != self._video.fingerprint:
            raise RecordingError(
                f"{name}: was changed while it was being read; run again once it is complete"
            )
        self._status = status
