"""EgoProceL: key steps of egocentric recordings of sixteen tasks, from six datasets.

Two layouts are read, the released one and a tidied one; the names of folders tell which it is.
A line reads `start_s,end_s,N step name`. As in the dataset's own evaluation, every frame that a
line touches shows its step; where one line ends and the next begins within a frame, the later one
prevails. Lines that overlap are an error, although the authors' code lets the later one prevail:
only one step can be done at a time, so one of the lines must be wrong.
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
from stepreel.evaluation.datasets.egoprocel_layout import Listed, find_recordings, is_wanted
from stepreel.evaluation.datasets.reading import MOST_DIGITS, report_failure, whole_number
from stepreel.evaluation.truth.annotation import (
    Problems,
    Row,
    StepList,
    annotate,
    place,
    split_number,
)
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.feature_files import read_features

DURATIONS, DURATION_COLUMNS = "durations.csv", ("task", "video", "duration_s")
STEPS, STEP_COLUMNS = "steps.csv", ("task", "step_index", "step_name")
Durations = dict[tuple[str, str], float]  # by task, in lower case, and recording


def read(request: Request) -> list[LabelledTask]:
    """Read the tasks of EgoProceL, or those that are asked for."""
    recordings = find_recordings(request)
    durations = _read_durations(request, recordings)
    if durations is None and not any(one.video or one.features for one in recordings):
        raise DatasetError(
            f"{request.root}: there are neither videos nor features of these recordings, so a file "
            f"{DURATIONS} must say how long they last (columns {', '.join(DURATION_COLUMNS)})"
        )
    steps = _read_steps(request)
    labelled: dict[str, list[LabelledRecording]] = {}
    for one in recordings:
        known = steps.setdefault(one.task.casefold(), StepList())
        recording = _labelled(one, known, durations, request)
        if recording is not None:
            labelled.setdefault(one.task, []).append(recording)
    groups = {one.task: one.part.group for one in recordings}
    return [
        LabelledTask(task, tuple(found), dict(steps[task.casefold()].names), groups[task])
        for task, found in labelled.items()
    ]


def read_key_steps(path: Path, fps: float | None = None) -> list[Row]:
    """Read the lines `start_s,end_s,N step name` of one file."""
    lines = enumerate(read_lines(path), 1)
    return [_row(path, number, line) for number, line in lines if line.strip()]


def key_steps_in(path: Path, problems: Problems) -> list[Row] | None:
    """Do the same line by line, so that a lenient reader loses bad lines only; None: no text.

    An empty file says that no key step was done; the dataset has such.
    """
    lines = report_failure(problems, partial(read_lines, path))
    if lines is None:
        return None
    rows = (
        report_failure(problems, partial(_row, path, number, line))
        for number, line in enumerate(lines, 1)
        if line.strip()
    )
    return [row for row in rows if row is not None]


def _row(path: Path, number: int, line: str) -> Row:
    """Read one line; a name may hold commas, and may be quoted."""
    start, end, label = (*(_unquoted(part) for part in line.split(",", 2)), "", "")[:3]
    try:
        seconds = float(start), float(end)
    except ValueError:
        seconds = None
    step = split_number(label)[0]
    if seconds is None or step is None:
        raise DatasetError(
            f"{place(path, number)}: {line.strip()[:60]!r}; expected `start_s,end_s,N step name`"
        )
    return Row(*seconds, label if step else "background", number)


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"').strip() if quoted else text


def _labelled(
    one: Listed, steps: StepList, durations: Durations | None, request: Request
) -> LabelledRecording | None:
    """Check the labels of a recording; None if it must be left out."""
    seconds = None
    if durations is not None:
        seconds = durations.get((one.task.casefold(), one.name))
        if seconds is not None and np.isnan(seconds):
            return None  # its line was reported
        if seconds is None and one.video is None and one.features is None:
            request.problems.report(
                f"{place(one.labels)}: labels without a recording: {DURATIONS} has no line for "
                f"{one.name} of {one.task}"
            )
            return None
    elif one.video is None and one.features is None:
        request.problems.report(
            f"{place(one.labels)}: labels without a recording: there is no video or feature file "
            f"called {one.name}, and no {DURATIONS} that says how long it lasts"
        )
        return None
    rows = key_steps_in(one.labels, request.problems)
    if rows is None:
        return None
    truth = annotate(
        one.labels,
        rows,
        steps,
        request.problems,
        recording=one.name,
        duration_seconds=seconds,
        whole_frames=True,
    )
    features = None
    if one.features is not None:
        features = partial(read_features, one.features, cues=tuple(request.cues), fps=request.fps)
    return LabelledRecording(one.name, truth, one.video, features)


def _read_durations(request: Request, recordings: Sequence[Listed]) -> Durations | None:
    """Return how long each recording of the tasks that are asked for lasts; None if untold."""
    path = request.root / DURATIONS
    if not path.exists():
        return None
    labelled = {(one.task.casefold(), one.name) for one in recordings}
    durations: Durations = {}
    for line, (task, video, text) in _read_table(path, DURATION_COLUMNS, request.problems):
        if not is_wanted(request, task):
            continue
        key = task.casefold(), video
        seconds = _number(text)
        if seconds is None or seconds <= 0:
            request.problems.report(f"{place(path, line)}: {text!r} is no duration in seconds")
            durations[key] = float("nan")
        elif key in durations:
            request.problems.report(f"{place(path, line)}: {video} of {task} is listed twice")
        elif key not in labelled:
            request.problems.report(
                f"{place(path, line)}: a recording without labels: there is no "
                f"annotations/{task}/{video}.csv"
            )
        else:
            durations[key] = seconds
    return durations


def _read_steps(request: Request) -> dict[str, StepList]:
    """Return the steps of each task that are allowed; of a task that is not listed, all are."""
    path = request.root / STEPS
    names: dict[str, dict[int, str]] = {}
    rows = _read_table(path, STEP_COLUMNS, request.problems) if path.exists() else []
    for line, (task, index, name) in rows:
        known = names.setdefault(task.casefold(), {})
        number = whole_number(index)
        if not number:
            request.problems.report(
                f"{place(path, line)}: {index[:40]!r} is no number of a step; expected a whole one "
                f"from 1, of at most {MOST_DIGITS} digits"
            )
        elif number in known:
            request.problems.report(f"{place(path, line)}: step {index} of {task} is listed twice")
        else:
            known[number] = name
    return {task: StepList.of({}, known) for task, known in names.items() if known}


def _read_table(
    path: Path, columns: Sequence[str], problems: Problems
) -> list[tuple[int, list[str]]]:
    """Read some columns of a table with a header, and the number of each line.

    Bad lines can be left out, but a table that is none is always an error.
    """
    table = csv.reader(read_lines(path))
    header = [name.strip() for name in next(table, [])]
    if missing := [name for name in columns if name not in header]:
        raise DatasetError(
            f"{place(path, 1)}: no column {missing[0]!r}; expected {', '.join(columns)}"
        )
    places = [header.index(name) for name in columns]
    rows = []
    try:
        for cells in table:
            if len(cells) > max(places):
                rows.append((table.line_num, [cells[at].strip() for at in places]))
            elif cells:
                problems.report(
                    f"{place(path, table.line_num)}: {len(cells)} columns; "
                    f"expected {', '.join(header)}"
                )
    except csv.Error as problem:
        raise DatasetError(f"{place(path, table.line_num)}: is no table ({problem})") from None
    return rows


def _number(text: str) -> float | None:
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
annotations/{Brownie.cmu,BaconAndEggs.egtea,tent,meccano,pc_assembly,…}/NAME.csv    or tidied
durations.csv              with columns task,video,duration_s; not needed if there are
videos/DATASET/…/NAME.mp4  videos, or
features/TASK/NAME.npz     features (also .npy, .h5, .safetensors)
steps.csv                  if wanted: task,step_index,step_name
"""
FORMAT = DatasetFormat(
    read=read,
    title="EgoProceL (MECCANO, EPIC-Tents, EGTEA Gaze+, CMU-MMAC, PC assembly and disassembly)",
    source="https://github.com/Sid2697/EgoProceL-egocentric-procedure-learning "
    "(EgoProceL-download-README.md)",
    layout=LAYOUT,
)
