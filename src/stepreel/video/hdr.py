"""High dynamic range (PQ and HLG of ITU-R BT.2100) → ordinary pictures.

Ordinary pictures show reference white (203 nits, ITU-R BT.2408) as their white. Brighter light up
to 1000 nits is compressed with the curve of ITU-R BT.2390; below 80 nits nothing changes.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import av.filter
import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Light = NDArray[np.floating]

PQ, HLG = 16, 18  # transfer characteristics as ITU-T H.273 numbers them
HDR_TRANSFERS = (PQ, HLG)
BT709, BT2020, UNKNOWN_MATRIX = 1, 9, 2  # matrix coefficients in ITU-T H.273
TONE_MAPPING_VERSION = 1  # increase it when the same frame would give another picture

WHITE_NITS = 203.0
PEAK_NITS = 1000.0  # what nearly all material is graded for; brighter light becomes white
TABLE_ROWS = 4096
CUBE_STEPS = 33
RGB48_WHITE = 65280  # swscale makes 16-bit values of 8-bit ones by shifting

BT2020_LUMINANCE = np.array([0.2627, 0.6780, 0.0593], np.float32)
BT709_LUMA = np.array([0.2126, 0.7152, 0.0722], np.float32)
BT2020_TO_BT709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]],
    np.float32,
)


def is_hdr(frame: VideoFrame) -> bool:
    """Return whether a frame has to be tone-mapped to be shown as an ordinary picture."""
    return frame.color_trc in HDR_TRANSFERS


def to_ordinary_picture(frame: VideoFrame, width: int, height: int, pixel_format: str) -> Bytes:
    """Resize an HDR frame, with all its bits, and map it to `rgb24` or `gray`."""
    resized = _resized(frame, width, height, "rgb48le")
    rgb = map_to_sdr(resized.to_ndarray().astype(np.uint16, copy=False), frame.color_trc)
    if pixel_format == "rgb24":
        return rgb
    assert pixel_format == "gray"
    gray: Bytes = np.rint(rgb @ BT709_LUMA).astype(np.uint8)
    return gray


class ToneMapper:
    """Maps whole HDR frames to ordinary yuv420p frames of one size, fast enough for a video.

    FFmpeg's filter `lut3d` interpolates a table of `map_to_sdr`.
    """

    def __init__(self, width: int, height: int, transfer: int) -> None:
        self._size = width, height
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table.cube"
            table.write_text(_cube(transfer), encoding="ascii")
            self._graph = av.filter.Graph()
            pixels = VideoFormat("gbrp10le", width, height)
            source = self._graph.add_buffer(
                width=width, height=height, format=pixels, time_base=Fraction(1, 1000)
            )
            lut = self._graph.add("lut3d", f"file={table}:interp=tetrahedral")
            sink = self._graph.add("buffersink")
            source.link_to(lut)
            lut.link_to(sink)
            self._graph.configure()  # reads the table

    def map(self, frame: VideoFrame) -> VideoFrame:
        """Return the frame resized, mapped and labelled as BT.709."""
        rgb = _resized(frame, *self._size, "gbrp10le")
        self._graph.push(rgb)
        mapped = self._graph.pull()
        assert isinstance(mapped, VideoFrame)
        # Relabelled first: for another transfer, swscale would map the light a second time.
        mapped.color_trc = mapped.color_primaries = BT709
        return mapped.reformat(format="yuv420p", dst_colorspace=BT709, dst_color_range=1)


def _cube(transfer: int) -> str:
    """Return the table as a .cube file: red changes first, as that format wants it."""
    steps = np.linspace(0, 65535, CUBE_STEPS)
    blue, green, red = np.meshgrid(steps, steps, steps, indexing="ij")
    codes = np.stack([red, green, blue], axis=-1).reshape(1, -1, 3)
    mapped = map_to_sdr(np.rint(codes).astype(np.uint16), transfer)[0] / 255
    rows = "\n".join(f"{r:.5f} {g:.5f} {b:.5f}" for r, g, b in mapped.tolist())
    return f"LUT_3D_SIZE {CUBE_STEPS}\n{rows}\n"


def _resized(frame: VideoFrame, width: int, height: int, pixel_format: str) -> VideoFrame:
    matrix = BT2020 if frame.colorspace == UNKNOWN_MATRIX else None
    return frame.reformat(width, height, pixel_format, interpolation="AREA", src_colorspace=matrix)


def map_to_sdr(rgb48: NDArray[np.uint16], transfer: int) -> Bytes:
    """Map (H, W, 3) values of BT.2020 primaries, 16 bits each, to sRGB."""
    rows = rgb48 >> 4  # 12 bits are enough for 10-bit video
    if transfer == PQ:
        nits = np.take(_pq_table(), rows)
    else:
        nits = hlg_scene_to_nits(np.take(_hlg_table(), rows))
    brightest = nits.max(axis=2, keepdims=True)
    nits *= np.take(_gain_table(), _root_row(brightest / PEAK_NITS))
    linear = nits @ (BT2020_TO_BT709.T / np.float32(WHITE_NITS))
    return np.take(_srgb_table(), _root_row(linear))


def pq_to_nits(code: Light) -> Light:
    """Apply the PQ EOTF: a signal of 0..1 → light of 0..10,000 nits (BT.2100, table 4)."""
    root = np.power(np.maximum(code, 0.0), 1 / 78.84375)
    ratio = np.maximum(root - 0.8359375, 0.0) / (18.8515625 - 18.6875 * root)
    nits: Light = 10_000.0 * np.power(ratio, 1 / 0.1593017578125)
    return nits


def nits_to_pq(nits: Light) -> Light:
    """Invert `pq_to_nits`."""
    power = np.power(np.maximum(nits, 0.0) / 10_000.0, 0.1593017578125)
    code: Light = np.power((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power), 78.84375)
    return code


def hlg_to_scene(code: Light) -> Light:
    """Invert the HLG OETF: a signal of 0..1 → light of the scene, 0..1 (BT.2100, table 5)."""
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    bright = (np.exp((np.maximum(code, 0.5) - c) / a) + b) / 12
    return np.where(code <= 0.5, np.square(code) / 3, bright)


def hlg_scene_to_nits(scene: Light) -> Light:
    """Apply the HLG OOTF for a display of 1000 nits (gamma 1.2) to (…, 3) light of a scene."""
    luminance = scene @ BT2020_LUMINANCE
    gain = PEAK_NITS * np.power(np.maximum(luminance, 1e-9), 0.2)
    return (scene * gain[..., None]).astype(np.float32)


def compress_highlights(nits: Light) -> Light:
    """Map 0..1000 nits to 0..203 nits with the EETF of BT.2390-10, section 5.4.1."""
    white, peak = nits_to_pq(np.array([WHITE_NITS, PEAK_NITS]))
    target = white / peak
    knee = 1.5 * target - 0.5
    level = np.minimum(nits_to_pq(nits) / peak, 1.0)
    t = np.maximum(level - knee, 0.0) / (1 - knee)
    spline = (
        (2 * t**3 - 3 * t**2 + 1) * knee
        + (t**3 - 2 * t**2 + t) * (1 - knee)
        + (-2 * t**3 + 3 * t**2) * target
    )
    return pq_to_nits(np.where(level < knee, level, spline) * peak)


def _root_row(share: Light) -> NDArray[np.uint16]:
    """Return rows of a table over the root of 0..1: the dark part, which the eye sees, is finer."""
    root = np.sqrt(np.clip(share, 0.0, 1.0))
    rows: NDArray[np.uint16] = (root * np.float32(TABLE_ROWS - 1) + np.float32(0.5)).astype(
        np.uint16
    )
    return rows


def _codes() -> NDArray[np.float64]:
    """Return the signal, 0..1, of every row of a table over 12 of 16 bits."""
    middle = 16.0 * np.arange(TABLE_ROWS) + 7.5
    return np.clip(middle / RGB48_WHITE, 0.0, 1.0)


def _root_shares() -> NDArray[np.float64]:
    return np.square(np.linspace(0.0, 1.0, TABLE_ROWS))


@cache
def _pq_table() -> Light:
    return pq_to_nits(_codes()).astype(np.float32)


@cache
def _hlg_table() -> Light:
    return hlg_to_scene(_codes()).astype(np.float32)


@cache
def _gain_table() -> Light:
    nits = np.maximum(_root_shares() * PEAK_NITS, 1e-6)
    gain: Light = (compress_highlights(nits) / nits).astype(np.float32)
    gain[0] = gain[1]
    return gain


@cache
def _srgb_table() -> Bytes:
    linear = _root_shares()
    coded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    table: Bytes = np.rint(255 * coded).astype(np.uint8)
    return table
