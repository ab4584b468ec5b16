"""Walk a recording's moments: a regular grid of time, with the small pictures shown there.

The grid is of time, not of frame numbers, so a variable frame rate changes nothing further on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from av.video.frame import VideoFrame

from stepreel.types import VideoFile
from stepreel.video.decode import Decoding, Picture, display_seconds, frames_from, shrink

PICTURE_PIXELS = 480
FLOW_PIXELS = 256
# A container that counts in milliseconds rounds frame times; such a frame is still on the grid.
STAMP_TOLERANCE_SECONDS = 0.0006
# Begin a little early when resuming: the last frame's flow needs the frame before it.
LEAD_SECONDS = 1.0


@dataclass(frozen=True)
class Moment:
    """A point of the time grid with the pictures shown there, upright and small.

    rgb        (H, W, 3), longest side 480
    gray       (h, w), longest side 256: the frame shown, or the one before it if it is the last
    next_gray  the source frame after `gray`; None if the recording has a single frame
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

    Starting later gives the very moments a start at 0 would have given.
    """
    decoding = decoding if decoding is not None else Decoding()
    builder = _MomentBuilder(video)
    index = first_index
    before: _DecodedFrame | None = None
    shown: _DecodedFrame | None = None
    for frame, seconds in frames_from(video, max(0.0, first_index / rate - LEAD_SECONDS), decoding):
        after = _DecodedFrame(frame, seconds)
        while shown is not None and index / rate < after.seconds - STAMP_TOLERANCE_SECONDS:
            yield builder.moment(index, rate, shown, (shown, after))
            index += 1
        before, shown = shown, after
    if shown is None:
        return
    decoding.end_seconds = shown.seconds + display_seconds(shown.frame, video)
    pair = (before, shown) if before is not None else None
    while index / rate < decoding.end_seconds - STAMP_TOLERANCE_SECONDS or index == 0:
        yield builder.moment(index, rate, shown, pair)
        index += 1


@dataclass
class _DecodedFrame:
    """A decoded frame and, once needed, its small pictures."""

    frame: VideoFrame
    seconds: float
    rgb: Picture | None = None
    gray: Picture | None = None


@dataclass
class _MomentBuilder:
    """Makes the small upright pictures of one recording; each frame is shrunk at most once."""

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
        shown: _DecodedFrame,
        pair: tuple[_DecodedFrame, _DecodedFrame] | None,
    ) -> Moment:
        first, second = pair if pair else (shown, None)
        return Moment(
            index=index,
            time=index / rate,
            rgb=self._rgb(shown),
            gray=self._gray(first),
            next_gray=None if second is None else self._gray(second),
            interval_seconds=0.0 if second is None else second.seconds - first.seconds,
        )

    def _rgb(self, shown: _DecodedFrame) -> Picture:
        if shown.rgb is None:
            shown.rgb = shrink(shown.frame, self._rgb_size, "rgb24")
        return shown.rgb

    def _gray(self, shown: _DecodedFrame) -> Picture:
        if shown.gray is None:
            shown.gray = shrink(shown.frame, self._gray_size, "gray")
        return shown.gray


def fit_inside(width: int, height: int, longest: int) -> tuple[int, int]:
    """Return the size of the same shape whose longer side is `longest`, both sides even.

    >>> fit_inside(1280, 720, 480)
    (480, 270)
    >>> fit_inside(721, 1280, 256)
    (144, 256)
    """
    scale = longest / max(width, height)
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)
