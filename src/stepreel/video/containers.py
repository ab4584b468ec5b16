"""Open a video file safely and choose its video stream; every message names the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from stepreel.errors import RecordingError
from stepreel.system.machine import usable_cores

# Without playlists and scripts (hls, concat, dash, ...), because they can reference other files.
CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,mxf,mjpeg,"
    "h264,hevc,av1,ivf,obu,gif,apng,dv,rm,wtv,nut,wav,mp3,flac,aac"
)
LARGEST_PICTURE_PIXELS = 100_000_000  # 10,000 x 10,000; 8K has 33 million
MEMORY_OF_DECODED_FRAMES = 600_000_000  # bytes; more threads hold more frames at once
BYTES_PER_PIXEL = 3  # 8 bits without subsampling, or 10 bits with it


def check_is_a_file(path: Path) -> None:
    """Raise RecordingError unless `path` is a file that can be read and is not empty."""
    try:
        size = path.stat().st_size
    except OSError as problem:
        raise RecordingError(unreadable(path, problem)) from problem
    if path.is_dir():
        raise RecordingError(f"{path.name or path}: is a folder; pass the video files in it")
    if not path.is_file():
        raise RecordingError(f"{path.name}: is a device or pipe; pass a video file")
    if size == 0:
        raise RecordingError(f"{path.name}: is empty (0 bytes); was the copy interrupted?")
    if not os.access(path, os.R_OK):
        raise RecordingError(f"{path.name}: permission denied; change its permissions or owner")


def unreadable(path: Path, problem: OSError) -> str:
    """Say why a file cannot be read, and what to do."""
    reasons = {
        FileNotFoundError: "does not exist; check the name and folder",
        PermissionError: "permission denied; change its permissions or owner",
    }
    reason = reasons.get(type(problem), f"cannot be read ({problem.strerror or problem})")
    return f"{path.name}: {reason}"


def open_video(path: Path) -> InputContainer:
    """Open a container; with `file:`, a colon in a name does not start a protocol."""
    options = {"protocol_whitelist": "file", "format_whitelist": CONTAINERS}
    try:
        container = av.open(f"file:{path}", metadata_errors="replace", container_options=options)
    except av.error.FFmpegError as problem:
        raise RecordingError(
            f"{path.name}: is not a video in a supported format, or is cut off "
            f"({problem.strerror}); does it play in a video player?"
        ) from problem
    except OSError as problem:
        raise RecordingError(unreadable(path, problem)) from problem
    return container


def video_streams(container: InputContainer) -> list[VideoStream]:
    """Return the streams of moving pictures, those a player shows first; cover art is not one."""
    cover, default = av.stream.Disposition.attached_pic, av.stream.Disposition.default
    streams = [s for s in container.streams.video if not s.disposition & cover]
    return sorted(streams, key=lambda stream: not stream.disposition & default)


def video_stream(path: Path, container: InputContainer) -> VideoStream:
    """Return the first video stream that can be decoded, set to decode on all cores."""
    streams = video_streams(container)
    if not streams:
        raise RecordingError(f"{path.name}: no video stream; is this an audio file?")
    # PyAV has no codec context for a codec that FFmpeg does not know.
    stream = next((s for s in streams if s.codec_context is not None), None)
    if stream is None:
        raise RecordingError(
            f"{path.name}: the codec of its video is unknown; convert it first "
            "(ffmpeg -i VIDEO -c:v libx264 out.mp4)"
        )
    _bound_memory(path, stream)
    return stream


def packets(container: InputContainer, stream: VideoStream | AudioStream) -> Iterator[Packet[Any]]:
    """Yield the packets of a stream.

    PyAV raises IndexError at each packet of a stream that appears only later in the file, such as
    a second sound of a television recording. Such packets are skipped.
    """
    while True:
        try:
            yield from container.demux(stream)
        except IndexError:
            continue
        return


def _bound_memory(path: Path, stream: VideoStream) -> None:
    """Refuse pictures that are too large, and decode fewer large ones at the same time."""
    context = stream.codec_context
    pixels = context.width * context.height
    if pixels > LARGEST_PICTURE_PIXELS:
        raise RecordingError(
            f"{path.name}: its pictures of {context.width} x {context.height} pixels are too "
            f"large; at most {LARGEST_PICTURE_PIXELS // 1_000_000} million pixels are read: "
            "scale it down first (ffmpeg -i VIDEO -vf scale=1920:-2 out.mp4)"
        )
    context.options = {"max_pixels": str(LARGEST_PICTURE_PIXELS)}  # the size can change later
    stream.thread_type = "AUTO"
    # Frames depend on each other, so some threads always wait: use more threads than cores.
    frames_that_fit = MEMORY_OF_DECODED_FRAMES // max(1, pixels * BYTES_PER_PIXEL)
    context.thread_count = max(1, min(usable_cores() + 4, frames_that_fit))
