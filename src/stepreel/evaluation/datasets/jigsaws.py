"""JIGSAWS: surgeons at a robot; gestures by video frame, and what the robot's arms did."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    VIDEOS,
    as_recording,
    files_by_stem,
    must_be_there,
    names_used,
    pick_tasks,
    raise_dataset_error,
    report_failure,
    requested_cues,
)
from stepreel.evaluation.truth.annotation import Row, StepList, annotate, place
from stepreel.evaluation.truth.frame_spans import FrameSpan, one_at_a_time
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import readable

TASKS = ("Knot_Tying", "Needle_Passing", "Suturing")
FPS = 30.0
GESTURES = {f"G{number}": number for number in range(1, 16)}
COLUMNS = {
    "slave_left": slice(38, 57),
    "slave_right": slice(57, 76),
    "master_left": slice(0, 19),
    "master_right": slice(19, 38),
}
WIDTH = 76
USUAL_CUES = ("slave_left", "slave_right")
# A trial's two files have one name: messages say which of them is meant.
TRUTH, KINEMATICS = "transcriptions", "kinematics/AllGestures"
UNLABELLED = ("Needle_Passing_B005", "Suturing_H002")  # kinematics without gestures, as released
EXTRA_FRAMES = 2  # by which gestures may last longer than kinematics
FRAME = re.compile(r"\d{1,9}")  # a video of more frames would last a year


def read_transcription(path: Path, fps: float | None) -> list[Row]:
    """Read lines of first frame, last frame (from 1) and gesture; 30 frames a second unless told.

    Every row begins and ends half a frame early, so that rounding moves no frame out of its step.
    """
    spans = _spans(read_lines(path), lambda what: raise_dataset_error(f"{place(path)}, {what}"))
    return [_row(span, fps or FPS) for span in spans]


def _row(span: FrameSpan, fps: float) -> Row:
    return Row(max(span.first - 1.5, 0.0) / fps, (span.last - 0.5) / fps, span.label, span.number)


def _spans(lines: Sequence[str], complain: Callable[[str], None]) -> list[FrameSpan]:
    spans = []
    for line, text in enumerate(lines, 1):
        parts = text.split()
        if not parts:
            continue
        if len(parts) != 3 or not (FRAME.fullmatch(parts[0]) and FRAME.fullmatch(parts[1])):
            shown = repr(text.strip()[:80])
            complain(f"line {line}: {shown}; expected first frame, last frame, gesture")
            continue
        span = FrameSpan(int(parts[0]), int(parts[1]), parts[2], line)
        if span.first < 1 or span.last < span.first:
            complain(f"line {line}: {span}; expected the first, from 1, and then the last")
            continue
        spans.append(span)
    return spans


def read(request: Request) -> list[LabelledTask]:
    """Read the trials of all tasks, or of one."""
    root = must_be_there(request.root, "the dataset's folder")
    lone = (root / TRUTH).is_dir()
    folders = {root.resolve().name: root} if lone else {name: root / name for name in TASKS}
    there = {name: folder for name, folder in folders.items() if folder.is_dir()}
    if not there:
        raise DatasetMissingError(f"{root}: holds none of the folders {', '.join(TASKS)}")
    cues = requested_cues(request, tuple(COLUMNS), USUAL_CUES)
    tasks = [
        _task(name, there[name], cues, request)
        for name in pick_tasks(request, there, group="jigsaws")
    ]
    return [task for task in tasks if task.recordings]


def _task(name: str, folder: Path, cues: Sequence[str], request: Request) -> LabelledTask:
    truth = must_be_there(folder / TRUTH, "the folder of gestures")
    transcriptions = files_by_stem(truth, (".txt",), request.problems)
    kinematics = files_by_stem(folder / KINEMATICS, (".txt",), request.problems)
    videos = files_by_stem(folder / "video", VIDEOS, request.problems)
    steps = StepList.of(GESTURES)
    recordings = []
    for trial in sorted({*transcriptions, *kinematics}):
        path, table = transcriptions.get(trial), kinematics.get(trial)
        lines = (
            [] if path is None else report_failure(request.problems, partial(_lines, path, TRUTH))
        )
        if lines is None:
            continue
        if trial in UNLABELLED and not any(map(str.strip, lines)):
            request.problems.notes.append(f"{trial}: left out: not labelled in the release")
        elif path is None:
            request.problems.report(f"{trial}.txt: has kinematics, but no transcription")
        elif kinematics and table is None:
            request.problems.report(f"{place(path)}: has a transcription, but no kinematics")
        else:
            video = videos.get(f"{trial}_capture1")
            one = _recording(path, lines, table, video, steps, cues, request)
            recordings += [one] if one is not None else []
    return LabelledTask(name, tuple(recordings), names_used(recordings, steps), "jigsaws")


def _lines(path: Path, folder: str) -> list[str]:
    try:
        return read_lines(path)
    except DatasetError as problem:
        raise RecordingError(f"{folder}: {problem}") from problem


def _recording(
    path: Path,
    lines: Sequence[str],
    table: Path | None,
    video: Path | None,
    steps: StepList,
    cues: Sequence[str],
    request: Request,
) -> LabelledRecording | None:
    fps = request.fps or FPS
    frames = None if table is None else report_failure(request.problems, partial(_count, table))
    if table is not None and frames is None:
        return None

    def complain(what: str) -> None:
        request.problems.report(f"{place(path)}, {what}")

    spans = _inside(_spans(lines, complain), frames, complain)
    rows = [_row(span, fps) for span in one_at_a_time(spans, steps, complain, unit="line")]
    duration = None if frames is None else frames / fps
    annotation = annotate(path, rows, steps, request.problems, duration_seconds=duration)
    if not annotation.steps:
        request.problems.report(
            f"{TRUTH}/{place(path)}: a recording without labels; expected lines of first frame, "
            "last frame, gesture"
        )
        return None
    features = None if table is None else partial(read_kinematics, table, cues, fps)
    return LabelledRecording(annotation.recording, annotation, video, features)


def _inside(
    spans: Sequence[FrameSpan], frames: int | None, complain: Callable[[str], None]
) -> list[FrameSpan]:
    """Let spans end with the kinematics; complain of those that last longer than those may."""
    if frames is None:
        return list(spans)
    inside = []
    for span in spans:
        if span.last > frames + EXTRA_FRAMES:
            complain(
                f"line {span.number}: {span} lie past the end of the kinematics ({frames} frames); "
                "is one of the two of another recording, or at another frame rate?"
            )
        elif span.first <= frames:
            inside.append(replace(span, last=min(span.last, frames)))
    return inside


def _count(path: Path) -> int:
    """Return how many frames there are kinematics of; the first of them must be right."""
    lines = [line for line in _lines(path, KINEMATICS) if line.strip()]
    _numbers(path, lines[:1])
    return len(lines)


def _numbers(path: Path, lines: Sequence[str]) -> NDArray[np.float64]:
    what = f"{KINEMATICS}/{place(path)}"
    if not lines:
        raise RecordingError(f"{what}: holds no numbers; expected {WIDTH} per frame")
    try:
        table = np.loadtxt(lines, np.float64, comments=None, ndmin=2)
    except ValueError as problem:
        raise RecordingError(
            f"{what}: is no table of numbers separated by blanks ({str(problem).partition(';')[0]})"
        ) from problem
    if table.shape[1] != WIDTH:
        raise RecordingError(f"{what}: has {table.shape[1]} columns; expected {WIDTH}")
    return table


def read_kinematics(path: Path, cues: Sequence[str], fps: float) -> FeatureRecording:
    """Read the 76 columns of a trial: 19 per arm, of which each is a cue."""
    lines = [line for line in _lines(path, KINEMATICS) if line.strip()]
    table = _numbers(path, lines)
    arrays = {cue: table[:, COLUMNS[cue]] for cue in cues}
    return as_recording(path, readable(path.stem), arrays, fps)


FORMAT = DatasetFormat(
    read,
    "JIGSAWS: suturing, knot tying and needle passing with a surgical robot",
    "https://cirl.lcsr.jhu.edu/research/hmm/datasets/jigsaws_release/ (after filling in a form)",
    """\
Suturing/transcriptions/Suturing_B001.txt           lines "80 213 G1": frames from 1, gesture
Suturing/kinematics/AllGestures/Suturing_B001.txt   76 numbers per frame
Suturing/video/Suturing_B001_capture1.avi           may be missing
Knot_Tying/…, Needle_Passing/…                      alike; the folder of one task will do
Cues: slave_left, slave_right (used unless others are asked for), master_left, master_right.
30 frames per second, unless --fps says otherwise.""",
    labels_rate=FPS,
)
