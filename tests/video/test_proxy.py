"""The copy in H.264 shows the same picture at the same time as the recording."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import busy_task, frame_number, gray, gray_steps, steady, write_video

from stepreel.errors import OutputError
from stepreel.video.decode import probe
from stepreel.video.moments import walk_moments
from stepreel.video.playable import why_not_playable
from stepreel.video.proxy import Recipe, write_proxy


def copied(path: Path, recipe: Recipe | None = None) -> Path:
    proxy = path.with_name("copy.mp4")
    write_proxy(probe(path), proxy, recipe or Recipe())
    return proxy


def pictures(path: Path, rate: float = 8.0) -> list[np.ndarray]:
    return [moment.rgb for moment in walk_moments(probe(path), rate=rate)]


def difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(int) - b.astype(int)).mean())


RECORDINGS = {
    "avi with B-frames": ("a.avi", "mpeg4", steady(60, 25), {"options": {"bf": "2"}}),
    "hevc": ("a.mov", "libx265", steady(60), {"options": {"x265-params": "log-level=none"}}),
    "variable frame rate": ("a.mkv", "libx264", [0, 0.1, 0.2, 1.0, 1.1, 2.6, 2.7, 2.75], {}),
    "late clock": ("a.mkv", "libx264", [10_000 + i / 30 for i in range(60)], {}),
    "late picture": ("a.mkv", "libx264", [0.5 + i / 30 for i in range(60)], {"audio_start": 0.0}),
    "mpeg2": ("a.mpg", "mpeg2video", steady(60, 25), {"options": {"bf": "2"}}),
    "one frame": ("a.mkv", "libx264", [0.0], {}),
}


@pytest.mark.parametrize("kind", RECORDINGS)
def test_every_moment_of_the_copy_shows_the_same_picture(tmp_path, kind):
    name, codec, times, options = RECORDINGS[kind]
    paint = busy_task()
    if codec in ("mpeg4", "mpeg2video"):
        path = write_with_whole_frames(tmp_path / name, codec, len(times), options["options"])
    else:
        path = write_video(
            tmp_path / name, times, lambda i: np.ascontiguousarray(paint(10 * i)), codec=codec,
            **options,
        )  # fmt: skip
    proxy = copied(path, Recipe(constant_rate=10))
    assert why_not_playable(proxy) is None
    video = probe(proxy)
    assert (video.first_frame_seconds, video.player_offset_seconds) == (0.0, 0.0)
    original, copy = pictures(path), pictures(proxy)
    assert abs(len(original) - len(copy)) <= 1
    for a, b in zip(original, copy, strict=False):
        assert difference(a, b) < 8  # neighbouring frames differ by 40 and more


def write_with_whole_frames(path: Path, codec: str, n_frames: int, options) -> Path:
    paint = busy_task()
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options={**options, "qscale": "2"})
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        stream.bit_rate = 8_000_000
        for number in range(n_frames):
            picture = np.ascontiguousarray(paint(10 * number))
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_rotation_is_applied_and_not_left_to_the_player(tmp_path, rotation):
    def corner_marked(_: int) -> np.ndarray:
        picture = gray(30, width=96, height=48)
        picture[:16, :16] = (250, 60, 60)
        return picture

    path = write_video(tmp_path / "r.mp4", steady(10), corner_marked, rotation=rotation)
    proxy = copied(path)
    with av.open(str(proxy)) as container:
        frame = next(container.decode(video=0))
        assert frame.rotation == 0
        assert (frame.width, frame.height) == ((96, 48) if rotation == 180 else (48, 96))
    assert difference(pictures(path)[0], pictures(proxy)[0]) < 6


def test_odd_and_large_sizes_become_even_and_small(tmp_path):
    odd = write_video(
        tmp_path / "odd.avi", steady(5), lambda i: gray(90, width=321, height=181), codec="ffv1"
    )
    large = write_video(
        tmp_path / "large.mkv", steady(5), lambda i: gray(90, width=2560, height=1440)
    )
    sizes = []
    for path in (odd, large):
        video = probe(copied(path))
        sizes.append((video.width, video.height))
    assert sizes == [(320, 180), (1280, 720)]


def sound_of(path: Path) -> list[tuple[str, float, float]]:
    with av.open(str(path)) as container:
        return [
            (
                s.codec_context.name,
                float(s.start_time * s.time_base),
                float(s.duration * s.time_base),
            )
            for s in container.streams.audio
        ]


def test_the_sound_is_kept_in_step_with_the_pictures(tmp_path):
    """A click sounds at 1.0 s of the picture, which starts half a second after the sound."""
    path = tmp_path / "click.mkv"
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=30)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=16000, layout="mono")
        for number in range(75):
            frame = av.VideoFrame.from_ndarray(gray(90), format="rgb24")
            frame.pts, frame.time_base = number + 15, Fraction(1, 30)
            container.mux(video.encode(frame))
        container.mux(video.encode())
        wave = np.zeros(48000, np.int16)
        wave[24000:24200] = 20000  # at 1.5 s of the sound
        for first in range(0, 48000, 800):
            block = av.AudioFrame.from_ndarray(wave[None, first : first + 800], "s16", "mono")
            block.sample_rate, block.pts, block.time_base = 16000, first, Fraction(1, 16000)
            container.mux(sound.encode(block))
        container.mux(sound.encode())
    proxy = copied(path)
    assert [name for name, *_ in sound_of(proxy)] == ["aac"]
    assert probe(proxy).player_offset_seconds == pytest.approx(0.0, abs=0.001)
    with av.open(str(proxy)) as container:
        loudest, at = 0.0, 0.0
        for frame in container.decode(audio=0):
            peaks = np.abs(frame.to_ndarray()).max(axis=0)
            if peaks.max() > loudest:
                loudest = float(peaks.max())
                at = float(frame.pts * frame.time_base) + peaks.argmax() / frame.sample_rate
    assert at == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("fault", ["no sound", "unknown codec", "damaged"])
def test_sound_that_cannot_be_decoded_costs_the_sound_alone(tmp_path, fault):
    start = None if fault == "no sound" else 0.0
    path = write_video(tmp_path / "a.mkv", steady(30), gray_steps, audio_start=start)
    content = path.read_bytes()
    if fault == "unknown codec":
        path.write_bytes(content.replace(b"A_AAC", b"A_XXX"))
    if fault == "damaged":
        with av.open(str(path)) as container:
            places = [(p.pos, p.size) for p in container.demux(audio=0) if p.size]
        damaged = bytearray(content)
        for position, size in places:
            damaged[position + 8 : position + size] = b"\xff" * (size - 8)
        path.write_bytes(damaged)
    proxy = copied(path)
    assert [frame_number(p) for p in pictures(proxy, rate=4)][:4] == [0, 7, 15, 22]


def test_a_copy_is_made_once_and_again_for_another_recording_or_recipe(tmp_path):
    path = write_video(tmp_path / "a.mkv", steady(10), gray_steps)
    proxy = copied(path)
    proxy.touch()
    first = proxy.stat()
    copied(path)
    assert proxy.stat().st_ino == first.st_ino
    copied(path, Recipe(longest=32))
    assert probe(proxy).width == 32
    write_video(path, steady(10), lambda i: gray(200))
    copied(path, Recipe(longest=32))
    assert pictures(proxy)[0].mean() > 150


def test_frames_nearer_than_the_highest_rate_are_left_out(tmp_path):
    path = write_video(tmp_path / "fast.mkv", steady(240, fps=240), lambda i: gray(i % 200))
    with av.open(str(copied(path, Recipe(most_fps=30)))) as container:
        assert 25 <= sum(1 for _ in container.decode(video=0)) <= 35


def test_an_interrupted_copy_leaves_nothing(tmp_path):
    path = write_video(tmp_path / "a.mkv", steady(60), lambda i: gray(20 + i))

    def interrupt(label: str, done: float, total: float) -> None:
        assert (label, total) == ("copying video", pytest.approx(2.0, abs=0.1))
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_proxy(probe(path), tmp_path / "out" / "copy.mp4", Recipe(), progress=interrupt)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_full_disk_is_explained_and_leaves_nothing(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (8, 480, 640, 3), dtype=np.uint8)
    path = write_video(tmp_path / "a.mkv", steady(60), lambda i: noise[i % 8])
    program = (
        "import resource, signal, sys; from pathlib import Path;"
        "from stepreel.errors import OutputError;"
        "from stepreel.video.decode import probe;"
        "from stepreel.video.proxy import Recipe, write_proxy;"
        "video = probe(Path(sys.argv[1])); signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));\n"
        "try:\n    write_proxy(video, Path(sys.argv[2]) / 'copy.mp4', Recipe())\n"
        "except OutputError as problem:\n    print('explained:', problem)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "explained:" in done.stdout, done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_in_the_way_is_explained(tmp_path):
    path = write_video(tmp_path / "a.mkv", steady(5), gray_steps)
    (tmp_path / "copy.mp4" / "x").mkdir(parents=True)
    with pytest.raises(OutputError, match="in the way"):
        copied(path)
