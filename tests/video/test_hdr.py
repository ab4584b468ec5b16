"""HDR video becomes an ordinary picture; the values are those of ITU-R BT.2100 and BT.2408."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import steady, write_video

from stepreel.features.extraction import extract_tracks
from stepreel.system.store import Store
from stepreel.video.decode import Shrinker, probe
from stepreel.video.hdr import (
    HLG,
    PQ,
    compress_highlights,
    hlg_scene_to_nits,
    hlg_to_scene,
    nits_to_pq,
    pq_to_nits,
)
from stepreel.video.moments import walk_moments

BT709 = 1


def test_pq_codes_have_the_brightness_of_the_standard():
    # BT.2408, table 1: 100 nits at 51 %, 203 nits at 58 %, 1000 nits at 75 %.
    assert nits_to_pq(np.array([100.0, 203.0, 1000.0])) == pytest.approx(
        [0.508, 0.581, 0.752], abs=0.0005
    )
    # 10-bit narrow-range codes of the same table.
    codes = np.rint(876 * nits_to_pq(np.array([0.0, 100.0, 203.0, 1000.0, 10_000.0])) + 64)
    assert codes.tolist() == [64, 509, 573, 723, 940]
    light = np.array([0.01, 1.0, 48.0, 203.0, 4000.0])
    assert pq_to_nits(nits_to_pq(light)) == pytest.approx(light, rel=1e-6)


def test_hlg_codes_have_the_brightness_of_the_standard():
    # BT.2100, table 5: the two parts meet at 1/12; 75 % is reference white on a 1000-nit display.
    assert hlg_to_scene(np.array([0.0, 0.5, 1.0])) == pytest.approx([0, 1 / 12, 1], abs=1e-6)
    gray = hlg_to_scene(np.array([[0.75] * 3, [1.0] * 3], np.float32))
    assert hlg_scene_to_nits(gray)[:, 1] == pytest.approx([203, 1000], rel=0.002)


def test_highlights_are_compressed_and_the_rest_is_kept():
    light = np.array([0.1, 1.0, 50.0, 80.0, 203.0, 500.0, 1000.0, 4000.0])
    mapped = compress_highlights(light)
    assert mapped[:4] == pytest.approx(light[:4], rel=1e-6)
    assert np.all(np.diff(mapped[:7]) > 0)
    assert mapped[-2:] == pytest.approx([203, 203], rel=1e-3)
    assert 140 < mapped[4] < 203


def yuv_codes(rgb: tuple[float, float, float]) -> tuple[int, int, int]:
    """Return the 10-bit narrow-range codes of an R'G'B' signal, with the matrix of BT.2020."""
    red, green, blue = rgb
    luma = 0.2627 * red + 0.6780 * green + 0.0593 * blue
    chroma = (blue - luma) / 1.8814, (red - luma) / 1.4746
    return round(876 * luma + 64), *(round(896 * part + 512) for part in chroma)  # type: ignore[return-value]


def write_flat(
    path: Path, rgb: tuple[float, float, float], transfer: int, codec: str = "libx265"
) -> Path:
    """Write 2 s of 10-bit video of one colour, a signal of 0..1 per channel, with its tags."""
    lossless = {
        "libx265": {"x265-params": "lossless=1:log-level=none", "preset": "ultrafast"},
        "libsvtav1": {"crf": "4", "preset": "10"},
    }
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10, options=lossless[codec])
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p10le"
        context = stream.codec_context
        context.color_trc, context.color_range = transfer, 1
        context.color_primaries = context.colorspace = BT709 if transfer == BT709 else 9
        for number in range(20):
            frame = av.VideoFrame(128, 96, "yuv420p10le")
            for plane, code in zip(frame.planes, yuv_codes(rgb), strict=True):
                plane.update(np.full(plane.buffer_size // 2, code, np.uint16).tobytes())
            frame.pts, frame.time_base = number, Fraction(1, 10)
            frame.color_range, frame.colorspace = 1, context.colorspace
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def shown_colour(path: Path) -> tuple[list[float], float]:
    """Return the colour of the first picture, and its gray level for optical flow."""
    moment = next(walk_moments(probe(path), rate=4))
    return moment.rgb.mean(axis=(0, 1)).tolist(), float(moment.gray.mean())


# What is shown, 0..255: the light compressed from 1000 to 203 nits, divided by 203, as sRGB.
PQ_GRAYS = {0.1: 2, 10.0: 63, 50.0: 136, 100.0: 186, 203.0: 229, 1000.0: 255}


@pytest.mark.parametrize("nits", PQ_GRAYS)
@pytest.mark.parametrize("codec", ["libx265", "libsvtav1"])
def test_a_pq_file_is_shown_as_bright_as_it_was_meant(tmp_path, nits, codec):
    signal = float(nits_to_pq(np.array(nits)))
    path = write_flat(tmp_path / "pq.mp4", (signal,) * 3, PQ, codec)
    assert probe(path).is_hdr
    colour, gray = shown_colour(path)
    assert colour == pytest.approx([PQ_GRAYS[nits]] * 3, abs=2.5)
    assert gray == pytest.approx(PQ_GRAYS[nits], abs=2.5)


@pytest.mark.parametrize(("signal", "level"), [(0.0, 0), (0.5, 137), (0.75, 229), (1.0, 255)])
def test_an_hlg_file_is_shown_as_bright_as_it_was_meant(tmp_path, signal, level):
    path = write_flat(tmp_path / "hlg.mp4", (signal,) * 3, HLG)
    assert shown_colour(path)[0] == pytest.approx([level] * 3, abs=2.5)


def test_the_colours_of_bt2020_become_those_of_bt709(tmp_path):
    """The red of BT.709, written with the primaries of BT.2020, comes back as that red."""
    bt709_to_bt2020_red = np.array([0.6274, 0.0691, 0.0164])  # BT.2087, first column
    signal = nits_to_pq(100.0 * bt709_to_bt2020_red)
    red, green, blue = shown_colour(write_flat(tmp_path / "red.mp4", tuple(signal), PQ))[0]
    assert red == pytest.approx(186, abs=4)  # as bright as 100 nits of gray
    assert max(green, blue) < 25


def test_ten_bit_video_that_is_not_hdr_is_not_mapped(tmp_path):
    path = write_flat(tmp_path / "sdr.mp4", (0.5, 0.5, 0.5), BT709)
    assert not probe(path).is_hdr
    assert shown_colour(path)[0] == pytest.approx([127.5] * 3, abs=3)


def test_an_ordinary_frame_is_shrunk_by_ffmpeg_alone(tmp_path):
    path = write_video(
        tmp_path / "a.mp4",
        steady(2),
        lambda i: np.random.default_rng(i).integers(0, 255, (48, 64, 3), dtype=np.uint8),
    )
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        for pixel_format in ("rgb24", "gray"):
            plain = frame.reformat(32, 24, pixel_format, interpolation="AREA").to_ndarray()
            np.testing.assert_array_equal(Shrinker((32, 24), pixel_format).shrink(frame), plain)


class Brightness:
    """A cue with a known result, the mean of the picture."""

    name = "brightness"

    def settings(self) -> dict[str, object]:
        return {}

    def prepare(self, folder: Path) -> None:
        pass

    def extract(self, moments):
        features = np.array([[moment.rgb.mean()] for moment in moments], np.float32)
        return {"features": features, "valid": np.ones(len(moments), bool)}


def test_features_and_previews_of_hdr_are_mapped_and_fit_models_of_ordinary_video(tmp_path):
    store = Store(tmp_path / "cache")
    signal = float(nits_to_pq(np.array(100.0)))
    hdr = probe(write_flat(tmp_path / "hdr.mp4", (signal,) * 3, PQ))
    plain = probe(write_flat(tmp_path / "sdr.mp4", (0.5, 0.5, 0.5), BT709))
    recordings = [extract_tracks(video, [Brightness()], store, rate=4) for video in (hdr, plain)]
    levels = [float(r.tracks["brightness"].features.mean()) for r in recordings]
    assert levels == pytest.approx([186, 127.5], abs=2.5)
    assert recordings[0].track_settings == recordings[1].track_settings
