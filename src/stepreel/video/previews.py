"""A small JPEG of every moment, cached with the features.

Steps can then be shown after any clustering without decoding the video again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from stepreel.errors import RecordingError, StoreError
from stepreel.system.checked_arrays import CheckedArrays, DamagedError
from stepreel.system.store import Entry
from stepreel.types import Seconds, VideoFile
from stepreel.video.decode import Decoding, Picture, Shrinker, frames_from
from stepreel.video.moments import (
    LEAD_SECONDS,
    PICTURE_PIXELS,
    STAMP_TOLERANCE_SECONDS,
    Moment,
    fit_inside,
)

PREVIEWS = "previews"
QUALITY = 75
JPEG_START = b"\xff\xd8"
STRIP_TILES = 150
STRIP_COLUMNS = 15
TILE_PIXELS = 160
SMALL_PIXELS = 320


class PreviewMaker:
    """Makes the previews during extraction; has the interface of a cue."""

    name = PREVIEWS

    def settings(self) -> dict[str, object]:
        """Return the settings that affect the pictures."""
        return {"pixels": PICTURE_PIXELS, "quality": QUALITY}

    def prepare(self, folder: Path) -> None:
        """Do nothing: JPEG encoding needs no preparation."""

    def extract(self, moments: Sequence[Moment]) -> dict[str, NDArray[np.generic]]:
        """Return `jpeg`, all pictures concatenated, and `sizes` (n,), their lengths in bytes."""
        pictures = [encode_jpeg(moment.rgb, QUALITY) for moment in moments]
        sizes = np.array([len(picture) for picture in pictures], np.int64)
        return {"jpeg": np.frombuffer(b"".join(pictures), np.uint8), "sizes": sizes}


@dataclass(frozen=True)
class ThumbnailSheet:
    """One JPEG with thumbnails of a whole recording, row by row.

    interval_seconds  thumbnail i shows the moment i × this
    """

    jpeg: bytes
    count: int
    columns: int
    tile_width: int
    tile_height: int
    interval_seconds: float


@dataclass(frozen=True)
class Previews:
    """The stored pictures of one recording, read on demand."""

    file: CheckedArrays
    ends: NDArray[np.int64]

    @classmethod
    def open(cls, entry: Entry) -> Previews | None:
        """Open the file with the arrays of `PreviewMaker`; None if it is missing or damaged."""
        file = entry.opened_intact()
        return None if file is None else cls(file, np.cumsum(file.read("sizes")))

    def __len__(self) -> int:
        return len(self.ends)

    def jpeg(self, moment: int) -> bytes:
        """Return the picture of one moment."""
        start = int(self.ends[moment - 1]) if moment else 0
        try:
            jpeg = self.file.read_rows("jpeg", start, int(self.ends[moment])).tobytes()
        except (DamagedError, OSError) as problem:  # since it was opened, and found intact
            raise StoreError(
                f"{self.file.path}: was removed or damaged in the meantime ({problem}); run again"
            ) from problem
        if not jpeg.startswith(JPEG_START):
            raise self._not_a_picture(moment)
        return jpeg

    def thumbnails(self, times: Seconds) -> ThumbnailSheet:
        """Return one picture of at most 150 thumbnails, evenly spaced over `times`."""
        spacing = float(times[1] - times[0]) if len(times) > 1 else 1.0
        n_points = round(float(times[-1] - times[0]) / spacing) + 1  # times may have gaps
        stride = max(1, -(-n_points // STRIP_TILES))
        tile_times = times[0] + spacing * np.arange(0, n_points, stride)
        # Half of the spacing later, so that rounding cannot select the moment before.
        moments = np.searchsorted(times, tile_times + spacing / 2) - 1
        tiles = [self._tile(int(moment)) for moment in moments]
        height, width, _ = tiles[0].shape
        columns = min(STRIP_COLUMNS, len(tiles))
        rows = -(-len(tiles) // columns)
        sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
        for number, tile in enumerate(tiles):
            top, left = height * (number // columns), width * (number % columns)
            sheet[top : top + height, left : left + width] = tile
        return ThumbnailSheet(
            jpeg=encode_jpeg(sheet, QUALITY - 5),
            count=len(tiles),
            columns=columns,
            tile_width=width,
            tile_height=height,
            interval_seconds=stride * spacing,
        )

    def small_jpeg(self, moment: int) -> bytes:
        """Return a smaller picture of one moment."""
        decoded = self._decoded(moment, cv2.IMREAD_COLOR)
        scale = min(1.0, SMALL_PIXELS / max(decoded.shape[:2]))
        size = (max(1, round(decoded.shape[1] * scale)), max(1, round(decoded.shape[0] * scale)))
        small = cv2.resize(
            cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB), size, None, 0, 0, cv2.INTER_AREA
        )
        return encode_jpeg(np.asarray(small, np.uint8), QUALITY - 5)

    def _decoded(self, moment: int, flags: int) -> Picture:
        try:
            decoded = cv2.imdecode(np.frombuffer(self.jpeg(moment), np.uint8), flags)
        except cv2.error as problem:
            raise self._not_a_picture(moment) from problem
        if decoded is None:
            raise self._not_a_picture(moment)
        return np.asarray(decoded, np.uint8)

    def _not_a_picture(self, moment: int) -> StoreError:
        return StoreError(
            f"{self.file.path}: is damaged (picture {moment} is not a JPEG). Remove it, and run "
            "`stepreel run` on the recording again"
        )

    def _tile(self, moment: int) -> Picture:
        flags = cv2.IMREAD_REDUCED_COLOR_2  # decode at half size: a quarter of the work
        decoded = self._decoded(moment, flags)
        small = cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)
        scale = TILE_PIXELS / max(small.shape[:2])
        size = (max(1, round(small.shape[1] * scale)), max(1, round(small.shape[0] * scale)))
        return np.asarray(cv2.resize(small, size, interpolation=cv2.INTER_AREA), np.uint8)


def picture_at(video: VideoFile, seconds: float) -> bytes:
    """Return the JPEG of the frame that is displayed at a time."""
    shown = None
    for frame, start in frames_from(video, max(0.0, seconds - LEAD_SECONDS), Decoding()):
        if shown is not None and start > seconds + STAMP_TOLERANCE_SECONDS:
            break
        shown = frame
    if shown is None:
        raise RecordingError(f"{video.name}: no frame can be decoded at {seconds:g} s")
    size = fit_inside(video.width, video.height, PICTURE_PIXELS)
    return encode_jpeg(Shrinker(size, "rgb24").shrink(shown), QUALITY)


def encode_jpeg(rgb: Picture, quality: int) -> bytes:
    """Compress an RGB picture."""
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
    is_encoded, packed = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert is_encoded
    return packed.tobytes()
