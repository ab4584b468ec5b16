"""Cores, devices and cache folder of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from stepreel.errors import SettingsError

if TYPE_CHECKING:
    import torch

Device = Literal["auto", "cpu", "cuda", "mps"]


def usable_cores() -> int:
    """Return the number of cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_device(name: str) -> Device:
    """Return `name` if it is a known device, whether or not this machine has it."""
    for known in get_args(Device):
        if name == known:
            device: Device = known
            return device
    raise SettingsError(f"unknown device {name!r}; known: {', '.join(get_args(Device))}")


def usable_device(name: str) -> Device:
    """Return `name` if this machine has the device; torch is imported only to check for a GPU.

    Called first, so that a missing device is reported before hours of extraction.
    """
    device = check_device(name)
    if device in ("cuda", "mps"):
        pick_device(device)
    return device


def pick_device(name: Device = "auto") -> torch.device:
    """Return the device to train on; `auto` is the first available accelerator, else the CPU."""
    import torch

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next((kind for kind, usable in available.items() if usable), "cpu"))
    if not available.get(name, True):
        devices = ", ".join(["cpu", *(kind for kind, usable in available.items() if usable)])
        raise SettingsError(
            f"this machine or its PyTorch has no device {name!r}; it has: {devices}"
        )
    return torch.device(name)


def cache_folder() -> Path:
    """Return the folder in which features, models and the exported network are cached.

    The environment variable `STEPREEL_CACHE` overrides the default.
    """
    if named := os.environ.get("STEPREEL_CACHE"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("stepreel", appauthor=False))
