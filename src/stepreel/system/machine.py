"""Cores, free memory, devices and cache folder of this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from stepreel.errors import SettingsError, StepreelError

if TYPE_CHECKING:
    import torch

CONTAINER = Path("/sys/fs/cgroup")
CONTAINER_MEMORY = (  # limit, use and statistics, in the two versions of control groups
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)

# Bytes of address space. With less, libraries may crash the process or never end, which cannot be
# caught, so the limit is checked first. Measured on two cores with benchmarks/memory_limits.py.
SPACE_FOR_LEARNING = 1_900_000_000
SPACE_FOR_VIDEO = 2_500_000_000  # to prepare the appearance network, and to learn
SPACE_FOR_TORCH = 1_200_000_000
SPACE_FOR_SCORES = 900_000_000
ROOM_FOR_TORCH = 900_000_000  # beyond what other libraries in the process already use

Device = Literal["auto", "cpu", "cuda", "mps"]


def usable_cores() -> int:
    """Return the number of cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_memory(n_bytes: int) -> None:
    """Raise OSError if `n_bytes` are needed and fewer are free, where that is known."""
    free = free_memory()
    if free is not None and n_bytes > free:
        raise OSError(
            errno.ENOMEM,
            f"it needs {n_bytes / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free",
        )


def free_memory() -> int | None:
    """Return how many bytes this process can still use; None if the system does not say."""
    return max(0, min(limits)) if (limits := list(_memory_limits())) else None


def _memory_limits() -> Iterator[int]:
    """Yield what is free of every memory that this process is limited by."""
    if sys.platform == "win32":
        yield _free_memory_of_windows()
        return
    with contextlib.suppress(OSError, ValueError, KeyError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        yield {line[0]: int(line[1]) for line in lines}["MemAvailable:"] * 1024
    for files in CONTAINER_MEMORY:
        with contextlib.suppress(OSError, ValueError):  # without a limit, it is the word max
            yield _free_memory_of_container(*files)
    if (space := _free_address_space()) is not None:
        yield space
    with contextlib.suppress(OSError, ValueError):  # macOS says only how much there is in all
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _free_address_space() -> int | None:
    """Return how much of the limit that `ulimit -v` sets is left; None without a limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        if (limit := _address_space()) is not None:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            return limit - pages * resource.getpagesize()
    return None


def _address_space() -> int | None:
    """Return the limit that `ulimit -v` sets, in bytes; None without one."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def check_address_space(n_bytes: int) -> None:
    """Raise StepreelError if `ulimit -v` allows this process fewer than `n_bytes` in all.

    Called before the libraries that need them are loaded.
    """
    limit = _address_space()
    if limit is not None and limit < n_bytes:
        raise StepreelError(
            f"not enough memory: this process is limited to {limit / 1e9:.1f} GB (ulimit -v), and "
            f"needs at least {n_bytes / 1e9:.1f} GB; raise the limit, or remove it with "
            "`ulimit -v unlimited`"
        )


def _free_memory_of_container(most: str, used: str, statistics: str) -> int:
    """Return a container's limit less what it uses; copies of files in memory count as free."""
    limit, current = (int((CONTAINER / name).read_text("ascii")) for name in (most, used))
    lines = (line.split() for line in (CONTAINER / statistics).read_text("ascii").splitlines())
    cached = sum(int(size) for name, size in lines if name in ("active_file", "inactive_file"))
    return limit - current + cached


def _free_memory_of_windows() -> int:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("all", "free", "all_paged", "free_paged")),
            *((name, ctypes.c_ulonglong) for name in ("all_virtual", "free_virtual", "extended")),
        )

    status = Status(length=ctypes.sizeof(Status))
    getattr(ctypes, "windll").kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # noqa: B009
    return int(status.free)


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
    check_address_space(SPACE_FOR_LEARNING)
    free = _free_address_space()
    if free is not None and "torch" not in sys.modules and free < ROOM_FOR_TORCH:
        raise StepreelError(
            f"not enough memory: {max(0, free) / 1e9:.1f} GB are left of this process's limit "
            f"(ulimit -v), and PyTorch needs {ROOM_FOR_TORCH / 1e9:.1f} GB; raise the limit"
        )
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
    """Return the folder in which features, models and more are cached.

    The environment variable `STEPREEL_CACHE` overrides the default.
    """
    if named := os.environ.get("STEPREEL_CACHE"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("stepreel", appauthor=False))
