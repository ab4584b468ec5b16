"""Fixed, off-the-shelf features of moments; each cue is one module and one line in `CUES`.

Other packages add cues through the entry point group `stepreel.cues` (docs/extend.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stepreel.cues.appearance import AppearanceCue
from stepreel.cues.motion import MotionCue
from stepreel.errors import PluginError, SettingsError
from stepreel.system.registry import Registry
from stepreel.video.moments import Moment

RESERVED_NAMES = ("previews", "facts", "damage", "embedding")  # of other files in the cache

Arrays = Mapping[str, NDArray[np.generic]]


class Cue(Protocol):
    """The interface of a cue: turns moments into arrays with one row per moment.

    A plug-in also has a class attribute `api_version = 1`.
    """

    @property
    def name(self) -> str:
        """Short name; also used in file names."""

    def settings(self) -> dict[str, object]:
        """Return all settings that affect the features; a change invalidates cached features."""

    def prepare(self, folder: Path) -> None:
        """Prepare for extraction; `folder` is kept between runs."""

    def extract(self, moments: Sequence[Moment]) -> Arrays:
        """Return `features` (n, D) and `valid` (n,); called from several threads at once."""


CUES: Registry[Callable[[], Cue]] = Registry(
    "stepreel.cues",
    {"appearance": AppearanceCue, "motion": MotionCue},
    check=lambda cue: "" if isinstance(cue, type) else f"it is {cue!r}; expected a class",
)


def check_cue_names(names: Sequence[str]) -> None:
    """Raise SettingsError unless there is at least one name and all are known and different."""
    if not names:
        raise SettingsError(f"at least one cue is needed; known: {', '.join(CUES)}")
    if unknown := [name for name in names if name not in CUES]:
        raise SettingsError(f"unknown cue {unknown[0]!r}; known: {', '.join(CUES)}")
    if len(set(names)) < len(names):
        raise SettingsError(f"a cue is named twice in {', '.join(names)}; name each cue once")


def make_cues(names: Sequence[str]) -> list[Cue]:
    """Make cues whose names have been checked, in order; the first is the main one."""
    return [_make_cue(name) for name in names]


def _make_cue(name: str) -> Cue:
    """Make one cue; features are cached under its own name, so that must be the one it has here."""
    factory = CUES[name]
    try:
        cue = factory()
        own_name = cue.name
    except Exception as problem:  # a plug-in can raise anything
        raise PluginError(f"the cue {name} cannot be made ({problem!r})") from problem
    if own_name != name or name in RESERVED_NAMES:
        raise PluginError(
            f"the cue {name} calls itself {own_name!r}; expected the name of its entry point, and "
            f"none of {', '.join(RESERVED_NAMES)}"
        )
    return cue
