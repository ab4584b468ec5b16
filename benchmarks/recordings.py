"""Recordings of any length for benchmarks: the sample or another video, as 720p and looped."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from stepreel.evaluation.datasets.sample import make_sample

NOISE = 6.0  # standard deviation of luma, of 255


def enlarged_sample(folder: Path) -> Path:
    """Return the sample recording as 1280 x 720 H.264, created once per folder."""
    path = folder / "sample-720p.mp4"
    if not path.exists():
        source = make_sample(folder / "sample", seed=0).video
        partial = path.with_suffix(".partial.mp4")
        with av.open(str(source)) as reader, av.open(str(partial), "w") as writer:
            stream = writer.add_stream("libx264", rate=30, options={"preset": "veryfast"})
            stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
            for number, frame in enumerate(reader.decode(video=0)):
                large = frame.reformat(1280, 720, "yuv420p")
                large.pts, large.time_base = number, Fraction(1, 30)
                writer.mux(stream.encode(large))
            writer.mux(stream.encode())
        partial.replace(path)
    return path


def camera_like(video: Path | None, folder: Path) -> Path:
    """Return a video as a camera would store it in 1280 x 720, made once per folder.

    That is H.264 at 30 frames a second with the ordinary settings of x264, B-frames included.
    Without a `video`, it is the sample with noise like that of a camera's sensor: drawn surfaces
    have little texture, and decode faster than anything that was filmed.
    """
    path = folder / f"camera-{video.stem if video else 'sample'}.mp4"
    if not path.exists():
        source = video or make_sample(folder / "sample", seed=0).video
        rng = np.random.default_rng(0)
        noise = (0 if video else NOISE) * rng.standard_normal((16, 720, 1280), np.float32)
        partial = path.with_suffix(".partial.mp4")
        with av.open(str(source)) as reader, av.open(str(partial), "w") as writer:
            stream = writer.add_stream("libx264", rate=30, options={"preset": "medium"})
            stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
            for number, frame in enumerate(reader.decode(video=0)):
                planes = frame.reformat(1280, 720, "yuv420p").to_ndarray()
                luma = planes[:720] + noise[number % len(noise)]
                planes[:720] = np.clip(np.rint(luma), 0, 255)
                large = av.VideoFrame.from_ndarray(planes, format="yuv420p")
                large.pts, large.time_base = number, Fraction(1, 30)
                writer.mux(stream.encode(large))
            writer.mux(stream.encode())
        partial.replace(path)
    return path


def looped(source: Path, seconds: float, path: Path) -> Path:
    """Return `source` repeated for `seconds`, copied packet by packet."""
    if path.exists():
        return path
    partial = path.with_suffix(".partial.mp4")
    with av.open(str(partial), "w") as writer:
        out = None
        offset = 0
        while out is None or offset * out.time_base < seconds:
            with av.open(str(source)) as reader:
                stream = reader.streams.video[0]
                if out is None:
                    out = writer.add_stream_from_template(stream)
                    out.time_base = stream.time_base
                length = stream.duration
                for packet in reader.demux(stream):
                    if packet.dts is None:
                        continue
                    if float((offset + packet.pts) * stream.time_base) >= seconds:
                        break
                    packet.pts += offset
                    packet.dts += offset
                    packet.stream = out
                    writer.mux(packet)
                offset += length
    partial.replace(path)
    return path
