"""The least that any tool has to do with a recording: `python benchmarks/plain_loop.py VIDEO`.

Decodes every frame, and resizes four a second to RGB pictures whose longer side has 480 pixels.
Decoding uses all cores (`thread_type = "AUTO"`), which PyAV does not do unless it is asked.
"""

from __future__ import annotations

import argparse

import av

RATE = 4.0
LONGER_SIDE = 480


def plain_loop(video: str) -> int:
    """Return the number of pictures made."""
    n_pictures = 0
    with av.open(video) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        scale = LONGER_SIDE / max(stream.width, stream.height)
        width, height = round(stream.width * scale), round(stream.height * scale)
        first = None
        for frame in container.decode(stream):
            first = frame.time if first is None else first
            if (frame.time - first) * RATE >= n_pictures:
                frame.reformat(width, height, "rgb24").to_ndarray()
                n_pictures += 1
    return n_pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("video")
    print(plain_loop(parser.parse_args().video), "pictures")


if __name__ == "__main__":
    main()
