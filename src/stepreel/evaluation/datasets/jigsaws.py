"""JIGSAWS: surgeons at a robot; gestures by video frame, and the motion of the robot's arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.reading import (
    VIDEO_SUFFIXES,
    build_recording,
    files_by_stem,
    pick_tasks,
    requested_cues,
    require,
    used_step_names,
)
from stepreel.evaluation.truth.annotation import Problems, Report, location
from stepreel.evaluation.truth.frame_spans import FrameSpan, drop_overlaps
from stepreel.evaluation.truth.jigsaws_text import (
    JIGSAWS_FPS,
    parse_jigsaws_lines,
    row_of_gesture,
)
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.rows import build_annotation
from stepreel.evaluation.truth.step_list import StepList
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import readable

TASKS = ("Knot_Tying", "Needle_Passing", "Suturing")
GESTURES = {f"G{number}": number for number in range(1, 16)}
COLUMNS = {
    "slave_left": slice(38, 57),
    "slave_right": slice(57, 76),
    "master_left": slice(0, 19),
    "master_right": slice(19, 38),
}
WIDTH = 76
DEFAULT_CUES = ("slave_left", "slave_right")
# A trial's two files have the same name, so messages name the folder, too.
TRANSCRIPTIONS, KINEMATICS = "transcriptions", "kinematics/AllGestures"
UNLABELLED = ("Needle_Passing_B005", "Suturing_H002")  # kinematics without gestures, as released
EXTRA_FRAMES = 2  # by which gestures may last longer than kinematics


@dataclass(frozen=True)
class _Trial:
    """One recording: the lines of its transcription, its kinematics and its video, if any."""

    path: Path
    lines: Sequence[str]
    kinematics: Path | None
    video: Path | None


def read(request: Request) -> list[LabelledTask]:
    """Read the trials of all tasks, or of one."""
    root = require(request.root, "the dataset's folder")
    is_task = (root / TRANSCRIPTIONS).is_dir()
    folders = {root.resolve().name: root} if is_task else {name: root / name for name in TASKS}
    existing = {name: folder for name, folder in folders.items() if folder.is_dir()}
    if not existing:
        raise DatasetMissingError(f"{root}: contains none of the folders {', '.join(TASKS)}")
    cues = requested_cues(request, tuple(COLUMNS), DEFAULT_CUES)
    tasks = [
        _task(name, existing[name], cues, request.fps or JIGSAWS_FPS, request.problems)
        for name in pick_tasks(request, existing, group="jigsaws")
    ]
    return [task for task in tasks if task.recordings]


def _task(
    name: str, folder: Path, cues: Sequence[str], fps: float, problems: Problems
) -> LabelledTask:
    steps = StepList.of(GESTURES)
    recordings = []
    for trial in _read_trials(folder, problems):
        recording = _recording(trial, steps, cues, fps, problems)
        recordings += [recording] if recording is not None else []
    return LabelledTask(name, tuple(recordings), used_step_names(recordings, steps), "jigsaws")


def _read_trials(folder: Path, problems: Problems) -> list[_Trial]:
    """Read the transcriptions of a task; report trials that lack a file."""
    gestures = require(folder / TRANSCRIPTIONS, "the folder of gestures")
    transcriptions = files_by_stem(gestures, (".txt",), problems)
    kinematics = files_by_stem(folder / KINEMATICS, (".txt",), problems)
    videos = files_by_stem(folder / "video", VIDEO_SUFFIXES, problems)
    trials = []
    for name in sorted({*transcriptions, *kinematics}):
        path, table = transcriptions.get(name), kinematics.get(name)
        lines = [] if path is None else problems.attempt(_read_lines, path, TRANSCRIPTIONS)
        if lines is None:
            continue
        if name in UNLABELLED and not any(map(str.strip, lines)):
            problems.notes.append(f"{name}: left out: not labelled in the release")
        elif path is None:
            problems.report(f"{name}.txt: has kinematics, but no transcription")
        elif kinematics and table is None:
            problems.report(f"{location(path)}: has a transcription, but no kinematics")
        else:
            trials.append(_Trial(path, lines, table, videos.get(f"{name}_capture1")))
    return trials


def _read_lines(path: Path, folder: str) -> list[str]:
    try:
        return read_lines(path)
    except DatasetError as problem:
        raise RecordingError(f"{folder}: {problem}") from problem


def _recording(
    trial: _Trial, steps: StepList, cues: Sequence[str], fps: float, problems: Problems
) -> LabelledRecording | None:
    path, table = trial.path, trial.kinematics
    n_frames = None if table is None else problems.attempt(_count_frames, table)
    if table is not None and n_frames is None:
        return None

    def report(message: str) -> None:
        problems.report(f"{location(path)}, {message}")

    spans = _cut_at_end(parse_jigsaws_lines(trial.lines, report), n_frames, report)
    spans = drop_overlaps(spans, steps, report, unit="line")
    rows = [row_of_gesture(span, fps) for span in spans]
    duration = None if n_frames is None else n_frames / fps
    annotation = build_annotation(path, rows, steps, problems, duration_seconds=duration)
    if not annotation.steps:
        problems.report(
            f"{TRANSCRIPTIONS}/{location(path)}: a recording without labels; expected lines of "
            "first frame, last frame, gesture"
        )
        return None
    features = None if table is None else partial(_read_kinematics, table, cues, fps)
    return LabelledRecording(annotation.recording, annotation, trial.video, features)


def _cut_at_end(
    spans: Sequence[FrameSpan], n_frames: int | None, report: Report
) -> list[FrameSpan]:
    """End spans with the kinematics; report those that last too much longer."""
    if n_frames is None:
        return list(spans)
    inside = []
    for span in spans:
        if span.last > n_frames + EXTRA_FRAMES:
            report(
                f"line {span.number}: {span} lie past the end of the kinematics ({n_frames} "
                "frames); does one of the two belong to another recording or frame rate?"
            )
        elif span.first <= n_frames:
            inside.append(replace(span, last=min(span.last, n_frames)))
    return inside


def _count_frames(path: Path) -> int:
    """Return the number of frames in a table of kinematics; only the first line is parsed."""
    lines = [line for line in _read_lines(path, KINEMATICS) if line.strip()]
    _parse_table(path, lines[:1])
    return len(lines)


def _parse_table(path: Path, lines: Sequence[str]) -> NDArray[np.float64]:
    where = f"{KINEMATICS}/{location(path)}"
    if not lines:
        raise RecordingError(f"{where}: contains no numbers; expected {WIDTH} per frame")
    try:
        table = np.loadtxt(lines, np.float64, comments=None, ndmin=2)
    except ValueError as problem:
        reason = str(problem).partition(";")[0]
        raise RecordingError(
            f"{where}: is not a table of numbers separated by blanks ({reason})"
        ) from problem
    if table.shape[1] != WIDTH:
        raise RecordingError(f"{where}: has {table.shape[1]} columns; expected {WIDTH}")
    return table


def _read_kinematics(path: Path, cues: Sequence[str], fps: float) -> FeatureRecording:
    """Read the 76 columns of a trial: 19 for each of four arms, which are the cues."""
    lines = [line for line in _read_lines(path, KINEMATICS) if line.strip()]
    table = _parse_table(path, lines)
    arrays = {cue: table[:, COLUMNS[cue]] for cue in cues}
    return build_recording(path, readable(path.stem), arrays, fps)


FORMAT = DatasetFormat(
    read,
    "JIGSAWS: suturing, knot tying and needle passing with a surgical robot",
    "https://cirl.lcsr.jhu.edu/research/hmm/datasets/jigsaws_release/ (after filling in a form)",
    """\
Suturing/transcriptions/Suturing_B001.txt           lines "80 213 G1": frames from 1, gesture
Suturing/kinematics/AllGestures/Suturing_B001.txt   76 numbers per frame
Suturing/video/Suturing_B001_capture1.avi           optional
Knot_Tying/…, Needle_Passing/…                      the same; one task's folder is enough
Cues: slave_left, slave_right (the default), master_left, master_right.
30 frames per second, unless --fps (fps=…) is given.""",
    labels_rate=JIGSAWS_FPS,
)
