"""Key steps → Storyboard: times, picture files, and notes for the reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from stepreel.config import KeyStepSettings, Settings
from stepreel.features.extraction import VideoRecording
from stepreel.steps.key_steps import KeySteps, Segment
from stepreel.storyboard.folders import path_from
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import (
    KeyStep,
    RecordingReference,
    Span,
    Storyboard,
    Strip,
    TimelineSpan,
)
from stepreel.types import Clustering, Recording, readable, runs
from stepreel.version import __version__
from stepreel.video.previews import ThumbnailSheet

STILL = 0.01  # of the features' mean size; in recordings of people at work it is 0.6 to 0.85


def assemble_storyboard(
    recording: Recording,
    clustering: Clustering,
    key_steps: KeySteps,
    settings: Settings,
    *,
    folder: Path | None = None,
    thumbnails: ThumbnailSheet | None = None,
    notes: Sequence[str] = (),
) -> Storyboard:
    """Build the storyboard of a recording.

    folder      where the storyboard will be written; None if it will not be
    thumbnails  of the video; without them, the storyboard has no pictures
    """
    moment_times = _MomentTimes(recording)
    background = _background_runs(key_steps, moment_times, settings.key_steps.background_seconds)
    return Storyboard(
        title=recording_title(recording),
        recording=_reference(recording, folder),
        steps=_steps(key_steps.segments, moment_times, with_pictures=thumbnails is not None),
        timeline=_timeline(clustering, key_steps, background, moment_times),
        uncertain=[moment_times.span(run) for run in runs(~key_steps.kept & ~clustering.excluded)],
        background=[moment_times.span(run) for run in background],
        strip=None if thumbnails is None else _strip(thumbnails),
        notes=[
            *recording.notes,
            *notes,
            *_still_note(recording),
            *_hidden_note(key_steps, settings.key_steps),
            *_missing_kinds_note(clustering, key_steps, settings.key_steps),
        ],
        settings=settings.model_dump(mode="json"),
        seed=settings.train.seed,
        stepreel_version=__version__,
    )


class _MomentTimes:
    """Start and end times of moments; a moment lasts until the next one."""

    def __init__(self, recording: Recording) -> None:
        self.times = recording.times
        self.moment_seconds = recording.moment_seconds
        self.end = recording.duration_seconds

    def start_of(self, moment: int) -> float:
        return round(float(self.times[moment]), 3)

    def end_of(self, moment: int) -> float:
        if moment == len(self.times) - 1:
            return round(max(self.end, float(self.times[moment])), 3)
        return round(float(self.times[moment]) + self.moment_seconds, 3)

    def span(self, run: slice) -> Span:
        return Span(start=self.start_of(run.start), end=self.end_of(run.stop - 1))


def _steps(
    segments: Sequence[Segment], moment_times: _MomentTimes, *, with_pictures: bool
) -> list[KeyStep]:
    occurrences = Counter(segment.cluster for segment in segments)
    seen: Counter[int] = Counter()
    steps = []
    for index, segment in enumerate(segments, start=1):
        seen[segment.cluster] += 1
        time = moment_times.start_of(segment.nearest)
        steps.append(
            KeyStep(
                index=index,
                title=f"Step {index}",
                time=time,
                start=moment_times.start_of(int(segment.members[0])),
                end=moment_times.end_of(int(segment.members[-1])),
                cluster=segment.cluster,
                occurrence=seen[segment.cluster],
                occurrences=occurrences[segment.cluster],
                distance=round(segment.distance, 6),
                confidence=round(segment.margin, 4),
                picture=_picture_file(index, time) if with_pictures else None,
            )
        )
    return steps


def _picture_file(index: int, time: float) -> str:
    """Return the file name of a step's picture, which contains the time it shows.

    An interrupted run into the same folder then cannot replace pictures of an earlier storyboard.
    """
    return f"pictures/step-{index:02d}-at-{time:.2f}s.jpg"


def _background_runs(
    key_steps: KeySteps, moment_times: _MomentTimes, shortest_seconds: float
) -> list[slice]:
    """Return long runs of moments that are in no step, shown or hidden."""
    shortest = shortest_seconds - 1e-9
    without_step = key_steps.step_of < 0
    for segment in key_steps.hidden:
        without_step[segment.members] = False
    return [run for run in runs(without_step) if moment_times.span(run).seconds >= shortest]


def _timeline(
    clustering: Clustering,
    key_steps: KeySteps,
    background: Sequence[slice],
    moment_times: _MomentTimes,
) -> list[TimelineSpan]:
    """Return the kind of every moment as the fewest possible spans."""
    in_background = np.zeros(len(moment_times.times), np.bool_)
    for run in background:
        in_background[run] = True

    def describe(moment: int) -> tuple[str, int | None, int | None]:
        step = int(key_steps.step_of[moment])
        if step >= 0:
            return "step", key_steps.segments[step].cluster, step + 1
        if in_background[moment]:
            return "background", None, None
        if clustering.excluded[moment]:
            return "left-out", None, None
        cluster = int(clustering.labels[moment])
        return ("left-out" if key_steps.kept[moment] else "uncertain"), cluster, None

    spans = []
    for (kind, cluster, step), group in groupby(range(len(moment_times.times)), key=describe):
        moments = list(group)
        start, end = moment_times.start_of(moments[0]), moment_times.end_of(moments[-1])
        spans.append(
            TimelineSpan.model_validate(
                {"start": start, "end": end, "kind": kind, "cluster": cluster, "step": step}
            )
        )
    return spans


def recording_title(recording: Recording) -> str:
    """Return a recording's name without file suffix."""
    return readable(recording.path.stem) if recording.path is not None else recording.name


def _strip(sheet: ThumbnailSheet) -> Strip:
    return Strip(
        file="pictures/strip.jpg",
        count=sheet.count,
        columns=sheet.columns,
        tile_width=sheet.tile_width,
        tile_height=sheet.tile_height,
        interval_seconds=sheet.interval_seconds,
    )


def _reference(recording: Recording, folder: Path | None) -> RecordingReference:
    file = None if recording.path is None else path_from(folder, recording.path)
    duration = round(recording.duration_seconds, 3)
    if not isinstance(recording, VideoRecording):
        return RecordingReference(
            kind="features",
            name=recording.name if recording.path is None else readable(recording.path.name),
            file=file,
            fingerprint=recording.fingerprint,
            duration_seconds=duration,
            fps=round(1 / recording.moment_seconds, 4),
            first_frame_seconds=recording.start_seconds,
            player_offset_seconds=0.0,
        )
    video = recording.video
    return RecordingReference(
        kind="video",
        name=video.name,
        file=file,
        fingerprint=video.fingerprint,
        duration_seconds=duration,
        width=video.width,
        height=video.height,
        fps=round(video.fps, 4),
        first_frame_seconds=video.first_frame_seconds,
        player_offset_seconds=round(video.player_offset_seconds, 6),
    )


def _still_note(recording: Recording) -> list[str]:
    """Return a note if the features hardly change: then steps depend on time alone."""
    subject = "The picture" if isinstance(recording, VideoRecording) else "The main cue"
    main = next(iter(recording.tracks.values()))
    rows = np.flatnonzero(main.valid)
    sample = main.features[rows[:: max(1, len(rows) // 1000)]]
    if len(sample) < 2 or float(sample.std(axis=0).mean()) > STILL * float(np.abs(sample).mean()):
        return []
    return [f"{subject} hardly changes: the steps are little more than equal parts of the time."]


def _hidden_note(key_steps: KeySteps, settings: KeyStepSettings) -> list[str]:
    """Return a note if a limit on the number of steps hides some of them."""
    if not key_steps.hidden:
        return []
    shown, found = len(key_steps.segments), len(key_steps.segments) + len(key_steps.hidden)
    if settings.top is not None:
        return [
            f"{shown} of the {found} steps found are shown, the clearest ones, because at most "
            f"{settings.top} were asked for (--top)."
        ]
    return [
        f"{shown} of the {found} steps found are shown, the clearest ones: a page cannot carry "
        "more. Fewer kinds (--clusters) or longer steps (--set key_steps.min_step_seconds=3) give "
        "fewer steps."
    ]


def _missing_kinds_note(
    clustering: Clustering, key_steps: KeySteps, settings: KeyStepSettings
) -> list[str]:
    """Return a note if there are fewer kinds of steps than requested, and say why."""
    requested = settings.n_clusters
    visited = {segment.cluster for segment in [*key_steps.segments, *key_steps.hidden]}
    present = {int(cluster) for cluster in np.unique(clustering.labels[~clustering.excluded])}
    if len(visited) >= requested:
        return []
    reasons = []
    if short := sorted(present - visited):
        reasons.append(
            f"{_kinds(short)} never lasts {settings.min_step_seconds:g} s without interruption"
            if len(short) == 1
            else f"{_kinds(short)} never last {settings.min_step_seconds:g} s without interruption"
        )
    if absent := sorted(set(range(clustering.n_clusters)) - present):
        verb = "does" if len(absent) == 1 else "do"
        reasons.append(f"{_kinds(absent)} {verb} not occur in this recording")
    if clustering.n_clusters < requested:
        reasons.append("its moments differ too little for more")
    return [
        f"Found {len(visited)} of the {requested} kinds of steps asked for: {'; '.join(reasons)}."
    ]


def _kinds(clusters: Sequence[int]) -> str:
    """Name kinds of steps by their letters.

    >>> _kinds([0]), _kinds([1, 3, 4])
    ('kind A', 'kinds B, D and E')
    """
    letters = [letter(cluster) for cluster in clusters]
    if len(letters) == 1:
        return f"kind {letters[0]}"
    return f"kinds {', '.join(letters[:-1])} and {letters[-1]}"
