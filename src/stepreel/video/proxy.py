"""Write a small copy of a recording that every browser plays: H.264 and AAC in MP4.

Its times are those of the storyboard: 0 is the first picture, and every picture keeps its time.
Pictures are upright, and HDR is mapped to ordinary pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from stepreel.errors import OutputError, RecordingError
from stepreel.system.files import atomic_path, explain_write_errors
from stepreel.types import Progress, VideoFile, no_progress
from stepreel.video.decode import Decoding, Picture, display_seconds, frames_from, quarter_turns
from stepreel.video.hdr import BT709, ToneMapper, is_hdr
from stepreel.video.sound import SoundTrack

ENCODER = "libx264"
PROXY_VERSION = 1  # increase it when the same recording would give another copy
TICKS = Fraction(1, 90_000)
SECONDS_BETWEEN_KEY_FRAMES = 2.0  # so that a click on a step shows it at once


@dataclass(frozen=True)
class Recipe:
    """How large a copy may become.

    longest          pixels of the longer side; smaller recordings keep their size
    most_fps         frames nearer to the one before are left out
    constant_rate    x264's crf: larger is smaller and worse
    bits_per_second  of the pictures, at most
    sound_bits       of the sound; 0 for none
    """

    longest: int = 1280
    most_fps: int = 60
    constant_rate: int = 24
    bits_per_second: int = 2_500_000
    sound_bits: int = 96_000


def write_proxy(
    video: VideoFile, path: Path, recipe: Recipe, *, progress: Progress = no_progress
) -> None:
    """Write the copy to `path`, unless it is already there.

    OutputError or RecordingError says why it could not be made.
    """
    mark = f"stepreel {PROXY_VERSION} {video.fingerprint} {astuple(recipe)}"
    if _mark_of(path) == mark:
        return
    if ENCODER not in av.codecs_available:
        raise OutputError(f"this build of PyAV has no H.264 encoder ({ENCODER}); install its wheel")
    with explain_write_errors(path.parent), atomic_path(path) as temporary:
        try:
            _encode(video, temporary, recipe, mark, progress)
        except av.error.FFmpegError as problem:
            if isinstance(problem, OSError):
                raise  # a full disk, for example
            raise OutputError(
                f"{video.name}: cannot be encoded as H.264 ({problem.strerror})"
            ) from problem


def _mark_of(path: Path) -> str | None:
    """Return what a copy was made from; it is written last, so the copy is complete."""
    try:
        with av.open(f"file:{path}", format="mp4") as container:
            return container.metadata.get("comment")
    except (av.error.FFmpegError, OSError):
        return None


def _encode(video: VideoFile, path: Path, recipe: Recipe, mark: str, progress: Progress) -> None:
    options = {"movflags": "+faststart"}
    with (
        SoundTrack(video, bits_per_second=recipe.sound_bits) as sound,
        av.open(f"file:{path}", "w", format="mp4", options=options) as output,
    ):
        output.metadata["comment"] = mark
        painter = _Painter(video, recipe)
        stream: VideoStream | None = None
        for frame, seconds in _thinned(_frames_shown(video), recipe.most_fps):
            picture = painter.paint(frame)
            if stream is None:
                stream = _add_stream(output, video, recipe, picture)
                sound.add_to(output)
            picture.pts, picture.time_base = round(seconds / TICKS), TICKS
            picture.pict_type = 0  # else the encoder copies which frames are key frames
            output.mux(stream.encode(picture))
            sound.write_until(seconds, output)
            progress("copying video", seconds, max(video.declared_seconds, seconds))
        if stream is None:
            raise RecordingError(f"{video.name}: no frame can be decoded")
        output.mux(stream.encode(None))
        sound.write_until(seconds + display_seconds(frame, video), output)
        sound.finish(output)
        progress("copying video", 1, 1)  # it may be shorter than it states


def _frames_shown(video: VideoFile) -> Iterator[tuple[VideoFrame, float]]:
    """Yield all frames; a single one is shown twice, because a video needs a duration."""
    count = 0
    for frame, seconds in frames_from(video, 0.0, Decoding()):
        count += 1
        yield frame, seconds
    if count == 1:
        yield frame, max(0.1, display_seconds(frame, video))


def _thinned(
    frames: Iterator[tuple[VideoFrame, float]], most_fps: int
) -> Iterator[tuple[VideoFrame, float]]:
    shortest = 1.0 / (most_fps + 1)
    last = -1.0
    for frame, seconds in frames:
        if seconds - last >= shortest:
            last = seconds
            yield frame, seconds


def _add_stream(
    output: OutputContainer, video: VideoFile, recipe: Recipe, first: VideoFrame
) -> VideoStream:
    fps = min(video.fps or 30.0, recipe.most_fps)
    stream = output.add_stream(ENCODER, rate=max(1, round(fps)))
    assert isinstance(stream, VideoStream)
    stream.width, stream.height, stream.pix_fmt = first.width, first.height, "yuv420p"
    stream.time_base = TICKS
    context = stream.codec_context
    context.time_base = TICKS
    context.gop_size = max(1, round(fps * SECONDS_BETWEEN_KEY_FRAMES))
    context.max_b_frames = 0  # then the first picture is at 0 in every player
    context.color_range = 1
    context.colorspace, context.color_trc = first.colorspace, first.color_trc
    context.color_primaries = first.color_primaries
    stream.options = {
        "preset": "veryfast",
        "profile": "high",
        "crf": str(recipe.constant_rate),
        "maxrate": str(recipe.bits_per_second),
        "bufsize": str(2 * recipe.bits_per_second),
    }
    return stream


class _Painter:
    """Turns decoded frames into upright, small, ordinary pictures of one size."""

    def __init__(self, video: VideoFile, recipe: Recipe) -> None:
        scale = min(1.0, recipe.longest / max(video.width, video.height))
        self._size = (_even(video.width * scale), _even(video.height * scale))
        self._tone_mapper: ToneMapper | None = None

    def paint(self, frame: VideoFrame) -> VideoFrame:
        turns = quarter_turns(frame)
        width, height = self._size if turns % 2 == 0 else self._size[::-1]
        if is_hdr(frame):
            self._tone_mapper = self._tone_mapper or ToneMapper(width, height, frame.color_trc)
            small = self._tone_mapper.map(frame)
        else:
            matrix = BT709 if frame.format.is_rgb else None
            small = frame.reformat(
                width,
                height,
                "yuv420p",
                interpolation="AREA",
                dst_colorspace=matrix,
                dst_color_range=1,
            )
        return small if turns == 0 else _turned(small, turns)


def _even(length: float) -> int:
    """Return an even length: 4:2:0 video has colours for 2 x 2 pixels."""
    return max(2, round(length / 2) * 2)


def _turned(frame: VideoFrame, turns: int) -> VideoFrame:
    """Turn a yuv420p frame counter-clockwise by quarter turns."""
    stacked: Picture = frame.to_ndarray().astype(np.uint8, copy=False)
    width, height = frame.width, frame.height
    planes, row = [], 0
    flat = stacked.reshape(-1)
    for w, h in ((width, height), (width // 2, height // 2), (width // 2, height // 2)):
        plane = flat[row : row + w * h].reshape(h, w)
        planes.append(np.ascontiguousarray(np.rot90(plane, turns)).reshape(-1))
        row += w * h
    new_width = width if turns % 2 == 0 else height
    turned = VideoFrame.from_ndarray(
        np.concatenate(planes).reshape(-1, new_width), format="yuv420p"
    )
    turned.colorspace, turned.color_range = frame.colorspace, frame.color_range
    turned.color_trc, turned.color_primaries = frame.color_trc, frame.color_primaries
    return turned
