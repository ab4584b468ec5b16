"""Pictures of steps on the page of a comparison: small enough that all of them fit in one page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np

from stepreel.report.addresses import path_inside
from stepreel.report.html import jpeg_address

Key = TypeVar("Key")

MOST_BYTES = 4_500_000  # of all pictures together, as they are written into the page
MOST_FILE_BYTES = 4_000_000  # of one picture; ours have some 30 000
MOST_PIXELS = 20_000_000
SIZES = ((320, 75), (260, 70), (200, 65), (160, 60), (120, 55), (96, 50), (64, 45))


def embedded_pictures(files: Mapping[Key, tuple[Path, str]]) -> dict[Key, str]:
    """Return the addresses of pictures, shrunk until all of them fit; what is no JPEG is left out.

    files  the folder of each picture's storyboard, and its path there
    """
    jpegs = {key: jpeg for key, (folder, file) in files.items() if (jpeg := _read(folder, file))}
    for longest, quality in SIZES:
        small = {
            key: address
            for key, jpeg in jpegs.items()
            if (address := jpeg_address(shrink(jpeg, longest, quality)))
        }
        if sum(map(len, small.values())) <= MOST_BYTES:
            return small
    return small


def _read(folder: Path, file: str) -> bytes | None:
    """Read a picture. A storyboard may come from someone else: only from its own folder."""
    try:
        path = path_inside(folder, file)
        if path is None or not path.is_file() or path.stat().st_size > MOST_FILE_BYTES:
            return None
        return path.read_bytes()
    except (OSError, ValueError):  # ValueError: no name that a file can have
        return None


def shrink(jpeg: bytes, longest: int, quality: int) -> bytes | None:
    """Return a smaller JPEG; None for anything that is not a JPEG of a usual size."""
    height, width = size_of(jpeg) or (0, 0)
    if not 0 < height * width <= MOST_PIXELS:
        return None
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        return None
    scale = longest / max(height, width)
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    is_encoded, packed = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return packed.tobytes() if is_encoded else None


def size_of(jpeg: bytes) -> tuple[int, int] | None:
    """Return height and width that a JPEG states, before anything is allocated for it."""
    place = 2
    while jpeg[:2] == b"\xff\xd8" and place + 9 <= len(jpeg) and jpeg[place] == 0xFF:
        marker, length = jpeg[place + 1], int.from_bytes(jpeg[place + 2 : place + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = jpeg[place + 5 : place + 9]
            return int.from_bytes(size[:2], "big"), int.from_bytes(size[2:], "big")
        place += 2 + length
    return None
