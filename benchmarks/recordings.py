"""Recordings of any length for benchmarks: the sample, scaled to 720p and looped."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av

from stepreel.evaluation.datasets.sample import make_sample


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
