"""A labelled task → what learns may see (tracks), and what only scoring sees (truth)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stepreel.errors import DatasetError, RecordingError
from stepreel.evaluation.datasets.base import LabelledRecording, LabelledTask
from stepreel.evaluation.methods.catalog import Workplace
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.truth.annotation import (
    BACKGROUND,
    END_TOLERANCE_SECONDS,
    LENGTH_TOLERANCE,
    ROUNDING,
    Problems,
)
from stepreel.evaluation.truth.common_moments import MOST_MOMENTS
from stepreel.features.feature_files import FeatureRecording, check_alike
from stepreel.features.sources import extract_recordings
from stepreel.types import FeatureTrack, Labels, Recording, Seconds, moment_seconds


@dataclass(frozen=True)
class PreparedTask:
    """A task whose recordings have been read.

    recordings  None where a dataset has nothing but labels; `blind_because` says why
    truth       per recording, the true id at each of its times
    """

    task: LabelledTask
    names: list[str]
    splits: list[str]
    times: list[Seconds]
    truth: list[Labels]
    recordings: list[Recording] | None
    blind_because: str = ""

    @property
    def lengths(self) -> list[int]:
        """How many moments every recording has."""
        return [len(times) for times in self.times]

    @property
    def has_steps(self) -> bool:
        """Whether any moment shows a key step; otherwise there is nothing to score against."""
        return any(bool((truth != BACKGROUND).any()) for truth in self.truth)

    @property
    def cues(self) -> list[str]:
        """Cues of the recordings, the main one first."""
        return list(self.recordings[0].tracks) if self.recordings else []


def prepare_task(
    task: LabelledTask,
    plan: Plan,
    workplace: Workplace,
    problems: Problems,
    *,
    labels_rate: float,
) -> PreparedTask:
    """Read features or watch videos; where there is neither, only labels remain to score."""
    known = [one for one in task.recordings if one.features or one.video]
    if not known:
        why = "the dataset's folder holds no videos and no features of this task"
        return _blind(task, plan.rate or labels_rate, why, problems)
    for one in task.recordings:
        if one not in known:
            problems.report(f"{one.name}: has labels, but neither a video nor features")
    found = [one for one in known if one.features]
    tracked: list[tuple[LabelledRecording, Recording]] = []
    for one in found:
        tracked += [(one, read) for read in _read(one, problems, plan.rate)]
    if videos := [one for one in known if not one.features]:
        tracked += _watch(videos, plan, workplace, problems)
    tracked = _alike(sorted(tracked, key=lambda pair: known.index(pair[0])), problems)
    tracked = [pair for pair in tracked if _are_one_length(*pair, problems)]
    if not tracked:
        raise DatasetError(f"{task.name}: no recording of it can be used")
    times = [next(iter(one.tracks.values())).times for _, one in tracked]
    return PreparedTask(
        task,
        names=[one.name for one, _ in tracked],
        splits=[one.split for one, _ in tracked],
        times=times,
        truth=[
            one.annotation.labels_at(t + recording.start_seconds)  # truth is on the own clock
            for (one, recording), t in zip(tracked, times, strict=True)
        ],
        recordings=[recording for _, recording in tracked],
    )


def _are_one_length(one: LabelledRecording, recording: Recording, problems: Problems) -> bool:
    """Tell whether truth and what was read are of one length; report steps past the end, too."""
    times = next(iter(recording.tracks.values())).times
    moment = moment_seconds(times)
    end = float(times[-1]) + moment + recording.start_seconds
    told = one.annotation.duration_seconds
    slack = max(END_TOLERANCE_SECONDS, LENGTH_TOLERANCE * end, moment)
    if told is not None and abs(told - end) > slack:
        problems.report(
            f"{one.name}: its labels are of a recording of {told:.1f} s, but what was read ends at "
            f"{end:.1f} s; another recording, or at a different fps than stated?"
        )
        return False
    for step in one.annotation.steps:
        if step.end > end + slack:
            problems.report(
                f"{step.source or one.name}: {step.start:g} to {step.end:g} s (step {step.step}) "
                f"lies past the end of {one.name} ({end:.1f} s)"
            )
    return True


def _blind(task: LabelledTask, rate: float, why: str, problems: Problems) -> PreparedTask:
    """Keep the recordings of which it is known how long they last."""
    kept: list[tuple[LabelledRecording, Seconds]] = []
    for one in task.recordings:
        seconds = one.annotation.duration_seconds
        if seconds is None:
            problems.report(
                f"{one.name}: nothing says how long it lasts; a video, features or a list of "
                "durations is needed"
            )
        elif seconds * rate > MOST_MOMENTS:
            problems.report(
                f"{one.name}: is said to last {seconds:g} s, which cannot be; "
                f"at most {MOST_MOMENTS / rate:g} s are scored"
            )
        else:
            kept.append((one, np.arange(max(1, int(seconds * rate + ROUNDING))) / rate))
    if not kept:
        raise DatasetError(f"{task.name}: no recording of it can be used")
    truth = [one.annotation.labels_at(times) for one, times in kept]
    names, splits = [one.name for one, _ in kept], [one.split for one, _ in kept]
    return PreparedTask(task, names, splits, [times for _, times in kept], truth, None, why)


def _read(one: LabelledRecording, problems: Problems, rate: float | None) -> list[FeatureRecording]:
    """Return the recording's features, or nothing if they cannot be used."""
    assert one.features is not None
    try:
        recording = one.features()
    except RecordingError as problem:
        problems.report(str(problem))
        return []
    for cue, track in recording.tracks.items():
        if columns := recording.absent.get(cue):
            problems.notes.append(
                f"{one.name}: {len(columns)} of {track.width} columns of {cue}, the first of them "
                f"column {columns[0] + 1}, hold no number in any row; they count as constant"
            )
        rows = np.flatnonzero(~track.valid)
        if len(rows) and cue not in recording.marked:
            problems.report(
                f"{one.name}: {len(rows)} of {len(track)} rows of {cue} with NaN or infinity, the "
                f"first of them row {rows[0] + 1} ({track.times[rows[0]]:.2f} s); a `{cue}_valid` "
                "array in a .npz file would say that this is meant"
            )
    return [recording if rate is None else thinned(recording, rate)]


def thinned(recording: FeatureRecording, rate: float) -> FeatureRecording:
    """Keep the moments nearest to a grid of `rate` moments per second."""
    times = next(iter(recording.tracks.values())).times
    grid = np.arange(0, float(times[-1]) + ROUNDING, 1 / rate)
    after = np.clip(np.searchsorted(times, grid), 1, max(1, len(times) - 1))
    before = after - 1
    after = np.minimum(after, len(times) - 1)
    is_after = times[after] - grid < grid - times[before]
    nearest = np.unique(np.where(is_after, after, before))
    tracks = {
        cue: FeatureTrack(t.recording, cue, t.times[nearest], t.features[nearest], t.valid[nearest])
        for cue, t in recording.tracks.items()
    }
    name = f"{recording.fingerprint}@{rate:g}"
    return replace(recording, tracks=tracks, fingerprint=name)


def _watch(
    videos: Sequence[LabelledRecording],
    plan: Plan,
    workplace: Workplace,
    problems: Problems,
) -> list[tuple[LabelledRecording, Recording]]:
    paths = {one.video: one for one in videos if one.video is not None}
    files = list(paths)
    loaded = extract_recordings(
        files,
        plan.checked_settings("stepreel").extract,
        workplace.store,
        progress=workplace.progress,
    )
    for reason in loaded.failures.values():
        problems.report(reason)
    return [(paths[files[position]], one) for position, one in loaded.recordings.items()]


def _alike(
    tracked: Sequence[tuple[LabelledRecording, Recording]], problems: Problems
) -> list[tuple[LabelledRecording, Recording]]:
    kept: list[tuple[LabelledRecording, Recording]] = []
    for pair in tracked:
        try:
            check_alike(pair[1], kept[0][1] if kept else pair[1])
            kept.append(pair)
        except RecordingError as problem:
            problems.report(str(problem))
    return kept
