"""JIGSAWS: surgeons at a robot; gestures by video frame, and what the robot's arms did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from stepreel.datasets.annotation import Row, StepList, annotate, place
from stepreel.datasets.benchmark import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    NotThereError,
    Request,
)
from stepreel.datasets.frame_labels import names_used, read_lines
from stepreel.datasets.ready_made import (
    VIDEOS,
    as_recording,
    count_rows,
    files_by_stem,
    must_be_there,
    or_report,
    pick_cues,
    pick_tasks,
    read_table,
    refuse,
)
from stepreel.errors import RecordingError
from stepreel.feature_files import FeatureRecording
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


def read_transcription(path: Path, fps: float | None) -> list[Row]:
    """Read lines of first frame, last frame (from 1) and gesture; 30 frames a second unless told.

    Every row begins and ends half a frame early, so that rounding moves no frame out of its step.
    """
    return _rows(path, read_lines(path), fps or FPS, refuse)


def _rows(
    path: Path, lines: Sequence[str], fps: float, complain: Callable[[str], None]
) -> list[Row]:
    rows = []
    for line, text in enumerate(lines, 1):
        parts = text.split()
        if not parts:
            continue
        if len(parts) != 3 or not (parts[0].isdecimal() and parts[1].isdecimal()):
            complain(
                f"{place(path, line)}: {text.strip()!r}; expected first frame, last frame, gesture"
            )
            continue
        first, last = int(parts[0]), int(parts[1])
        if first < 1 or last < first:
            complain(
                f"{place(path, line)}: frames {first} to {last} ({parts[2]}); expected the first, "
                "from 1, and then the last"
            )
            continue
        rows.append(Row(max(first - 1.5, 0.0) / fps, (last - 0.5) / fps, parts[2], line))
    return rows


def read(request: Request) -> list[LabelledTask]:
    """Read the trials of all tasks, or of one."""
    root = must_be_there(request.root, "the dataset's folder")
    lone = (root / "transcriptions").is_dir()
    folders = {root.resolve().name: root} if lone else {name: root / name for name in TASKS}
    there = {name: folder for name, folder in folders.items() if folder.is_dir()}
    if not there:
        raise NotThereError(f"{root}: holds none of the folders {', '.join(TASKS)}")
    cues = pick_cues(request, tuple(COLUMNS), USUAL_CUES)
    tasks = [
        _task(name, there[name], cues, request)
        for name in pick_tasks(request, there, group="jigsaws")
    ]
    return [task for task in tasks if task.recordings]


def _task(name: str, folder: Path, cues: Sequence[str], request: Request) -> LabelledTask:
    truth = must_be_there(folder / "transcriptions", "the folder of gestures")
    transcriptions = files_by_stem(truth, (".txt",), request.problems)
    kinematics = files_by_stem(folder / "kinematics" / "AllGestures", (".txt",), request.problems)
    videos = files_by_stem(folder / "video", VIDEOS, request.problems)
    steps = StepList.of(GESTURES)
    recordings = []
    for trial in sorted({*transcriptions, *kinematics}):
        path, table = transcriptions.get(trial), kinematics.get(trial)
        if path is None:
            request.problems.report(f"{trial}.txt: has kinematics, but no transcription")
        elif kinematics and table is None:
            request.problems.report(f"{place(path)}: has a transcription, but no kinematics")
        else:
            one = _recording(path, table, videos.get(f"{trial}_capture1"), steps, cues, request)
            recordings += [one] if one is not None else []
    return LabelledTask(name, tuple(recordings), names_used(recordings, steps), "jigsaws")


def _recording(
    path: Path,
    table: Path | None,
    video: Path | None,
    steps: StepList,
    cues: Sequence[str],
    request: Request,
) -> LabelledRecording | None:
    fps = request.fps or FPS
    lines = or_report(request.problems, partial(read_lines, path))
    frames = 0 if table is None else or_report(request.problems, partial(count_rows, table))
    if lines is None or frames is None:
        return None
    rows = _rows(path, lines, fps, request.problems.report)
    duration = None if table is None else frames / fps
    annotation = annotate(path, rows, steps, request.problems, duration_seconds=duration)
    features = None if table is None else partial(read_kinematics, table, cues, fps)
    return LabelledRecording(annotation.recording, annotation, video, features)


def read_kinematics(path: Path, cues: Sequence[str], fps: float) -> FeatureRecording:
    """Read the 76 columns of a trial: 19 per arm, of which each is a cue."""
    table = read_table(path)
    if table.shape[1] != WIDTH:
        raise RecordingError(
            f"{readable(path.name)}: has {table.shape[1]} columns of kinematics; expected {WIDTH}"
        )
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
