"""Key steps → Storyboard: times, picture files, and notes for the reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stepreel.config import Settings
from stepreel.features.video_recording import VideoRecording
from stepreel.steps.confidence import MEANING, calibration
from stepreel.steps.decoders.base import Decision
from stepreel.steps.key_steps import KeySteps, Segment
from stepreel.storyboard.folders import path_from
from stepreel.storyboard.notes import notes_on_steps
from stepreel.storyboard.picture_files import picture_file, small_picture_file
from stepreel.storyboard.schema import (
    Alternative,
    ConfidenceScale,
    DecisionFacts,
    KeyStep,
    Likeness,
    RecordingReference,
    Span,
    StepExplanation,
    Storyboard,
    Strip,
    TimelineSpan,
)
from stepreel.storyboard.titles import Titles, default_title
from stepreel.types import Clustering, Recording, readable, runs
from stepreel.version import __version__
from stepreel.video.previews import ThumbnailSheet


def assemble_storyboard(
    recording: Recording,
    clustering: Clustering,
    key_steps: KeySteps,
    settings: Settings,
    *,
    folder: Path | None = None,
    thumbnails: ThumbnailSheet | None = None,
    titles: Titles | None = None,
    decision: Decision | None = None,
    notes: Sequence[str] = (),
) -> Storyboard:
    """Build the storyboard of a recording.

    folder      where the storyboard will be written; None if it will not be
    thumbnails  of the video; without them, the storyboard has no pictures
    titles      that a person gave; other steps are named by their kind
    decision    what the decoder found out about the task
    """
    titles = titles or Titles()
    moment_times = _MomentTimes(recording, settings.key_steps.background_seconds)
    background = _background_runs(key_steps, moment_times, settings.key_steps.background_seconds)
    return Storyboard(
        title=recording_title(recording),
        recording=_reference(recording, folder),
        confidence=ConfidenceScale(
            meaning=MEANING, clear=calibration().clear, repeat=calibration().repeat
        ),
        decision=None
        if decision is None
        else DecisionFacts(
            sentence=decision.sentence,
            figures=dict(decision.figures),
            found_structure=decision.found_structure,
        ),
        clustering_id=clustering.clustering_id,
        steps=_steps(
            key_steps.segments, moment_times, titles, with_pictures=thumbnails is not None
        ),
        timeline=_timeline(clustering, key_steps, background, moment_times),
        uncertain=[moment_times.span(run) for run in runs(~key_steps.kept & ~clustering.excluded)],
        background=sorted(
            [*(moment_times.span(run) for run in background), *moment_times.gaps()],
            key=lambda span: span.start,
        ),
        strip=None if thumbnails is None else _strip(thumbnails),
        notes=[
            *recording.notes,
            *notes,
            *notes_on_steps(recording, clustering, key_steps, settings.key_steps, titles, decision),
        ],
        settings=_with_number_of_kinds(settings, clustering).model_dump(mode="json"),
        seed=settings.train.seed,
        stepreel_version=__version__,
    )


def as_alternative(other: Storyboard, board: Storyboard, label: str, option: str) -> Alternative:
    """Return another storyboard of the same recording as an alternative of `board`.

    Of a moment that `board` shows too there is a picture already; others are small.
    """
    there = {step.time: step.picture for step in board.steps}
    steps = [
        step.model_copy(update={"picture": there.get(step.time, small_picture_file(step.time))})
        if step.picture
        else step
        for step in other.steps
    ]
    shared = set(Alternative.model_fields) & set(Storyboard.model_fields) - {"steps"}
    fields = {name: getattr(other, name) for name in shared}
    return Alternative(label=label, option=option, steps=steps, **fields)


def _with_number_of_kinds(settings: Settings, clustering: Clustering) -> Settings:
    """Return settings that say how many kinds there are, also if that was found."""
    number = settings.key_steps.n_clusters or clustering.n_clusters
    choice = settings.key_steps.model_copy(update={"n_clusters": number})
    return settings.model_copy(update={"key_steps": choice})


class _MomentTimes:
    """Start and end times of moments; a moment lasts until the next one."""

    def __init__(self, recording: Recording, shortest_gap_seconds: float) -> None:
        self.shortest_gap = max(shortest_gap_seconds, 1e-6)
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

    def last_before_gaps(self) -> NDArray[np.intp]:
        """Return the moments after which a recording has a gap."""
        return np.flatnonzero(np.diff(self.times) - self.moment_seconds >= self.shortest_gap)

    def gaps(self) -> list[Span]:
        """Return the time between moments that belongs to none of them."""
        return [
            Span(start=self.end_of(int(last)), end=self.start_of(int(last) + 1))
            for last in self.last_before_gaps()
        ]


def _steps(
    segments: Sequence[Segment], moment_times: _MomentTimes, titles: Titles, *, with_pictures: bool
) -> list[KeyStep]:
    occurrences = Counter(segment.cluster for segment in segments)
    seen: Counter[int] = Counter()
    repeat = calibration().repeat
    repeatable: set[int] = set()
    steps = []
    for index, segment in enumerate(segments, start=1):
        cluster = segment.cluster
        seen[cluster] += 1
        is_repeatable = repeat is not None and segment.confidence >= repeat
        is_repeat = is_repeatable and cluster in repeatable
        if is_repeatable:
            repeatable.add(cluster)
        title = titles.title_of(index, cluster)
        time = moment_times.start_of(segment.nearest)
        steps.append(
            KeyStep(
                index=index,
                title=title or default_title(cluster, seen[cluster], is_repeat=is_repeat),
                time=time,
                start=moment_times.start_of(int(segment.members[0])),
                end=moment_times.end_of(int(segment.members[-1])),
                cluster=cluster,
                occurrence=seen[cluster],
                occurrences=occurrences[cluster],
                distance=round(segment.distance, 6),
                is_repeat=is_repeat,
                confidence=round(segment.confidence, 4),
                margin=round(segment.margin, 4),
                explanation=_explanation(segment),
                picture=picture_file(index, time) if with_pictures else None,
            )
        )
    return steps


def _explanation(segment: Segment) -> StepExplanation | None:
    """Return the explanation of a segment, with steps by their index."""
    found = segment.explanation
    if found is None:
        return None
    start, end = (
        None if cues is None else {cue: round(strength, 2) for cue, strength in cues.items()}
        for cues in (found.start_cues, found.end_cues)
    )
    looks_like = [Likeness(step=n + 1, similarity=similar) for n, similar in found.looks_like]
    return StepExplanation(start_cues=start, end_cues=end, looks_like=looks_like)


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
    """Return the kind of every moment as the fewest possible spans; gaps are background."""
    in_background = np.zeros(len(moment_times.times), np.bool_)
    for run in background:
        in_background[run] = True

    last_before_gaps = moment_times.last_before_gaps()

    def part_and_kind(moment: int) -> tuple[int, tuple[str, int | None, int | None]]:
        return int(np.searchsorted(last_before_gaps, moment)), describe(moment)

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

    spans = [
        TimelineSpan(start=gap.start, end=gap.end, kind="background") for gap in moment_times.gaps()
    ]
    moments_in_order = range(len(moment_times.times))
    for (_, (kind, cluster, step)), group in groupby(moments_in_order, key=part_and_kind):
        moments = list(group)
        start, end = moment_times.start_of(moments[0]), moment_times.end_of(moments[-1])
        spans.append(
            TimelineSpan.model_validate(
                {"start": start, "end": end, "kind": kind, "cluster": cluster, "step": step}
            )
        )
    return sorted(spans, key=lambda span: span.start)


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
