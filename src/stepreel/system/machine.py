"""What this machine offers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from stepreel.errors import SettingsError

if TYPE_CHECKING:
    import torch

Device = Literal["auto", "cpu", "cuda", "mps"]


def usable_cores() -> int:
    """Count the cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_device(name: str) -> Device:
    """Return the device's name if it is one, whether this machine has it or not."""
    for known in get_args(Device):
        if name == known:
            device: Device = known
            return device
    raise SettingsError(f"unknown device {name!r}; known: {', '.join(get_args(Device))}")


def usable_device(name: str) -> Device:
    """Return a device's name if this machine has it; torch is loaded only to look for a GPU.

    So a missing device is found out before hours of extraction, not after.
    """
    device = check_device(name)
    if device in ("cuda", "mps"):
        pick_device(device)
    return device


def pick_device(name: Device = "auto") -> torch.device:
    """Return the device to learn on; `auto` is the first accelerator there is, else the CPU."""
    import torch

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next((kind for kind, there in available.items() if there), "cpu"))
    if not available.get(name, True):
        there = ", ".join(["cpu", *(kind for kind, is_there in available.items() if is_there)])
        raise SettingsError(f"this machine or its PyTorch has no device {name!r}; it has: {there}")
    return torch.device(name)


def cache_folder() -> Path:
    """Return where features, models and the exported network are kept between runs.

    `STEPREEL_CACHE` names another place.
    """
    if named := os.environ.get("STEPREEL_CACHE"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("stepreel", appauthor=False))
