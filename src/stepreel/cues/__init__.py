"""Fixed, off-the-shelf features of a moment: one file per cue, one line here.

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
from stepreel.errors import SettingsError
from stepreel.system.registry import Registry
from stepreel.video.moments import Moment

Arrays = Mapping[str, NDArray[np.generic]]


class Cue(Protocol):
    """Anything that turns moments into arrays, one row per moment, and can say how.

    A plug-in also has a class attribute `api_version = 1`.
    """

    @property
    def name(self) -> str:
        """Short name, also in file names."""

    def settings(self) -> dict[str, object]:
        """Return everything that changes the features; a change makes stored ones stale."""

    def prepare(self, folder: Path) -> None:
        """Get ready to extract; `folder` keeps what is worth keeping between runs."""

    def extract(self, moments: Sequence[Moment]) -> Arrays:
        """Return `features` (n, D) and `valid` (n,); called from several threads at once."""


CUES: Registry[Callable[[], Cue]] = Registry(
    "stepreel.cues", {"appearance": AppearanceCue, "motion": MotionCue}
)


def check_cue_names(names: Sequence[str]) -> None:
    """Raise SettingsError unless all names are known and there is at least one."""
    if not names:
        raise SettingsError(f"at least one cue is needed; known: {', '.join(CUES)}")
    if unknown := [name for name in names if name not in CUES]:
        raise SettingsError(f"unknown cue {unknown[0]!r}; known: {', '.join(CUES)}")
    if len(set(names)) < len(names):
        raise SettingsError(f"a cue is named twice in {', '.join(names)}; each can be used once")


def make_cues(names: Sequence[str]) -> list[Cue]:
    """Make cues whose names have been checked, in order; the first is the main one."""
    return [CUES[name]() for name in names]
