"""Videos, feature files or arrays in memory → recordings with tracks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stepreel.config import ExtractSettings
from stepreel.cues import make_cues
from stepreel.errors import RecordingError, SettingsError, StepreelError
from stepreel.features.array_files import PICKLES, is_feature_file
from stepreel.features.extraction import extract_tracks
from stepreel.features.feature_files import check_same_cues, read_features, recording_from_arrays
from stepreel.features.recording_files import why_not_a_recording
from stepreel.features.video_recording import VideoRecording
from stepreel.system.store import Store
from stepreel.types import Progress, Recording, no_progress
from stepreel.video.decode import probe

ArraySource = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""Cue → (times in seconds, features (T, D)); the first cue is the main one."""

Source = Path | ArraySource


@dataclass(frozen=True)
class FeatureReading:
    """How feature files are read.

    cues   arrays to use, the main one first; all if empty
    fps    moments per second, for files without times
    times  a file of times, or a folder with one such file per recording, of the same name
    """

    cues: tuple[str, ...] = ()
    fps: float | None = None
    times: Path | None = None


@dataclass
class LoadedRecordings:
    """Recordings by position among the sources, and the reasons why others were not loaded."""

    recordings: dict[int, Recording] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


def are_features(sources: Sequence[Source]) -> bool:
    """Return whether sources are feature files or arrays, not videos; SettingsError if mixed.

    What is neither, a web address for example, does not count.
    """
    sources = [one for one in sources if not isinstance(one, Path) or not why_not_a_recording(one)]
    kinds = [not isinstance(source, Path) or _is_features_or_pickle(source) for source in sources]
    if any(kinds) and not all(kinds):
        features, video = sources[kinds.index(True)], sources[kinds.index(False)]
        raise SettingsError(
            f"{source_name(features)} contains features, but {source_name(video)} does not; "
            "a task is learned from videos or from features, not from both"
        )
    return all(kinds)


def _is_features_or_pickle(path: Path) -> bool:
    return is_feature_file(path) or path.suffix.lower() in PICKLES


def _check_named(path: Path) -> None:
    if reason := why_not_a_recording(path):
        raise RecordingError(reason)


def source_name(source: Source) -> str:
    """Return the name of a source for messages."""
    return source.name if isinstance(source, Path) else f"the arrays {', '.join(source)}"


def read_feature_sources(
    sources: Sequence[Source],
    reading: FeatureReading,
    *,
    check: Callable[[Recording], None] | None = None,
) -> LoadedRecordings:
    """Read feature files and arrays; all must have the same cues and widths.

    check  raises a StepreelError for an unusable recording; replaces the comparison of cues
    """
    loaded = LoadedRecordings()
    for position, source in enumerate(sources):
        try:
            recording = _read(source, position, reading)
            if check is not None:
                check(recording)
            elif loaded.recordings:
                check_same_cues(recording, next(iter(loaded.recordings.values())))
            loaded.recordings[position] = recording
        except StepreelError as problem:
            loaded.failures[position] = str(problem)
    return loaded


def _read(source: Source, position: int, reading: FeatureReading) -> Recording:
    if isinstance(source, Path):
        _check_named(source)
        return read_features(source, cues=reading.cues, fps=reading.fps, times=reading.times)
    arrays: dict[str, NDArray[Any]] = {}
    times: NDArray[Any] | None = None
    for cue, pair in source.items():
        if not isinstance(cue, str):
            raise RecordingError(f"{cue!r} is not a name; expected names of cues, as in 'hands'")
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise RecordingError(f"{cue}: expected a pair (times, features)")
        try:
            cue_times, arrays[cue] = np.asarray(pair[0]), np.asarray(pair[1])
        except ValueError as problem:
            raise RecordingError(
                f"{cue}: not arrays ({problem}); expected times (T,) and features (T, D)"
            ) from problem
        if times is not None and not np.array_equal(times, cue_times):
            raise RecordingError(
                f"{cue}: its times differ from those of {next(iter(source))}; all cues of a "
                "recording need the same times (resample them first)"
            )
        times = cue_times
    if times is None:
        raise RecordingError("no arrays; expected at least one cue with (times, features)")
    return recording_from_arrays(f"recording-{position + 1}", times, arrays, cues=reading.cues)


def extract_recordings(
    paths: Sequence[Path],
    settings: ExtractSettings,
    store: Store,
    *,
    check: Callable[[VideoRecording], None] | None = None,
    progress: Progress = no_progress,
) -> LoadedRecordings:
    """Extract the tracks of every readable video.

    check  raises a StepreelError for an unusable recording
    """
    cues = make_cues(settings.cues)
    loaded = LoadedRecordings()
    for position, path in enumerate(paths):
        which = f" {position + 1} of {len(paths)}: {path.name}" if len(paths) > 1 else ""
        stages: set[str] = set()

        def numbered(
            label: str, done: float, total: float, which: str = which, stages: set[str] = stages
        ) -> None:
            stages.add(label + which)
            progress(label + which, done, total)

        try:
            _check_named(path)
            recording = extract_tracks(
                probe(path),
                cues,
                store,
                rate=settings.moments_per_second,
                shard_seconds=settings.shard_seconds,
                progress=numbered,
            )
            if check is not None:
                check(recording)
            loaded.recordings[position] = recording
        except StepreelError as problem:
            loaded.failures[position] = str(problem)
            for stage in stages:
                progress(stage, 1, 1)  # it is over, though it failed
    return loaded
