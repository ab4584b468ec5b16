"""A labelled task → tracks, which methods see, and truth, which only scoring sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError, RecordingError, StepreelError
from stepreel.evaluation.datasets.base import LabelledRecording, LabelledTask
from stepreel.evaluation.truth.annotation import (
    BACKGROUND,
    END_TOLERANCE_SECONDS,
    LENGTH_TOLERANCE,
    ROUNDING,
    Problems,
)
from stepreel.evaluation.truth.common_moments import MOST_MOMENTS
from stepreel.features.feature_files import FeatureRecording, check_same_cues
from stepreel.features.sources import LoadedRecordings
from stepreel.types import FeatureTrack, Labels, Recording, Seconds, moment_seconds

ExtractVideos = Callable[[Sequence[Path]], LoadedRecordings]


@contextmanager
def naming_left_out(problems: Problems) -> Iterator[None]:
    """Add what a lenient reading left out to an error, as notes: it may be the reason for it."""
    try:
        yield
    except StepreelError as problem:
        for reason in problems.skipped:
            problem.add_note(f"left out: {reason}")
        raise


@dataclass(frozen=True)
class PreparedTask:
    """A task whose recordings have been read.

    recordings  None if a dataset has nothing but labels; `blind_because` says why
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
        """Whether any moment shows a key step; if not, there is nothing to score against."""
        return any(bool((truth != BACKGROUND).any()) for truth in self.truth)

    @property
    def cues(self) -> list[str]:
        """Cues of the recordings, the main one first."""
        return list(self.recordings[0].tracks) if self.recordings else []


def prepare_task(
    task: LabelledTask,
    problems: Problems,
    *,
    labels_rate: float,
    rate: float | None = None,
    extract: ExtractVideos | None = None,
) -> PreparedTask:
    """Read features or extract them from videos; with neither, only labels remain to score.

    labels_rate  moments per second to score at if there are only labels
    rate         moments per second to score at, whatever there is; None: as the features have them
    extract      extracts the tracks of videos; not needed for a task without any
    """
    known = [labelled for labelled in task.recordings if labelled.features or labelled.video]
    if not known:
        why = "the dataset's folder contains no videos and no features of this task"
        return _prepare_labels(task, rate or labels_rate, why, problems)
    for labelled in task.recordings:
        if labelled not in known:
            problems.report(f"{labelled.name}: has labels, but neither a video nor features")
    pairs: list[tuple[LabelledRecording, Recording]] = []
    for labelled in known:
        if labelled.features:
            pairs += [(labelled, read) for read in _read(labelled, problems, rate)]
    if videos := [labelled for labelled in known if not labelled.features]:
        assert extract is not None
        pairs += _extract(videos, extract, problems)
    pairs = _with_same_cues(sorted(pairs, key=lambda pair: known.index(pair[0])), problems)
    pairs = [pair for pair in pairs if _lengths_agree(*pair, problems)]
    if not pairs:
        raise DatasetError(f"{task.name}: none of its recordings can be used")
    return PreparedTask(
        task,
        names=[labelled.name for labelled, _ in pairs],
        splits=[labelled.split for labelled, _ in pairs],
        times=[recording.times for _, recording in pairs],
        truth=[  # labels are on the recording's own clock
            labelled.annotation.labels_at(recording.times + recording.start_seconds)
            for labelled, recording in pairs
        ],
        recordings=[recording for _, recording in pairs],
    )


def _lengths_agree(labelled: LabelledRecording, recording: Recording, problems: Problems) -> bool:
    """Tell whether labels and recording are of the same length; report steps past the end, too."""
    moment = moment_seconds(recording.times)
    end = float(recording.times[-1]) + moment + recording.start_seconds
    stated = labelled.annotation.duration_seconds
    slack = max(END_TOLERANCE_SECONDS, LENGTH_TOLERANCE * end, moment)
    if stated is not None and abs(stated - end) > slack:
        problems.report(
            f"{labelled.name}: its labels are of a recording of {stated:.1f} s, but the features "
            f"end at {end:.1f} s; another recording, or at a different fps than stated?"
        )
        return False
    for step in labelled.annotation.steps:
        if step.end > end + slack:
            problems.report(
                f"{step.source or labelled.name}: {step.start:g} to {step.end:g} s "
                f"(step {step.step}) is past the end of {labelled.name} ({end:.1f} s)"
            )
    return True


def _prepare_labels(task: LabelledTask, rate: float, why: str, problems: Problems) -> PreparedTask:
    """Keep the recordings whose length is known."""
    kept: list[tuple[LabelledRecording, Seconds]] = []
    for labelled in task.recordings:
        seconds = labelled.annotation.duration_seconds
        if seconds is None:
            problems.report(
                f"{labelled.name}: its length is unknown; a video, features or a list of "
                "durations is needed"
            )
        elif seconds * rate > MOST_MOMENTS:
            problems.report(
                f"{labelled.name}: a length of {seconds:g} s cannot be right; "
                f"at most {MOST_MOMENTS / rate:g} s are scored"
            )
        else:
            kept.append((labelled, np.arange(max(1, int(seconds * rate + ROUNDING))) / rate))
    if not kept:
        raise DatasetError(f"{task.name}: none of its recordings can be used")
    return PreparedTask(
        task,
        names=[labelled.name for labelled, _ in kept],
        splits=[labelled.split for labelled, _ in kept],
        times=[times for _, times in kept],
        truth=[labelled.annotation.labels_at(times) for labelled, times in kept],
        recordings=None,
        blind_because=why,
    )


def _read(
    labelled: LabelledRecording, problems: Problems, rate: float | None
) -> list[FeatureRecording]:
    """Return the recording's features, or nothing if they cannot be used."""
    assert labelled.features is not None
    try:
        recording = labelled.features()
    except RecordingError as problem:
        problems.report(str(problem))
        return []
    for cue, track in recording.tracks.items():
        if columns := recording.absent.get(cue):
            problems.notes.append(
                f"{labelled.name}: {len(columns)} of {track.width} columns of {cue}, the first of "
                f"them column {columns[0] + 1}, contain no number; they count as constant"
            )
        rows = np.flatnonzero(~track.valid)
        if len(rows) and cue not in recording.marked:
            problems.report(
                f"{labelled.name}: {len(rows)} of {len(track)} rows of {cue} with NaN or infinity, "
                f"the first of them row {rows[0] + 1} ({track.times[rows[0]]:.2f} s); mark them "
                f"with an array `{cue}_valid` in a .npz file if this is intended"
            )
    return [recording if rate is None else thinned(recording, rate)]


def thinned(recording: FeatureRecording, rate: float) -> FeatureRecording:
    """Keep the moments nearest to a grid of `rate` moments per second."""
    times = recording.times
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


def _extract(
    videos: Sequence[LabelledRecording], extract: ExtractVideos, problems: Problems
) -> list[tuple[LabelledRecording, Recording]]:
    by_path = {labelled.video: labelled for labelled in videos if labelled.video is not None}
    paths = list(by_path)
    loaded = extract(paths)
    for reason in loaded.failures.values():
        problems.report(reason)
    return [(by_path[paths[position]], video) for position, video in loaded.recordings.items()]


def _with_same_cues(
    pairs: Sequence[tuple[LabelledRecording, Recording]], problems: Problems
) -> list[tuple[LabelledRecording, Recording]]:
    """Keep recordings with the cues and widths of the first."""
    kept: list[tuple[LabelledRecording, Recording]] = []
    for labelled, recording in pairs:
        try:
            check_same_cues(recording, kept[0][1] if kept else recording)
            kept.append((labelled, recording))
        except RecordingError as problem:
            problems.report(str(problem))
    return kept
