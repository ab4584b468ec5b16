"""Files that are not quite what a camera writes: read correctly, or refused with a clear reason."""

from __future__ import annotations

import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import frame_number, gray, gray_steps, steady, write_video

from stepreel.errors import RecordingError
from stepreel.video.decode import Decoding, probe
from stepreel.video.moments import walk_moments

IDENTITY_MATRIX = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)


def shown_frames(path: Path, rate: float = 4.0) -> list[int]:
    return [frame_number(moment.rgb) for moment in walk_moments(probe(path), rate=rate)]


@pytest.mark.parametrize(
    ("name", "known", "unknown"),
    [
        ("a.mp4", b"avc1", b"zzz1"),
        ("a.mkv", b"V_MPEG4/ISO/AVC", b"V_MPEG4/ISO/XXX"),
        ("a.avi", b"H264", b"ZZZZ"),
    ],
)
def test_a_video_of_an_unknown_codec_is_refused_by_name(tmp_path, name, known, unknown):
    path = write_video(tmp_path / name, steady(10), gray_steps)
    path.write_bytes(path.read_bytes().replace(known, unknown))
    with pytest.raises(RecordingError, match=f"{name}: the codec of its video is unknown"):
        probe(path)


def write_two_streams(path: Path, levels: tuple[int, int], *, n_frames: int = 20) -> Path:
    """Write two videos into one file, each of one gray level."""
    with av.open(str(path), "w") as container:
        streams = []
        for _ in levels:
            stream = container.add_stream("libx264", rate=10)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            streams.append(stream)
        for number in range(n_frames):
            for stream, level in zip(streams, levels, strict=True):
                frame = av.VideoFrame.from_ndarray(gray(level), format="rgb24")
                frame.pts, frame.time_base = number, Fraction(1, 10)
                container.mux(stream.encode(frame))
        for stream in streams:
            container.mux(stream.encode())
    return path


def test_the_first_of_several_videos_is_used(tmp_path):
    path = write_two_streams(tmp_path / "two.mp4", (60, 200))
    video = probe(path)
    assert video.n_streams == 2
    assert next(walk_moments(video, rate=4)).rgb.mean() == pytest.approx(60, abs=3)


def test_a_video_of_an_unknown_codec_does_not_hide_another_one(tmp_path):
    path = write_two_streams(tmp_path / "two.mp4", (60, 200))
    content = path.read_bytes()
    first = content.index(b"avc1", content.index(b"stsd"))
    path.write_bytes(content[:first] + b"zzz1" + content[first + 4 :])
    moment = next(walk_moments(probe(path), rate=4))
    assert moment.rgb.mean() == pytest.approx(200, abs=3)


def test_a_display_matrix_of_zeros_means_no_rotation(tmp_path):
    path = write_video(tmp_path / "zero.mp4", steady(10), gray_steps)
    content = path.read_bytes()
    at = content.index(IDENTITY_MATRIX, content.index(b"tkhd"))
    path.write_bytes(content[:at] + bytes(36) + content[at + 36 :])
    video = probe(path)
    assert (video.width, video.height) == (64, 48)
    assert next(walk_moments(video, rate=4)).rgb.shape == (360, 480, 3)


@pytest.mark.parametrize(
    ("name", "codec"), [("a.gif", "gif"), ("a.apng", "apng"), ("a.png", "apng")]
)
def test_an_animated_picture_is_read_like_a_video(tmp_path, name, codec):
    path, format_name = tmp_path / name, {"gif": "gif", "apng": "apng"}[codec]
    with av.open(str(path), "w", format=format_name) as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height = 64, 48
        stream.pix_fmt = "gray"
        for number in range(20):
            frame = av.VideoFrame.from_ndarray(gray_steps(number), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame.reformat(format="gray")))
        container.mux(stream.encode())
    assert shown_frames(path)[:7] == [0, 2, 5, 7, 10, 12, 15]


def test_a_still_picture_is_refused(tmp_path):
    path = tmp_path / "photo.png"
    with av.open(str(path), "w", format="image2") as container:
        stream = container.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "rgb24"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(gray(9), format="rgb24")))
        container.mux(stream.encode())
    with pytest.raises(RecordingError, match="not a video"):
        probe(path)


def test_cover_art_is_not_the_video(tmp_path):
    path = tmp_path / "cover.mp4"
    with av.open(str(path), "w") as container:
        cover = container.add_stream("mjpeg", rate=10)
        cover.width, cover.height, cover.pix_fmt = 160, 120, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        video = container.add_stream("libx264", rate=10)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        picture = av.VideoFrame.from_ndarray(gray(250, width=160, height=120), format="rgb24")
        container.mux(cover.encode(picture))
        container.mux(cover.encode())
        for number in range(20):
            frame = av.VideoFrame.from_ndarray(gray_steps(number), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(video.encode(frame))
        container.mux(video.encode())
    recording = probe(path)
    assert (recording.width, recording.n_streams) == (64, 1)
    assert shown_frames(path)[:3] == [0, 2, 5]


def write_flat(path: Path, side: int, codec: str, n_frames: int) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=2)
        stream.width = stream.height = side
        stream.pix_fmt = "yuv420p" if codec == "libx264" else "gray"
        stream.options = {"preset": "ultrafast"} if codec == "libx264" else {}
        rows = side * 3 // 2 if codec == "libx264" else side
        plane = np.full((rows, side), 128, np.uint8)
        for number in range(n_frames):
            frame = av.VideoFrame.from_ndarray(plane, format=stream.pix_fmt)
            frame.pts, frame.time_base = number, Fraction(1, 2)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory use from /proc")
def test_pictures_of_8000_by_8000_pixels_are_read_in_bounded_memory(tmp_path):
    path = write_flat(tmp_path / "large.mkv", 8000, "libx264", n_frames=6)
    program = (
        "import sys; from pathlib import Path;"
        "from stepreel.video.decode import probe; from stepreel.video.moments import walk_moments;"
        "n = sum(1 for _ in walk_moments(probe(Path(sys.argv[1])), rate=2));"
        "print(n, Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    n_moments, kilobytes = map(int, done.stdout.split())
    assert n_moments == 6
    assert kilobytes < 1_200_000


def test_larger_pictures_are_refused_before_one_is_decoded(tmp_path):
    path = write_flat(tmp_path / "huge.mkv", 12_000, "ffv1", n_frames=1)
    with pytest.raises(RecordingError, match="12000 x 12000 pixels are too large"):
        probe(path)


def test_a_long_gap_is_not_filled_with_moments(tmp_path):
    path = write_video(tmp_path / "gap.mkv", [0.0, 0.1, 0.2, 1140.0, 1140.1], gray_steps)
    decoding = Decoding()
    moments = list(walk_moments(probe(path), rate=4, decoding=decoding))
    assert len(moments) == 242  # a minute of the frame before the gap, and one after it
    assert [m.index for m in moments] == list(range(242))
    assert [moments[240].time, moments[241].time] == [60.0, 1140.0]
    assert frame_number(moments[241].rgb) == 3
    assert decoding.gaps == [(241, 4319, 60.25, 1140.0)]


@pytest.mark.parametrize("first_index", [1, 240, 241, 242, 245])
def test_starting_after_a_gap_gives_the_same_moments(tmp_path, first_index):
    times = [0.0, 0.1, 0.2, 500.0, 500.1, 501.0, 600.0, 600.5]
    video = probe(write_video(tmp_path / "gap.mkv", times, gray_steps, gop=1))
    decoding = Decoding()
    everything = list(walk_moments(video, rate=4, decoding=decoding))
    again = Decoding(gaps=list(decoding.gaps))
    rest = list(walk_moments(video, rate=4, first_index=first_index, decoding=again))
    assert [m.time for m in rest] == [m.time for m in everything[first_index:]]
    assert [m.index for m in rest] == [m.index for m in everything[first_index:]]
    assert again.gaps == decoding.gaps


def test_a_stream_that_appears_later_does_not_end_the_video(tmp_path):
    """FFmpeg looks for streams at both ends of a file; television has some only in between."""
    noise = np.random.default_rng(0).integers(0, 255, (8, 240, 320, 3), dtype=np.uint8)
    parts = []
    for number, audio_start in enumerate([None, 2.0, None]):
        times = [2.0 * number + time for time in steady(60)]
        part = write_video(
            tmp_path / f"{number}.ts",
            times,
            lambda i: noise[i % 8],
            gop=1,
            audio_start=audio_start,
        )
        parts.append(part.read_bytes())
    whole = tmp_path / "whole.ts"
    whole.write_bytes(b"".join(parts))
    with av.open(str(whole)) as container:
        assert len(container.streams) == 1
    assert len(list(walk_moments(probe(whole), rate=4))) == 24
