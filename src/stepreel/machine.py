"""What this machine offers."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cores() -> int:
    """Count the cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_folder() -> Path:
    """Return where features, models and the exported network are kept between runs.

    `STEPREEL_CACHE` names another place.
    """
    if named := os.environ.get("STEPREEL_CACHE"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("stepreel", appauthor=False))
