"""Sample a video at moments on a regular time grid, each with downscaled pictures.

The grid is in seconds, not frame numbers, so later stages need not handle variable frame rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from av.video.frame import VideoFrame

from stepreel.types import VideoFile
from stepreel.video.decode import Decoding, Picture, display_seconds, frames_from, shrink

PICTURE_PIXELS = 480
FLOW_PIXELS = 256
# Containers with millisecond timestamps round frame times; such a frame is still on the grid.
STAMP_TOLERANCE_SECONDS = 0.0006
# When resuming, start a little early: the flow at the last frame needs the frame before it.
LEAD_SECONDS = 1.0


@dataclass(frozen=True)
class Moment:
    """A point on the time grid with the pictures displayed there, upright and downscaled.

    rgb        (H, W, 3), longest side 480
    gray       (h, w), longest side 256: the displayed frame, or the one before it at the very end
    next_gray  the source frame after `gray`; None if the video has a single frame
    """

    index: int
    time: float
    rgb: Picture
    gray: Picture
    next_gray: Picture | None
    interval_seconds: float


def walk_moments(
    video: VideoFile, *, rate: float, first_index: int = 0, decoding: Decoding | None = None
) -> Iterator[Moment]:
    """Yield a moment for every grid time `index / rate` from `first_index` to the end.

    The moments are the same wherever the walk starts.
    """
    decoding = decoding if decoding is not None else Decoding()
    builder = _MomentBuilder(video)
    index = first_index
    previous: _DecodedFrame | None = None
    current: _DecodedFrame | None = None
    for frame, seconds in frames_from(video, max(0.0, first_index / rate - LEAD_SECONDS), decoding):
        following = _DecodedFrame(frame, seconds)
        while current is not None and index / rate < following.seconds - STAMP_TOLERANCE_SECONDS:
            yield builder.moment(index, rate, current, (current, following))
            index += 1
        previous, current = current, following
    if current is None:
        return
    decoding.end_seconds = current.seconds + display_seconds(current.frame, video)
    pair = (previous, current) if previous is not None else None
    while index / rate < decoding.end_seconds - STAMP_TOLERANCE_SECONDS or index == 0:
        yield builder.moment(index, rate, current, pair)
        index += 1


@dataclass
class _DecodedFrame:
    """A decoded frame and, once needed, its downscaled pictures."""

    frame: VideoFrame
    seconds: float
    rgb: Picture | None = None
    gray: Picture | None = None


@dataclass
class _MomentBuilder:
    """Builds the moments of one video; each frame is downscaled at most once."""

    video: VideoFile
    _rgb_size: tuple[int, int] = field(init=False)
    _gray_size: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        size = (self.video.width, self.video.height)
        self._rgb_size = fit_inside(*size, PICTURE_PIXELS)
        self._gray_size = fit_inside(*size, FLOW_PIXELS)

    def moment(
        self,
        index: int,
        rate: float,
        current: _DecodedFrame,
        pair: tuple[_DecodedFrame, _DecodedFrame] | None,
    ) -> Moment:
        first, second = pair if pair else (current, None)
        return Moment(
            index=index,
            time=index / rate,
            rgb=self._rgb(current),
            gray=self._gray(first),
            next_gray=None if second is None else self._gray(second),
            interval_seconds=0.0 if second is None else second.seconds - first.seconds,
        )

    def _rgb(self, decoded: _DecodedFrame) -> Picture:
        if decoded.rgb is None:
            decoded.rgb = shrink(decoded.frame, self._rgb_size, "rgb24")
        return decoded.rgb

    def _gray(self, decoded: _DecodedFrame) -> Picture:
        if decoded.gray is None:
            decoded.gray = shrink(decoded.frame, self._gray_size, "gray")
        return decoded.gray


def fit_inside(width: int, height: int, longest: int) -> tuple[int, int]:
    """Return the size with the same aspect ratio whose longer side is `longest`; both sides even.

    >>> fit_inside(1280, 720, 480)
    (480, 270)
    >>> fit_inside(721, 1280, 256)
    (144, 256)
    """
    scale = longest / max(width, height)
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)
