"""Pictures that are none are reported, whoever asks for them."""

from __future__ import annotations

import numpy as np
import pytest

from stepreel.errors import StoreError
from stepreel.system.checked_arrays import CheckedArrays, write_arrays
from stepreel.video.previews import Previews, encode_jpeg

PICTURE = encode_jpeg(np.full((40, 60, 3), 90, np.uint8), 75)


def previews_of(folder, pictures):
    sizes = np.array([len(picture) for picture in pictures])
    packed = np.frombuffer(b"".join(pictures), np.uint8)
    write_arrays(folder / "pictures", {"jpeg": packed, "sizes": sizes}, {})
    return Previews(CheckedArrays.open(folder / "pictures"), np.cumsum(sizes))


@pytest.mark.parametrize("junk", [bytes(300), PICTURE[:2] + bytes(300), b""])
def test_a_picture_that_is_no_jpeg_is_reported(tmp_path, junk):
    previews = previews_of(tmp_path, [PICTURE, junk])
    assert previews.jpeg(0) == PICTURE
    assert previews.small_jpeg(0)
    for call in (
        lambda: previews.small_jpeg(1),
        lambda: previews.thumbnails(np.array([0.0, 1.0])),
    ):
        with pytest.raises(StoreError, match=r"picture 1 is not a JPEG\). Remove it, and run"):
            call()


def test_what_does_not_start_like_a_jpeg_is_not_written_as_one(tmp_path):
    with pytest.raises(StoreError, match="picture 0 is not a JPEG"):
        previews_of(tmp_path, [bytes(300)]).jpeg(0)
