"""Notes appear where the result suffers, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import busy_task, gray, gray_steps, steady, write_video

from stepreel.video.decode import Decoding, probe
from stepreel.video.moments import walk_moments
from stepreel.video.notes import reading_notes


def notes_of(path: Path) -> list[str]:
    video, decoding = probe(path), Decoding()
    for _ in walk_moments(video, rate=4, decoding=decoding):
        pass
    return reading_notes(video, decoding)


def noise_then_slide(number: int) -> np.ndarray:
    """Paint what no B-frame can predict, then what B-frames are good for."""
    if number < 70:
        return np.random.default_rng(number).integers(0, 255, (96, 128, 3), dtype=np.uint8)
    picture = np.zeros((96, 128, 3), np.uint8)
    picture[:] = (np.arange(128) * 1.5 + number).astype(np.uint8)[None, :, None]
    picture[20:60, number * 2 % 90 : number * 2 % 90 + 30] = 250
    return picture


AVI_FILES = {
    "mpeg4": ("mpeg4", {}),
    "mpeg4 with B-frames": ("mpeg4", {"bf": "2"}),
    "mpeg4 with some B-frames": ("mpeg4", {"bf": "2", "b_strategy": "1"}),
    "mjpeg": ("mjpeg", {}),
    "msmpeg4": ("msmpeg4", {}),
    "mpeg2 with B-frames": ("mpeg2video", {"bf": "2"}),
    "h264": ("libx264", {"preset": "slow", "b-adapt": "2"}),
    "h264, fast": ("libx264", {"preset": "veryfast"}),
    "ffv1": ("ffv1", {}),
}


@pytest.mark.parametrize("paint", [busy_task(), noise_then_slide], ids=["busy", "late B-frames"])
@pytest.mark.parametrize("kind", AVI_FILES)
def test_an_ordinary_avi_has_no_notes(tmp_path, kind, paint):
    codec, options = AVI_FILES[kind]
    assert notes_of(write_avi(tmp_path / "a.avi", codec, options, paint)) == []


def write_avi(path: Path, codec: str, options: dict[str, str], paint, n_frames: int = 200) -> Path:
    """Write an AVI file with a clock of whole frames, as cameras do."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height = 128, 96
        stream.codec_context.gop_size = 12
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for number in range(n_frames):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(paint(number)), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.mov", "a.ts", "a.nut", "a.flv"])
def test_a_clock_that_starts_at_10000_s_has_no_notes(tmp_path, name):
    path = write_video(tmp_path / name, [10_000 + i / 30 for i in range(90)], busy_task())
    video = probe(path)
    assert video.first_frame_seconds == pytest.approx(10_000, abs=0.1)
    assert video.declared_seconds == pytest.approx(3.0, abs=0.1)
    assert notes_of(path) == []


def test_a_recording_that_starts_between_key_frames_is_not_called_damaged(tmp_path):
    path = write_video(tmp_path / "a.ts", steady(150), busy_task(), gop=30)
    content = path.read_bytes()
    path.write_bytes(content[len(content) // 3 // 188 * 188 :])
    assert notes_of(path) == []


def test_a_file_that_is_cut_off_says_how_much_is_missing(tmp_path):
    times = [10_000 + i / 30 for i in range(240)]
    path = write_video(tmp_path / "cut.mkv", times, busy_task())
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    (note,) = notes_of(path)
    assert "of 8.0 s could be read: the file is cut off" in note
    assert "Later steps are missing" in note


def test_a_clock_that_jumps_back_says_how_much_was_left_out(tmp_path):
    first = write_video(tmp_path / "a.ts", steady(90), lambda i: gray(40))
    second = write_video(tmp_path / "b.ts", steady(60), lambda i: gray(200))
    both = tmp_path / "both.ts"
    both.write_bytes(first.read_bytes() + second.read_bytes())
    notes = notes_of(both)
    assert any("clock of the video jumps back. About" in note for note in notes)


def test_a_clock_that_jumps_ahead_by_more_than_an_hour_is_said(tmp_path):
    path = write_video(tmp_path / "a.mkv", [0.0, 0.1, 0.2, 7200.0, 7200.1], gray_steps)
    (note,) = notes_of(path)
    assert "jumps ahead by 2.0 hours" in note


def test_a_gap_says_which_time_belongs_to_no_step(tmp_path):
    path = write_video(tmp_path / "a.mkv", [0.0, 0.1, 300.0, 300.1, 500.0], gray_steps)
    (note,) = notes_of(path)
    assert "60 s to 300 s, 360 s to 500 s." in note


def test_several_videos_in_one_file_are_mentioned(tmp_path):
    video = probe(write_video(tmp_path / "a.mp4", steady(10), gray_steps))
    assert reading_notes(video, Decoding(end_seconds=video.declared_seconds)) == []
    (note,) = reading_notes(replace(video, n_streams=2), Decoding(end_seconds=10))
    assert "contains 2 videos" in note
