"""Files a user names → recordings with tracks: videos are watched, feature files are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepreel.cli.options import named_once
from stepreel.cli.terminal import refuse, warn

if TYPE_CHECKING:
    from stepreel.config import Settings
    from stepreel.learn.model import TaskModel
    from stepreel.system.store import Store
    from stepreel.types import Progress, TrackedRecording


@dataclass(frozen=True)
class Sources:
    """The files of one command: all of them videos, or all of them features."""

    paths: list[Path]
    are_features: bool


def sort_sources(named: Sequence[Path]) -> Sources:
    """Tell videos from feature files; refuse a mixture."""
    from stepreel.features.array_files import PICKLES, holds_features

    paths = named_once(named)
    features = [holds_features(path) or path.suffix.lower() in PICKLES for path in paths]
    if any(features) and not all(features):
        video = paths[features.index(False)]
        file = paths[features.index(True)]
        raise refuse(
            f"{file.name} holds features and {video.name} does not; "
            "a task is learned from videos or from feature files, not from both"
        )
    return Sources(paths, all(features))


def read_feature_files(
    paths: Sequence[Path],
    *,
    cues: Sequence[str] = (),
    fps: float | None = None,
    times: Path | None = None,
    model: TaskModel | None = None,
) -> dict[Path, TrackedRecording]:
    """Read what can be read; warn of the rest. All must have the cues and widths of the first."""
    from stepreel.errors import StepreelError
    from stepreel.features.feature_files import check_alike, read_features
    from stepreel.learn.model import check_fits

    found: dict[Path, TrackedRecording] = {}
    for path in paths:
        try:
            recording = read_features(path, cues=cues, fps=fps, times=times)
            if model is not None:
                check_fits(model, recording)
            elif found:
                check_alike(recording, next(iter(found.values())))
            found[path] = recording
        except StepreelError as problem:
            warn(f"stepreel: {problem}")
    return found


def watch_videos(
    paths: Sequence[Path],
    settings: Settings,
    store: Store,
    *,
    model: TaskModel | None = None,
    progress: Progress,
) -> Mapping[Path, TrackedRecording]:
    """Extract what can be extracted; warn of the rest."""
    from stepreel.pipeline import watch_recordings

    found, failures = watch_recordings(paths, settings, store, model=model, progress=progress)
    for reason in failures.values():
        warn(f"stepreel: {reason}")
    return found
