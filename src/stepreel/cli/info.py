"""`stepreel info`: what is installed, what this machine offers, where caches live."""

from __future__ import annotations

import platform
from importlib.metadata import version

from stepreel.cli.options import Cache
from stepreel.cli.terminal import clear_errors, say

PACKAGES = ("av", "numpy", "onnxruntime", "opencv-python-headless", "scikit-learn", "torch")
DECODERS = (
    "h264",
    "hevc",
    "vp8",
    "vp9",
    "libdav1d",
    "av1",
    "mpeg4",
    "mpeg2video",
    "mjpeg",
    "prores",
)


def info(cache: Cache = None) -> None:
    """Show versions, cues, backbones, decoders, device, cores and where caches live."""
    with clear_errors():
        from stepreel.config import known_presets
        from stepreel.cues import CUES
        from stepreel.cues.appearance import WEIGHTS
        from stepreel.system.machine import cache_folder, pick_device, usable_cores
        from stepreel.system.store import Store
        from stepreel.version import __version__

        folder = cache if cache is not None else cache_folder()
        rows = {
            "stepreel": f"{__version__}, Python {platform.python_version()}, {platform.system()}",
            "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
            "cues": ", ".join(CUES),
            "backbones": f"{WEIGHTS} (embedded), DIS optical flow (no weights)",
            "decoders": ", ".join(_decoders()),
            "presets": ", ".join(known_presets()),
            "device": f"{pick_device()} ({platform.machine()})",
            "cores": str(usable_cores()),
            "cache": f"{folder} ({Store(folder).size_bytes() / 1e6:.0f} MB; safe to delete)",
        }
        for name, value in rows.items():
            say(f"{name:<10} {value}")


def _decoders() -> list[str]:
    import av

    return [name for name in DECODERS if name in av.codecs_available]
