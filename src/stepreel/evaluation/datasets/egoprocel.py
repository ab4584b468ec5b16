"""EgoProceL: key steps of egocentric recordings of sixteen tasks, from six datasets.

Two layouts are read, the released one and a simplified one; they differ in folder names. Labels
are lines of `start_s,end_s,N step name`. As in the dataset's own evaluation, a frame shows every
step that touches it, and the later one of two. Overlapping lines are an error, although the
authors' code keeps the later one: only one step can be done at a time, so one line must be wrong.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.egoprocel_layout import (
    RecordingFiles,
    find_recordings,
    is_requested,
)
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.egoprocel_csv import read_egoprocel_rows
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.rows import build_annotation
from stepreel.evaluation.truth.step_list import MAX_DIGITS, StepList, parse_step_number
from stepreel.features.feature_files import read_features

DURATIONS, DURATION_COLUMNS = "durations.csv", ("task", "video", "duration_s")
STEPS, STEP_COLUMNS = "steps.csv", ("task", "step_index", "step_name")
Durations = dict[tuple[str, str], float]  # by task, in lower case, and recording; NaN if wrong


def read(request: Request) -> list[LabelledTask]:
    """Read the tasks of EgoProceL, or the requested ones."""
    recordings = find_recordings(request)
    durations = _read_durations(request, recordings)
    if durations is None and all(recording.labels_only for recording in recordings):
        raise DatasetError(
            f"{request.root}: there are neither videos nor features of these recordings; a file "
            f"{DURATIONS} must state how long they last (columns {', '.join(DURATION_COLUMNS)})"
        )
    steps = _read_steps(request.root / STEPS, request.problems)
    labelled: dict[str, list[LabelledRecording]] = {}
    for files in recordings:
        known = steps.setdefault(files.task.casefold(), StepList())
        recording = _recording(files, known, durations, request)
        if recording is not None:
            labelled.setdefault(files.task, []).append(recording)
    groups = {files.task: files.part.group for files in recordings}
    return [
        LabelledTask(task, tuple(takes), dict(steps[task.casefold()].names), groups[task])
        for task, takes in labelled.items()
    ]


def _recording(
    files: RecordingFiles, steps: StepList, durations: Durations | None, request: Request
) -> LabelledRecording | None:
    """Check the labels of a recording; None if it must be left out."""
    duration = None if durations is None else durations.get((files.task.casefold(), files.name))
    if duration is not None and np.isnan(duration):
        return None  # its line was reported
    if duration is None and files.labels_only:
        request.problems.report(
            f"{location(files.labels)}: labels without a recording: "
            + (
                f"there is no video or feature file called {files.name}, and no {DURATIONS} that "
                "states how long it lasts"
                if durations is None
                else f"{DURATIONS} has no line for {files.name} of {files.task}"
            )
        )
        return None
    rows = read_egoprocel_rows(files.labels, request.problems)
    if rows is None:
        return None
    annotation = build_annotation(
        files.labels,
        rows,
        steps,
        request.problems,
        recording=files.name,
        duration_seconds=duration,
        any_overlap=True,
    )
    features = None
    if files.features is not None:
        features = partial(read_features, files.features, cues=tuple(request.cues), fps=request.fps)
    return LabelledRecording(files.name, annotation, files.video, features)


def _read_durations(request: Request, recordings: Sequence[RecordingFiles]) -> Durations | None:
    """Return how long each recording of the requested tasks lasts; None without such a file."""
    path, problems = request.root / DURATIONS, request.problems
    if not path.exists():
        return None
    labelled = {(files.task.casefold(), files.name) for files in recordings}
    durations: Durations = {}
    for line, (task, video, text) in _read_table(path, DURATION_COLUMNS, problems):
        if not is_requested(task, request.task):
            continue
        key = task.casefold(), video
        seconds = _finite_number(text)
        if seconds is None or seconds <= 0:
            problems.report(f"{location(path, line)}: {text!r} is not a duration in seconds")
            durations[key] = float("nan")
        elif key in durations:
            problems.report(f"{location(path, line)}: {video} of {task} is listed twice")
        elif key not in labelled:
            problems.report(
                f"{location(path, line)}: a recording without labels: there is no "
                f"annotations/{task}/{video}.csv"
            )
        else:
            durations[key] = seconds
    return durations


def _read_steps(path: Path, problems: Problems) -> dict[str, StepList]:
    """Return the allowed steps of each task; a task that is not listed may have any."""
    names: dict[str, dict[int, str]] = {}
    rows = _read_table(path, STEP_COLUMNS, problems) if path.exists() else []
    for line, (task, index, name) in rows:
        known = names.setdefault(task.casefold(), {})
        number = parse_step_number(index)
        if not number:
            problems.report(
                f"{location(path, line)}: {index[:40]!r} is not a step's number; expected a whole "
                f"number from 1, of at most {MAX_DIGITS} digits"
            )
        elif number in known:
            problems.report(f"{location(path, line)}: step {index} of {task} is listed twice")
        else:
            known[number] = name
    return {task: StepList.of({}, known) for task, known in names.items() if known}


def _read_table(
    path: Path, columns: Sequence[str], problems: Problems
) -> list[tuple[int, list[str]]]:
    """Read some columns of a table with a header, and the number of each line.

    Wrong lines can be left out, but a file that is not such a table is always an error.
    """
    table = csv.reader(read_lines(path))
    header = [name.strip() for name in next(table, [])]
    if missing := [name for name in columns if name not in header]:
        raise DatasetError(
            f"{location(path, 1)}: no column {missing[0]!r}; expected {', '.join(columns)}"
        )
    positions = [header.index(name) for name in columns]
    rows = []
    try:
        for cells in table:
            if len(cells) > max(positions):
                rows.append((table.line_num, [cells[i].strip() for i in positions]))
            elif cells:
                problems.report(
                    f"{location(path, table.line_num)}: {len(cells)} columns; "
                    f"expected {', '.join(header)}"
                )
    except csv.Error as problem:
        raise DatasetError(
            f"{location(path, table.line_num)}: is not a table ({problem})"
        ) from None
    return rows


def _finite_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


LAYOUT = """\
annotations/CMU-MMAC/Brownie/S07_Brownie_Video/S07_Brownie_7150991-1431.csv     as released:
annotations/EGTEA_Gaze+/BaconAndEggs/OP01-R03-BaconAndEggs.csv
annotations/EPIC-Tents/01.tent.090617.gopro.egoprocel.ann.csv
annotations/{MECCANO,pc_assembly,pc_disassembly}/NAME.csv
annotations/{Brownie.cmu,BaconAndEggs.egtea,tent,meccano,pc_assembly,…}/NAME.csv  or simplified
durations.csv              columns task,video,duration_s; not needed if there are
videos/DATASET/…/NAME.mp4  videos, or
features/TASK/NAME.npz     features (also .npy, .h5, .safetensors)
steps.csv                  optional: task,step_index,step_name
"""
FORMAT = DatasetFormat(
    read=read,
    title="EgoProceL (MECCANO, EPIC-Tents, EGTEA Gaze+, CMU-MMAC, PC assembly and disassembly)",
    source="https://github.com/Sid2697/EgoProceL-egocentric-procedure-learning "
    "(EgoProceL-download-README.md)",
    layout=LAYOUT,
)
