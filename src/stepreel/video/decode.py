"""Probe a video and read its frames with their times.

Times are presentation times in seconds; 0 is the first displayed frame.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream
from numpy.typing import NDArray

from stepreel.errors import RecordingError
from stepreel.types import VideoFile
from stepreel.video.containers import (
    check_is_a_file,
    open_video,
    packets,
    unreadable,
    video_stream,
    video_streams,
)
from stepreel.video.hdr import is_hdr, to_ordinary_picture

Picture = NDArray[np.uint8]

log = logging.getLogger(__name__)

LONGEST_GAP_SECONDS = 3600.0
LONGEST_LAST_FRAME_SECONDS = 10.0
STAMPS_EXAMINED = 32
# Some files have frames a little out of order. Skipping one changes little: a neighbour is shown.
HARMLESS_STEP_BACK_SECONDS = 0.5
# Their durations count from zero of their clock, not from the first frame.
DURATION_INCLUDES_START = ("matroska,webm", "nut")


class Gap(NamedTuple):
    """A long stretch without frames, for which no moments are made.

    row      of the first moment after it, counted without the moments left out
    n_left   moments of the grid left out
    """

    row: int
    n_left: int
    start_seconds: float
    end_seconds: float


@dataclass
class Decoding:
    """Statistics of decoding, updated while frames are read.

    misplaced_frames  skipped because their times go back to a part that was already shown
    stopped_early     why reading ended before the end of the file, as a sentence
    """

    end_seconds: float = 0.0
    damaged_packets: int = 0
    misplaced_frames: int = 0
    stopped_early: str = ""
    gaps: list[Gap] = field(default_factory=list)


def file_status(path: Path) -> tuple[int, ...]:
    """Return what tells whether a file was changed or replaced, if its time was set back or not.

    The last number is the time of the last change of anything about the file, which nobody can set
    (except on Windows, where it is the time of creation).
    """
    try:
        status = path.stat()
    except OSError as problem:
        raise RecordingError(unreadable(path, problem)) from problem
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def fingerprint_of(path: Path) -> str:
    """Hash the whole file, so that the cache recognises renamed copies and edited files."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as problem:
        raise RecordingError(unreadable(path, problem)) from problem


def probe(path: Path | str) -> VideoFile:
    """Read the metadata of a video from its header and first frames."""
    path = Path(path)
    check_is_a_file(path)
    status = file_status(path)
    fingerprint = fingerprint_of(path)
    with open_video(path) as container:
        stream = video_stream(path, container)
        frame, stamps = None, []
        for decoded in islice(_decoded(path, container, stream, Decoding()), STAMPS_EXAMINED):
            frame = frame or decoded  # keep only the first: frames can be large
            stamps.append((decoded.pts, decoded.dts))
        if frame is None:
            raise RecordingError(
                f"{path.name}: no frame can be decoded; is the file damaged or still being written?"
            )
        by_decoding = stamps_are_scrambled(stamps)
        first_seconds = _stamp(frame, by_decoding)
        first_seconds = 0.0 if first_seconds is None else first_seconds
        width, height = _display_size(frame, stream)
        starts = [
            s.start_time * s.time_base
            for s in container.streams
            if s.start_time is not None and s.time_base is not None and s.type in ("video", "audio")
        ]
        player_zero = float(min(starts)) if starts else first_seconds
        return VideoFile(
            path=path,
            fingerprint=fingerprint,
            width=width,
            height=height,
            fps=float(stream.average_rate or stream.guessed_rate or 0),
            declared_seconds=_declared_seconds(container, stream, first_seconds),
            first_frame_seconds=first_seconds,
            player_offset_seconds=max(0.0, first_seconds - player_zero),
            shown_in_decoding_order=by_decoding,
            n_streams=len(video_streams(container)),
            is_hdr=is_hdr(frame),
            status=status,
        )


class Shrinker:
    """Resizes frames to upright pictures of `size` (width, height), `rgb24` or `gray`.

    One for all frames of a video: to set up the filters takes as long as resizing a frame.
    """

    def __init__(self, size: tuple[int, int], pixel_format: str) -> None:
        self._size = size
        self._pixel_format = pixel_format
        self._reformatter = VideoReformatter()  # sets itself up again if frames change

    def shrink(self, frame: VideoFrame) -> Picture:
        """Return the picture of a frame."""
        turns = quarter_turns(frame)
        width, height = self._size if turns % 2 == 0 else self._size[::-1]
        if is_hdr(frame):
            small = to_ordinary_picture(frame, width, height, self._pixel_format)
        else:
            resized = self._reformatter.reformat(
                frame, width, height, self._pixel_format, interpolation="AREA"
            )
            small = resized.to_ndarray().astype(np.uint8, copy=False)
        # Copy even without rotation: FFmpeg pads rows, and optical flow needs contiguous arrays.
        return np.ascontiguousarray(np.rot90(small, turns))


def quarter_turns(frame: VideoFrame) -> int:
    """Count the counter-clockwise turns that make a frame upright, as np.rot90 counts them.

    FFmpeg gives a huge negative angle for a display matrix that is all zero.
    """
    return round(frame.rotation / 90) % 4 if abs(frame.rotation) <= 360 else 0


def _display_size(frame: VideoFrame, stream: VideoStream) -> tuple[int, int]:
    """Return the displayed width and height, with pixel aspect ratio and rotation applied."""
    aspect = stream.sample_aspect_ratio
    width = max(1, round(frame.width * float(aspect))) if aspect else frame.width
    return (frame.height, width) if quarter_turns(frame) % 2 else (width, frame.height)


def display_seconds(frame: VideoFrame, video: VideoFile) -> float:
    """Return how long the last frame is displayed, capped if the file claims too much."""
    if frame.duration and frame.time_base:
        return min(float(frame.duration * frame.time_base), LONGEST_LAST_FRAME_SECONDS)
    return 1.0 / video.fps if video.fps > 0 else 0.0


def frames_from(
    video: VideoFile, seconds: float, decoding: Decoding
) -> Iterator[tuple[VideoFrame, float]]:
    """Yield frames with their times, starting at or before `seconds`."""
    with open_video(video.path) as container:
        stream = video_stream(video.path, container)
        if seconds > 0 and not _seek(video, container, stream, seconds):
            yield from frames_from(video, 0.0, decoding)
            return
        for frame, stamp in _frames(video, container, stream, decoding):
            yield frame, stamp - video.first_frame_seconds


def _seek(video: VideoFile, container: InputContainer, stream: VideoStream, seconds: float) -> bool:
    """Seek to the last key frame at or before `seconds`; False if the file is not seekable."""
    time_base = stream.time_base
    assert time_base is not None
    ticks = int((video.first_frame_seconds + seconds) / time_base)
    try:
        container.seek(ticks, stream=stream, backward=True, any_frame=False)
        landed = next(_frames(video, container, stream, Decoding()), None)
        if landed is None or landed[1] - video.first_frame_seconds > seconds:
            return False  # without an index, seeking can end after the target
        container.seek(ticks, stream=stream, backward=True, any_frame=False)
    except av.error.FFmpegError:
        return False
    return True


def _frames(
    video: VideoFile, container: InputContainer, stream: VideoStream, decoding: Decoding
) -> Iterator[tuple[VideoFrame, float]]:
    """Yield frames with strictly increasing times on the file's own clock; count bad timestamps."""
    last: float | None = None
    step = 1.0 / (video.fps or 30.0)
    for frame in _decoded(video.path, container, stream, decoding):
        seconds = _stamp(frame, video.shown_in_decoding_order)
        if seconds is None:
            seconds = video.first_frame_seconds if last is None else last + step
        if last is not None and seconds <= last:
            decoding.misplaced_frames += last - seconds > HARMLESS_STEP_BACK_SECONDS
            continue
        if last is not None and seconds - last > LONGEST_GAP_SECONDS:
            decoding.stopped_early = (
                f"the clock of the video jumps ahead by {(seconds - last) / 3600:.1f} hours there"
            )
            return
        last = seconds
        yield frame, seconds


def _stamp(frame: VideoFrame, by_decoding: bool) -> float | None:
    ticks = frame.dts if by_decoding else frame.pts
    return None if ticks is None or frame.time_base is None else float(ticks * frame.time_base)


def stamps_are_scrambled(head: Sequence[tuple[int | None, int | None]]) -> bool:
    """Return whether only the dts of (pts, dts) increase, as in AVI files with packed B-frames.

    Decoders output frames in display order, so presentation timestamps that go back are wrong.
    """
    presentation = [pts for pts, _ in head if pts is not None]
    decoding = [dts for _, dts in head if dts is not None]
    return not _increases(presentation) and _increases(decoding) and len(decoding) > len(head) // 2


def _increases(stamps: Sequence[int]) -> bool:
    return all(a < b for a, b in pairwise(stamps))


def _decoded(
    path: Path, container: InputContainer, stream: VideoStream, decoding: Decoding
) -> Iterator[VideoFrame]:
    """Yield every frame that can be decoded, skipping damaged packets.

    Damage counts from the first whole frame on: a recording, and a part of one, may start with
    frames that need earlier ones.
    """
    is_whole = False
    try:
        for packet in packets(container, stream):
            try:
                frames = packet.decode()
            except av.error.InvalidDataError:
                decoding.damaged_packets += is_whole
                continue
            for frame in frames:
                assert isinstance(frame, VideoFrame)
                # In a corrupt frame, error concealment made up the picture.
                decoding.damaged_packets += is_whole and frame.is_corrupt
                is_whole = is_whole or not frame.is_corrupt
                yield frame
    except av.error.FFmpegError as problem:
        log.info("%s: reading stopped: %s", path.name, problem)
        decoding.stopped_early = f"the file cannot be read further ({problem.strerror})"


def _declared_seconds(
    container: InputContainer, stream: VideoStream, first_seconds: float
) -> float:
    """Return the duration of the video stream according to the header; 0 if it is not stated.

    The container's duration is that of its longest stream, which may be the audio.
    """
    tag = re.fullmatch(r"(\d+):(\d+):(\d+\.?\d*)", stream.metadata.get("DURATION", ""))
    if tag:
        declared = int(tag[1]) * 3600 + int(tag[2]) * 60 + float(tag[3])
    elif stream.duration and stream.time_base:
        declared = float(stream.duration * stream.time_base)
    elif len(container.streams) > 1 or not container.duration:
        declared = 0.0
    else:
        declared = container.duration / av.time_base
    if container.format.name in DURATION_INCLUDES_START:
        declared -= max(0.0, first_seconds)
    return max(0.0, declared)
