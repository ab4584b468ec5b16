"""`stepreel info`: what is installed, what this machine offers, where caches are kept."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from stepreel.cli.options import Cache, check_cache
from stepreel.cli.terminal import report_errors, show
from stepreel.system.machine import SPACE_FOR_TORCH, check_address_space

if TYPE_CHECKING:
    from stepreel.system.registry import Registry

PACKAGES = ("av", "numpy", "onnxruntime", "opencv-python-headless", "scikit-learn", "torch")
CODECS = (
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
WIDTH = 100


def info(cache: Cache = None) -> None:
    """Show versions, plug-ins, codecs, device, cores and where caches are kept.

    Cues, decoders, samplers, datasets, methods and exports from other packages are
    listed with the package they come from; one that cannot be used, with its reason.
    """
    with report_errors():
        check_address_space(SPACE_FOR_TORCH)
        from stepreel.config import known_presets
        from stepreel.cues.appearance import WEIGHTS
        from stepreel.system.cache import cached_files, format_size, read_limit
        from stepreel.system.machine import cache_folder, pick_device, usable_cores
        from stepreel.version import __version__

        folder = check_cache(cache) or cache_folder()
        size = format_size(sum(file.size for file in cached_files(folder)))
        registries = _registries()
        rows = {
            "stepreel": f"{__version__}, Python {platform.python_version()}, {platform.system()}",
            "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
            **{kind: _names(registry) for kind, registry in registries.items()},
            "backbones": f"{WEIGHTS} (embedded), DIS optical flow (no weights)",
            "codecs": ", ".join(_codecs()),
            "presets": ", ".join(known_presets()),
            "device": f"{pick_device()} ({platform.machine()})",
            "cores": str(usable_cores()),
            "cache": f"{folder} ({size}, {read_limit(folder)}; see `stepreel cache`)",
        }
        for name, value in rows.items():
            show(_row(name, value))
            if name in ("decoders", "samplers"):
                for line in _titles(registries[name]):
                    show(_row("", line))
        for problem in _problems(registries):
            show(_row("unusable", problem))


def _row(name: str, value: str) -> str:
    indent = " " * 11
    return textwrap.fill(
        value,
        WIDTH,
        initial_indent=f"{name:<10} ",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _registries() -> Mapping[str, Registry[Any]]:
    from stepreel.cues import CUES
    from stepreel.evaluation.datasets.catalog import DATASETS
    from stepreel.evaluation.methods.catalog import METHODS
    from stepreel.report.exports import EXPORTS
    from stepreel.steps.decoders.catalog import DECODERS
    from stepreel.steps.samplers.catalog import SAMPLERS

    return {
        "cues": CUES,
        "decoders": DECODERS,
        "samplers": SAMPLERS,
        "datasets": DATASETS,
        "methods": METHODS,
        "exports": EXPORTS,
    }


def _names(registry: Registry[Any]) -> str:
    from stepreel.system.registry import OWN

    return ", ".join(
        origin.name if origin.package == OWN else f"{origin.name} ({origin.package})"
        for origin in registry.origins()
        if not origin.problem
    )


def _titles(registry: Registry[Any]) -> list[str]:
    """Say of every usable extension that has a title what it does."""
    usable = [origin.name for origin in registry.origins() if not origin.problem]
    return [f"{name}: {registry[name].title}" for name in usable if registry[name].title]


def _problems(registries: Mapping[str, Registry[Any]]) -> list[str]:
    """Name every extension that cannot be used, with its package and the reason."""
    return [
        f"{origin.name}{f' ({origin.package})' if origin.package else ''}: {origin.problem}"
        for registry in registries.values()
        for origin in registry.origins()
        if origin.problem
    ]


def _codecs() -> list[str]:
    import av

    return [name for name in CODECS if name in av.codecs_available]
