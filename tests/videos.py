"""Tiny real videos for tests, with times, rotation and faults under control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

Paint = Callable[[int], np.ndarray]


def write_video(
    path: Path,
    times: Sequence[float],
    paint: Paint,
    *,
    codec: str = "libx264",
    rotation: int = 0,
    gop: int = 12,
    options: dict[str, str] | None = None,
    audio_start: float | None = None,
    audio_end: float | None = None,
    last_seconds: float | None = None,
) -> Path:
    """Write frame i = paint(i), RGB, shown at times[i] seconds (to the millisecond)."""
    height, width, _ = paint(0).shape
    lossless = {"crf": "1", "preset": "ultrafast"} if codec == "libx264" else {}
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30, options={**lossless, **(options or {})})
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.time_base = Fraction(1, 1000)
        stream.codec_context.time_base = Fraction(1, 1000)
        stream.codec_context.gop_size = gop
        if rotation:
            stream.set_display_rotation(rotation)
        sound = container.add_stream("aac", rate=8000) if audio_start is not None else None
        for number, seconds in enumerate(times):
            frame = av.VideoFrame.from_ndarray(paint(number), format="rgb24")
            frame.pts = round(seconds * 1000)
            frame.time_base = Fraction(1, 1000)
            container.mux(stream.encode(frame))
        packets = stream.encode()
        if last_seconds is not None:
            packets[-1].duration = round(last_seconds / packets[-1].time_base)
        container.mux(packets)
        if sound is not None:
            _write_silence(container, sound, audio_start or 0.0, audio_end or times[-1])
    return path


def write_audio(path: Path, seconds: float = 1.0) -> Path:
    """Write a file that holds sound alone."""
    with av.open(str(path), "w") as container:
        codec = "pcm_s16le" if path.suffix == ".wav" else "aac"
        sound = container.add_stream(codec, rate=8000)
        _write_silence(container, sound, 0.0, seconds)
    return path


def _write_silence(container, sound, start: float, end: float) -> None:
    for first in range(round(start * 8000), round(end * 8000), 1024):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.sample_rate = 8000
        frame.pts = first
        frame.time_base = Fraction(1, 8000)
        container.mux(sound.encode(frame))
    container.mux(sound.encode())


def gray(level: int, *, width: int = 64, height: int = 48) -> np.ndarray:
    """Return a picture of one gray level."""
    return np.full((height, width, 3), level, np.uint8)


def gray_steps(number: int) -> np.ndarray:
    """Paint frame i in gray level 10 + 5 i, so that a picture tells which frame it is."""
    return gray(10 + 5 * number)


def frame_number(picture: np.ndarray) -> int:
    """Tell which frame of `gray_steps` a picture shows."""
    return round((float(picture.mean()) - 10) / 5)


def busy_task(seed: int = 0, *, width: int = 128, height: int = 96) -> Paint:
    """Paint a moving textured scene whose look changes every 90 frames: three easy 'steps'."""
    rng = np.random.default_rng(seed)
    textures = rng.integers(0, 255, (3, height + 64, width + 64, 3), dtype=np.uint8)
    textures[0, :, :, 0] //= 4
    textures[1] = np.repeat(np.repeat(textures[1][::8, ::8], 8, 0), 8, 1)[
        : height + 64, : width + 64
    ]
    textures[2, :, ::16] = 0

    def paint(number: int) -> np.ndarray:
        shift = int(16 + 15 * np.sin(number / (5 + 6 * (number // 90 % 3))))
        return textures[number // 90 % 3, shift : shift + height, shift : shift + width]

    return paint


def steady(n_frames: int, fps: float = 30.0) -> list[float]:
    """Return the times of a constant frame rate."""
    return [number / fps for number in range(n_frames)]


def ordered_task(order: str, *, seed: int = 0, frames_each: int = 40) -> tuple[Paint, int]:
    """Paint "ABCA" as steps that look alike where the letter is the same, in every take.

    Return also how many frames there are. `seed` is the take: colours and noise differ a little.
    """
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 16, (96, 128, 3), dtype=np.uint8)
    tint = rng.uniform(0.9, 1.0, 3)
    y, x = np.mgrid[:96, :128]

    def look(letter: str, shift: int) -> np.ndarray:
        shapes = {
            "A": ((x + shift) // 8 % 2, (230, 40, 30)),  # red stripes that go sideways
            "B": ((y // 24 + x // 32) % 2, (240, 240, 235)),  # a white board that rests
            "C": (
                (x - 64) ** 2 + (y - 48) ** 2 < (18 + shift % 9) ** 2,
                (30, 90, 230),
            ),  # blue disc
            "D": ((x * 7 + y * 13 + 5 * shift) % 11 < 3, (60, 200, 60)),  # green rain
        }
        mask, colour = shapes[letter]
        return np.asarray(mask[..., None] * np.array(colour) * tint * 0.9, np.uint8)

    def paint(number: int) -> np.ndarray:
        step = min(number // frames_each, len(order) - 1)
        return look(order[step], number) + np.roll(noise, number, axis=0)

    return paint, frames_each * len(order)
