"""Decide whether current browsers can play a video file as it is.

Decided with care: only what Chrome, Edge, Firefox and Safari all play counts as playable.
"""

from __future__ import annotations

from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from stepreel.video.containers import check_is_a_file, open_video, video_stream
from stepreel.video.hdr import HDR_TRANSFERS

# Container → codecs that every browser plays in it. MP4 includes M4V.
PLAYABLE_CODECS = {"MP4": ("h264",), "WebM": ("vp8", "vp9")}
PLAYABLE_SOUND = {
    "MP4": ("aac", "mp3", "mp3float"),
    "WebM": ("opus", "libopus", "vorbis", "libvorbis"),
}
PLAYABLE_PIXELS = ("yuv420p", "yuvj420p", "yuva420p")
SUFFIXES = {".mp4": "MP4", ".m4v": "MP4", ".webm": "WebM"}
NAMES = {
    "h264": "H.264",
    "hevc": "HEVC",
    "av1": "AV1",
    "libdav1d": "AV1",
    "prores": "ProRes",
    "mpeg2video": "MPEG-2",
    "mpeg4": "MPEG-4 Part 2",
    "mjpeg": "Motion JPEG",
    "vp9": "VP9",
    "ac3": "AC-3",
    "mp2": "MP2",
}
CONTAINER_NAMES = {
    "avi": "AVI",
    "matroska,webm": "Matroska",
    "mov,mp4,m4a,3gp,3g2,mj2": "QuickTime",
    "mpegts": "MPEG-TS",
    "mpeg": "MPEG",
    "asf": "Windows Media",
    "flv": "Flash video",
    "gif": "GIF",
    "apng": "animated PNG",
}


def why_not_playable(path: Path) -> str | None:
    """Return what browsers cannot play in a file, such as "HEVC"; None if they can play it."""
    check_is_a_file(path)
    with open_video(path) as container:
        stream = video_stream(path, container)
        return _video_problem(path, container, stream) or _sound_problem(path, container)


def _video_problem(path: Path, container: InputContainer, stream: VideoStream) -> str | None:
    context = stream.codec_context
    codec = NAMES.get(context.name, context.name)
    kind = _kind(path, container)
    # The codec is what people know: "HEVC", not "QuickTime", names the trouble of a phone's video.
    if not any(context.name in codecs for codecs in PLAYABLE_CODECS.values()):
        return codec
    if context.color_trc in HDR_TRANSFERS:
        return f"HDR {codec}"
    if context.pix_fmt not in PLAYABLE_PIXELS:
        return f"{codec} with more than 8 bits or full colour ({context.pix_fmt})"
    if kind is None:
        return f"{CONTAINER_NAMES.get(container.format.name, container.format.name)} files"
    if SUFFIXES.get(path.suffix.lower()) != kind:
        return f"{kind} files of another name ({path.suffix or 'no suffix'})"
    if context.name not in PLAYABLE_CODECS[kind]:
        return f"{codec} in {kind} files"
    if stream.index != container.streams.video[0].index:
        return "the second video of a file"
    return None


def _kind(path: Path, container: InputContainer) -> str | None:
    """Return "MP4" or "WebM", as the content says; None for other containers."""
    if container.format.name == "matroska,webm":
        with path.open("rb") as file:
            return "WebM" if b"webm" in file.read(64) else None
    if container.format.name.startswith("mov,mp4"):
        brand = container.metadata.get("major_brand", "qt").strip()
        return None if brand == "qt" else "MP4"
    return None


def _sound_problem(path: Path, container: InputContainer) -> str | None:
    kind = _kind(path, container)
    assert kind is not None
    for stream in container.streams.audio:
        codec = "unknown" if stream.codec_context is None else stream.codec_context.name
        if codec not in PLAYABLE_SOUND[kind]:
            return f"its sound ({NAMES.get(codec, codec)})"
    return None
