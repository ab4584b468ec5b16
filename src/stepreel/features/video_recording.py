"""A recording known by its video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.derived import Derived
from stepreel.types import FeatureTrack, Seconds, VideoFile
from stepreel.video.previews import Previews


@dataclass(frozen=True)
class VideoRecording:
    """A video whose tracks and previews have been extracted, with its actual duration.

    stored   per cue, the file in which its track is stored
    derived  what was made from its tracks
    """

    video: VideoFile
    tracks: dict[str, FeatureTrack]
    previews: Previews
    duration_seconds: float
    moment_seconds: float
    notes: tuple[str, ...]
    track_settings: dict[str, object]
    stored: Mapping[str, Path] = field(default_factory=dict)
    derived: Derived = field(default_factory=Derived)

    @property
    def name(self) -> str:
        """The file name, safe to display."""
        return self.video.name

    @property
    def path(self) -> Path | None:
        """The video file."""
        return self.video.path

    @property
    def fingerprint(self) -> str:
        """Hash of the file's content."""
        return self.video.fingerprint

    @property
    def start_seconds(self) -> float:
        """Always 0: times of a video count from its first frame."""
        return 0.0

    @property
    def times(self) -> Seconds:
        """The times that all tracks share."""
        return next(iter(self.tracks.values())).times
