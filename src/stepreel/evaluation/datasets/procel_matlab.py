"""ProceL's labels as released: data.mat has the key steps of a task, readme.txt its videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError
from stepreel.evaluation.datasets.matlab_structure import check_matlab
from stepreel.evaluation.datasets.reading import require
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.rows import Row
from stepreel.evaluation.truth.step_list import StepList
from stepreel.system.files import read_regular

STEP_NAMES, STEP_TIMES = "grammar", "key_steps_time"
PARTS = "superframe_time"  # start and end of the parts that a whole video was cut into
# Videos that readme.txt of the release lists although data.mat does not contain them, and why.
UNLABELLED = {"cpr_0041": "the release has neither key steps nor a video of it"}


@dataclass(frozen=True)
class VideoLabels:
    """The rows of a video, the file to name in messages, and how long it lasts, if stated."""

    path: Path
    rows: Sequence[Row]
    duration_seconds: float | None = None


@dataclass(frozen=True)
class TaskLabels:
    """The steps of a task, and its videos by name."""

    steps: StepList
    videos: Mapping[str, VideoLabels]


@dataclass(frozen=True)
class _Cells:
    """Content of data.mat: the names of steps, and the step times and length of every video."""

    names: list[str]
    times: list[NDArray[Any]]
    durations: list[float | None]


def read_matlab_labels(task: str, path: Path, problems: Problems) -> TaskLabels | None:
    """Read the videos of a task; readme.txt has their names in the order of data.mat."""
    cells = problems.attempt(_load_cells, task, path)
    listed = _read_names(task, path.with_name("readme.txt"), problems)
    if cells is None or listed is None:
        return None
    names = _one_per_cell(task, listed, len(cells.times), problems)
    if names is None:
        return None
    videos: dict[str, VideoLabels] = {}
    for name, times, duration in zip(names, cells.times, cells.durations, strict=True):
        if not name:
            continue
        source = Path(f"data.mat of {task}, {name}")  # for messages; there is no such file
        if name in videos:
            problems.report(f"readme.txt of {task}: {name} is listed twice")
            continue
        rows = problems.attempt(_parse_times, source, times, len(cells.names))
        if rows is not None:
            videos[name] = VideoLabels(source, rows, duration)
    steps = dict(enumerate(cells.names, 1))
    return TaskLabels(StepList.of({str(step): step for step in steps}, steps), videos)


def _one_per_cell(
    task: str, listed: Sequence[str], n_cells: int, problems: Problems
) -> list[str] | None:
    """Return the names of the `n_cells` videos of data.mat; None if they cannot be matched.

    Names are matched by position alone: after a surplus one, all others would be wrong.
    """
    names = list(listed)
    if len(names) != n_cells:
        names = [name for name in listed if name not in UNLABELLED]
    if len(names) != n_cells:
        problems.report(
            f"readme.txt of {task}: lists {len(listed)} videos, but data.mat has key steps of "
            f"{n_cells}; they are matched by position, so nothing of this task can be used; "
            "expected one line per video in data.mat"
        )
        return None
    for name in (name for name in listed if name not in names):
        problems.notes.append(f"{task}: {name} is left out: {UNLABELLED[name]}")
    return names


def _load_cells(task: str, path: Path) -> _Cells:
    from scipy.io import loadmat

    source = f"data.mat of {task}"
    variables = [STEP_NAMES, STEP_TIMES, PARTS]
    try:
        file = read_regular(path)
        if file.startswith(b"MATLAB 7.3"):
            raise DatasetError(
                f"{source}: is a MATLAB 7.3 file (HDF5), which is not supported; "
                "save it in MATLAB with save(…, '-v7')"
            )
        check_matlab(file, variables)
        content = loadmat(BytesIO(file), variable_names=variables)
    except DatasetError:
        raise
    except OSError as problem:
        raise DatasetError(f"{source}: cannot be read ({problem.strerror})") from problem
    except Exception as problem:  # scipy raises anything for damaged files
        raise DatasetError(f"{source}: is not a MATLAB file ({problem})") from problem
    for name in (STEP_NAMES, STEP_TIMES):
        if name not in content or content[name].dtype != object:
            raise DatasetError(f"{source}: contains no cell array `{name}`")
    names = ["".join(map(str, np.ravel(name))).strip() for name in content[STEP_NAMES].ravel()]
    times = list(content[STEP_TIMES].ravel())
    durations = [_end_of(parts) for parts in np.ravel(content.get(PARTS, ()))]
    return _Cells(names, times, durations if len(durations) == len(times) else [None] * len(times))


def _end_of(parts: object) -> float | None:
    """Return when the last part of a video ends; None if there is no such table."""
    table = np.asarray(parts)
    if not _is_start_end_table(table) or not len(table):
        return None
    end = float(table[-1, 1])
    return end if 0 < end < np.inf else None


def _is_start_end_table(table: NDArray[Any]) -> bool:
    return table.ndim == 2 and table.shape[1] == 2 and table.dtype.kind in "fiu"


def _read_names(task: str, path: Path, problems: Problems) -> list[str] | None:
    """Return the names of videos; an empty name stands for a line without one."""
    require(path, "the list of videos")
    lines = problems.attempt(read_lines, path)
    if lines is None:
        return None
    names = []
    for number, line in enumerate(lines, 1):
        parts = [part.strip() for part in line.split("\t")]
        if not line.strip():
            continue
        if len(parts) < 2 or not parts[1]:
            problems.report(
                f"readme.txt of {task}, line {number}: {line!r}; "
                "expected a name after the first tab"
            )
            names.append("")
        else:
            names.append(parts[1])
    return names


def _parse_times(source: Path, cell: NDArray[Any], n_steps: int) -> list[Row]:
    """Parse the times of one video: for each step, a start and an end per time it is done."""
    per_step = list(np.ravel(cell)) if cell.dtype == object else []
    if len(per_step) != n_steps:
        raise DatasetError(
            f"{location(source)}: has times of {len(per_step)} steps; expected {n_steps} cells"
        )
    rows = []
    for step, times in enumerate(per_step, 1):
        if np.size(times) == 0:
            continue
        if not _is_start_end_table(np.asarray(times)):
            raise DatasetError(
                f"{location(source)}: times of step {step} have the shape {np.shape(times)}; "
                "expected (n, 2): start and end in seconds"
            )
        rows += [Row(float(start), float(end), str(step)) for start, end in times]
    return rows
