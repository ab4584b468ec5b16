from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import gray, steady, write_video

from stepreel.video.playable import why_not_playable


def write(path: Path, codec: str, *, pixels: str = "yuv420p", sound: str | None = None) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 128, 96, pixels
        if codec == "libx265":
            stream.options = {"x265-params": "log-level=none"}
        if sound:
            audio = container.add_stream(sound, rate=48000, layout="mono")
        for number in range(5):
            frame = av.VideoFrame.from_ndarray(gray(90, width=128, height=96), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame.reformat(format=pixels)))
        container.mux(stream.encode())
        if sound:
            silence = np.zeros((1, 1536), np.float32)
            block = av.AudioFrame.from_ndarray(silence, "fltp", "mono")
            block.sample_rate, block.pts, block.time_base = 48000, 0, Fraction(1, 48000)
            container.mux(audio.encode(block))
            container.mux(audio.encode())
    return path


@pytest.mark.parametrize(
    ("name", "codec", "pixels", "sound"),
    [
        ("a.mp4", "libx264", "yuv420p", None),
        ("a.m4v", "libx264", "yuv420p", "aac"),
        ("A.MP4", "libx264", "yuvj420p", "aac"),
        ("a.webm", "libvpx-vp9", "yuv420p", "libopus"),
    ],
)
def test_what_every_browser_plays_is_linked(tmp_path, name, codec, pixels, sound):
    assert why_not_playable(write(tmp_path / name, codec, pixels=pixels, sound=sound)) is None


@pytest.mark.parametrize(
    ("name", "codec", "pixels", "sound", "problem"),
    [
        ("a.mp4", "libx265", "yuv420p", None, "HEVC"),
        ("a.mov", "libx265", "yuv420p", None, "HEVC"),
        ("a.mov", "prores_ks", "yuv422p10le", None, "ProRes"),
        ("a.mp4", "libx264", "yuv420p10le", None, "H.264 with more than 8 bits"),
        ("a.mp4", "libx264", "yuv444p", None, "H.264 with more than 8 bits or full colour"),
        ("a.mov", "libx264", "yuv420p", None, "QuickTime files"),
        ("a.mkv", "libx264", "yuv420p", None, "Matroska files"),
        ("a.ts", "libx264", "yuv420p", None, "MPEG-TS files"),
        ("a.avi", "libx264", "yuv420p", None, "AVI files"),
        ("a.avi", "mpeg4", "yuv420p", None, "MPEG-4 Part 2"),
        ("a.mpg", "mpeg2video", "yuv420p", None, "MPEG-2"),
        ("a.mp4", "libsvtav1", "yuv420p", None, "AV1"),
        ("a.mp4", "libvpx-vp9", "yuv420p", None, "VP9 in MP4 files"),
        ("a.mp4", "libx264", "yuv420p", "ac3", "its sound (AC-3)"),
    ],
)
def test_what_some_browser_cannot_play_is_named(tmp_path, name, codec, pixels, sound, problem):
    path = write(tmp_path / name, codec, pixels=pixels, sound=sound)
    assert (why_not_playable(path) or "").startswith(problem)


def test_a_name_that_says_another_format_is_not_trusted(tmp_path):
    path = write_video(tmp_path / "a.mp4", steady(5), lambda i: gray(90)).rename(tmp_path / "a.avi")
    assert why_not_playable(path) == "MP4 files of another name (.avi)"
