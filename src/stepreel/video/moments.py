"""Sample a video at moments on a regular time grid, each with downscaled pictures.

The grid is in seconds, not frame numbers, so later stages need not handle variable frame rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from av.video.frame import VideoFrame

from stepreel.types import VideoFile
from stepreel.video.decode import Decoding, Gap, Picture, Shrinker, display_seconds, frames_from

PICTURE_PIXELS = 480
FLOW_PIXELS = 256
# Containers with millisecond timestamps round frame times; such a frame is still on the grid.
STAMP_TOLERANCE_SECONDS = 0.0006
# When resuming, start a little early: the flow at the last frame needs the frame before it.
LEAD_SECONDS = 1.0
# A frame that stays longer on the screen, or a gap between frames, gives no moments after that.
LONGEST_STILL_SECONDS = 60.0


@dataclass(frozen=True)
class Moment:
    """A point on the time grid with the pictures displayed there, upright and downscaled.

    index      number of the moment; points of the grid that are left out do not count
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
    """Yield a moment for every grid time from moment `first_index` to the end.

    Where there are no frames for more than a minute, the grid is left out after that minute; such
    gaps are appended to `decoding.gaps`. To start later, pass the gaps found before: the moments
    are the same wherever the walk starts.
    """
    decoding = decoding if decoding is not None else Decoding()
    decoding.gaps = [gap for gap in decoding.gaps if gap.row <= first_index]
    builder = _MomentBuilder(video)
    grid = _Grid(rate, first_index, first_index + sum(gap.n_left for gap in decoding.gaps))
    previous: _DecodedFrame | None = None
    current: _DecodedFrame | None = None
    for frame, seconds in frames_from(video, max(0.0, grid.time - LEAD_SECONDS), decoding):
        following = _DecodedFrame(frame, seconds)
        if current is not None:
            shown_until = min(following.seconds, current.seconds + LONGEST_STILL_SECONDS)
            while grid.is_before(shown_until):
                yield builder.moment(grid, current, (current, following))
                grid.advance()
            if grid.is_before(following.seconds):
                decoding.gaps.append(grid.leave_out(following.seconds))
        previous, current = current, following
    if current is None:
        return
    decoding.end_seconds = current.seconds + display_seconds(current.frame, video)
    pair = (previous, current) if previous is not None else None
    while grid.is_before(decoding.end_seconds) or grid.point == 0:
        yield builder.moment(grid, current, pair)
        grid.advance()


@dataclass
class _Grid:
    """The next point on the time grid, and the index of its moment."""

    rate: float
    index: int
    point: int

    @property
    def time(self) -> float:
        return self.point / self.rate

    def is_before(self, seconds: float) -> bool:
        return self.time < seconds - STAMP_TOLERANCE_SECONDS

    def advance(self) -> None:
        self.index += 1
        self.point += 1

    def leave_out(self, until_seconds: float) -> Gap:
        """Go to the first point at or after `until_seconds` without counting those before it."""
        first, start = self.point, self.time
        while self.is_before(until_seconds):
            self.point += 1
        return Gap(self.index, self.point - first, start, until_seconds)


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
    _to_rgb: Shrinker = field(init=False)
    _to_gray: Shrinker = field(init=False)

    def __post_init__(self) -> None:
        size = (self.video.width, self.video.height)
        self._to_rgb = Shrinker(fit_inside(*size, PICTURE_PIXELS), "rgb24")
        self._to_gray = Shrinker(fit_inside(*size, FLOW_PIXELS), "gray")

    def moment(
        self,
        grid: _Grid,
        current: _DecodedFrame,
        pair: tuple[_DecodedFrame, _DecodedFrame] | None,
    ) -> Moment:
        first, second = pair if pair else (current, None)
        return Moment(
            index=grid.index,
            time=grid.time,
            rgb=self._rgb(current),
            gray=self._gray(first),
            next_gray=None if second is None else self._gray(second),
            interval_seconds=0.0 if second is None else second.seconds - first.seconds,
        )

    def _rgb(self, decoded: _DecodedFrame) -> Picture:
        if decoded.rgb is None:
            decoded.rgb = self._to_rgb.shrink(decoded.frame)
        return decoded.rgb

    def _gray(self, decoded: _DecodedFrame) -> Picture:
        if decoded.gray is None:
            decoded.gray = self._to_gray.shrink(decoded.frame)
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
