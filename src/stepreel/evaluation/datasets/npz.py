"""Folders of .npz files that hold features and labels: the plainest labelled dataset there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.reading import (
    MOST_DIGITS,
    must_be_there,
    pick_tasks,
    report_failure,
    whole_number,
)
from stepreel.evaluation.truth.annotation import (
    BACKGROUND,
    Problems,
    Row,
    StepList,
    annotate,
    number_by_name,
    place,
    rows_of_labels,
)
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.array_files import REAL_NUMBERS, read_arrays
from stepreel.features.feature_files import TIMES, FeatureRecording, read_features
from stepreel.types import Seconds, cues_and_widths, readable

LABELS = "labels"
STEPS = "steps.csv"
SAME_RATE = 0.01  # by which two frame rates that are meant to be one may differ


@dataclass(frozen=True)
class _File:
    """What one file holds.

    clock      (T,) seconds since its first moment
    start      of that moment on the file's own clock
    own_times  false if the clock is made of frames per second
    widths     of its cues
    """

    path: Path
    labels: list[str]
    clock: Seconds
    start: float
    own_times: bool
    widths: dict[str, int]

    @property
    def rows(self) -> list[Row]:
        """The stretches of equal labels; such files have no lines."""
        return [replace(row, line=0) for row in rows_of_labels(self.labels, self.clock)]

    @property
    def duration_seconds(self) -> float:
        """How long the recording lasts, if its last moment is as long as the one before."""
        return float(2 * self.clock[-1] - self.clock[-2]) if len(self.clock) > 1 else 1.0


def read(request: Request) -> list[LabelledTask]:
    """Read a folder of .npz files, which is one task, or a folder of such folders."""
    root = must_be_there(request.root, "the folder of .npz files")
    if LABELS in request.cues:
        raise DatasetError(f"{LABELS} are what is to be found; they cannot be a cue")
    whole = readable(root.resolve().name)
    folders, group = {whole: root}, ""
    if not _files_in(root):
        inside = sorted(root.iterdir()) if root.is_dir() else []
        folders, group = {readable(one.name): one for one in inside if _files_in(one)}, whole
    if not folders:
        raise DatasetMissingError(f"{root}: holds no .npz file, nor does a folder in it")
    tasks = [
        _task(request, name, folders[name], group)
        for name in pick_tasks(request, folders, group=whole)
    ]
    return [task for task in tasks if task.recordings]


def read_labels(path: Path, fps: float | None = None) -> list[Row]:
    """Read a file's labels as rows, on the file's own clock.

    fps  for files without times
    """
    rows = rows_of_labels(*read_moments(path, fps))
    return [replace(row, line=0) for row in rows]


def read_moments(path: Path, fps: float | None = None) -> tuple[list[str], Seconds]:
    """Read a file's label per moment, and the moments on the file's own clock."""
    file = _load(path, fps)
    return file.labels, file.clock + file.start


def _files_in(folder: Path) -> list[Path]:
    if not folder.is_dir() or folder.name.startswith("."):
        return []
    there = (path for path in folder.iterdir() if path.suffix.lower() == ".npz")
    return sorted(path for path in there if not path.name.startswith("."))


def _named_once(files: Sequence[Path], problems: Problems) -> list[Path]:
    """Report files whose names differ by nothing but their ending, such as a.npz and a.NPZ."""
    found: dict[str, Path] = {}
    for path in files:
        name = readable(path.stem)
        if name in found:
            problems.report(f"{path}: a second file of this name, beside {place(found[name])}")
        else:
            found[name] = path
    return list(found.values())


def _load(path: Path, fps: float | None) -> _File:
    arrays = read_arrays(path)
    if LABELS not in arrays:
        raise DatasetError(
            f"{place(path)}: a recording without labels; expected an array `{LABELS}`, one per "
            "moment"
        )
    labels = _texts(path, arrays[LABELS])
    seconds = _seconds(path, arrays.get(TIMES), len(labels), fps)
    widths = {
        cue: int(array.shape[1])
        for cue, array in arrays.items()
        if array.ndim == 2 and array.shape[1] > 0 and array.dtype.kind in REAL_NUMBERS
        if cue not in (LABELS, TIMES) and not cue.endswith("_valid")
    }
    start = float(seconds[0])
    return _File(path, labels, seconds - start, start, TIMES in arrays, widths)


def _texts(path: Path, labels: NDArray[Any]) -> list[str]:
    """Return labels as text; numbers must be whole, and 0 or more."""
    if labels.ndim != 1:
        raise DatasetError(
            f"{place(path)}: {LABELS} have the shape {labels.shape}; expected (T,), one per moment"
        )
    if labels.dtype.kind in "US":
        try:
            return [_text(label) for label in labels.tolist()]
        except UnicodeError as problem:
            raise DatasetError(f"{place(path)}: {LABELS} are no UTF-8 text") from problem
    if labels.dtype.kind not in REAL_NUMBERS:
        raise DatasetError(f"{place(path)}: {LABELS} must be whole numbers or text")
    whole = np.isfinite(labels) & (np.floor(labels) == labels) & (labels >= BACKGROUND)
    whole &= labels < 10.0**MOST_DIGITS
    if not whole.all():
        at = int(np.argmin(whole))
        raise DatasetError(
            f"{place(path)}: label {labels[at]} of moment {at + 1}; expected the whole number of a "
            f"step, of at most {MOST_DIGITS} digits, or 0 for none"
        )
    return [str(number) for number in labels.astype(np.int64).tolist()]


def _text(label: str | bytes) -> str:
    """Return a label as text; UnicodeError if it is none, such as half of a character."""
    return label.decode() if isinstance(label, bytes) else label.encode().decode()


def _seconds(path: Path, times: NDArray[Any] | None, n: int, fps: float | None) -> Seconds:
    if times is None:
        if fps is None:
            raise DatasetError(f"{place(path)}: holds no `{TIMES}`; give --fps NUMBER")
        times = np.arange(n) / fps
    if times.dtype.kind not in "fiu":
        raise DatasetError(f"{place(path)}: {TIMES} must be numbers, in seconds")
    seconds: Seconds = times.astype(np.float64).ravel()
    if len(seconds) != n:
        raise DatasetError(
            f"{place(path)}: {n} {LABELS}, but {len(seconds)} {TIMES}; expected one per moment"
        )
    if n == 0:
        raise DatasetError(f"{place(path)}: holds no moment")
    if not np.isfinite(seconds).all() or (np.diff(seconds) <= 0).any():
        raise DatasetError(f"{place(path)}: {TIMES} must be finite seconds that increase")
    return seconds


def _task(request: Request, name: str, folder: Path, group: str) -> LabelledTask:
    found = (
        report_failure(request.problems, partial(_load, path, request.fps))
        for path in _named_once(_files_in(folder), request.problems)
    )
    files = [file for file in found if file is not None and _keeps_rate(file, request)]
    if not files:
        return LabelledTask(name, (), group=group)
    if missing := _missing_cue(request.cues, files):
        if not group:  # whoever asks is wrong, not the data
            raise DatasetError(missing)
        request.problems.report(f"{name}: {missing}")
        return LabelledTask(name, (), group=group)
    cues = tuple(dict.fromkeys(request.cues)) or _shared_cues(folder, files, request.problems)
    steps = _read_steps(folder, request.problems)
    if steps is None:
        steps = number_by_name(label for file in files for label in file.labels)
    recordings = []
    for file in _alike(files, cues, request.problems):
        fps = None if file.own_times else request.fps
        features = partial(_read_features, file.path, cues, fps)
        if report_failure(request.problems, features) is None:  # such as NaN everywhere
            continue
        length = file.duration_seconds
        truth = annotate(file.path, file.rows, steps, request.problems, duration_seconds=length)
        recordings.append(LabelledRecording(truth.recording, truth, features=features))
    return LabelledTask(name, tuple(recordings), dict(steps.names), group)


def _missing_cue(cues: Sequence[str], files: Sequence[_File]) -> str:
    """Say which cue no file has; empty if there is none."""
    known = list(dict.fromkeys(cue for file in files for cue in file.widths))
    missing = [cue for cue in cues if cue not in known]
    return f"no cue {missing[0]!r} in any file; known here: {', '.join(known)}" if missing else ""


def _read_features(path: Path, cues: Sequence[str], fps: float | None) -> FeatureRecording:
    """Read features on the clock of their labels, which begins with the first moment."""
    return replace(read_features(path, cues=cues, fps=fps), start_seconds=0.0)


def _keeps_rate(file: _File, request: Request) -> bool:
    """Compare a file's own times with the frame rate that is stated."""
    if request.fps is None or not file.own_times or len(file.clock) < 2:
        return True
    own = 1 / float(np.median(np.diff(file.clock)))
    if abs(own / request.fps - 1) <= SAME_RATE:
        return True
    request.problems.report(
        f"{place(file.path)}: its {TIMES} tell {own:.4g} moments per second, not {request.fps:g} "
        "as stated; leave --fps out"
    )
    return False


def _shared_cues(folder: Path, files: Sequence[_File], problems: Problems) -> tuple[str, ...]:
    """Return the cues that every file has, equally wide, in the order of the first file."""
    first = files[0].widths
    shared = []
    for cue in dict.fromkeys(cue for file in files for cue in file.widths):
        having = next(file for file in files if cue in file.widths)
        other = next((one for one in files if one.widths.get(cue) != having.widths[cue]), None)
        if other is None:
            shared.append(cue)
            continue
        width = f"{other.widths[cue]} wide" if cue in other.widths else "no table of numbers"
        problems.notes.append(
            f"{place(other.path)}: {cue} is not used, for it is {width} here, but "
            f"{having.widths[cue]} wide in {place(having.path)}"
        )
    if not shared:
        raise DatasetError(
            f"{folder}: no cue, that is, (T, D) array, is in every file and equally wide; "
            f"{place(files[0].path)} has {cues_and_widths(first) or 'none'}"
        )
    return tuple(shared)


def _alike(files: Sequence[_File], cues: Sequence[str], problems: Problems) -> list[_File]:
    """Keep the files whose cues are as wide as the first file's.

    A file that lacks a cue is kept: reading its features tells what it has instead.
    """
    first: dict[str, int] = {}
    kept = []
    for file in files:
        widths = {cue: file.widths[cue] for cue in cues if cue in file.widths}
        if len(widths) == len(cues):
            first = first or widths
            if widths != first:
                problems.report(
                    f"{place(file.path)}: has the cues {cues_and_widths(widths)}, others have "
                    f"{cues_and_widths(first)}; all recordings of a task need the same"
                )
                continue
        kept.append(file)
    return kept


def _read_steps(folder: Path, problems: Problems) -> StepList | None:
    """Read `id,name` lines from steps.csv in the folder or its parent; None if there is none."""
    here = folder.resolve()
    path = next((one / STEPS for one in (here, here.parent) if (one / STEPS).is_file()), None)
    lines = None if path is None else report_failure(problems, partial(read_lines, path))
    if path is None or lines is None:
        return None
    names: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        step, _, name = (part.strip() for part in line.partition(","))
        index = whole_number(step)
        is_header = not names and (step.lower(), name.lower()) == ("id", "name")
        if not line.strip() or index == BACKGROUND or is_header:
            continue
        if index is None or not name:
            problems.report(
                f"{place(path, number)}: {line[:60]!r}; expected a step's number, of at most "
                f"{MOST_DIGITS} digits, a comma and its name"
            )
        elif index in names:
            problems.report(f"{place(path, number)}: step {step} is listed twice")
        else:
            names[index] = name
    return StepList.of({name: step for step, name in names.items()}, names)


LAYOUT = """\
FOLDER/NAME.npz                one recording each; the folder is one task
FOLDER/TASK/NAME.npz           or one folder per task
  times                        (T,) seconds, increasing; or give --fps
  labels                       (T,) number or name of the step; 0 for none
  any other                    (T, D) features, one array per cue
steps.csv                      if wanted, in the folder or its parent: lines of id,name
"""
FORMAT = DatasetFormat(
    read=read,
    title="Features and labels in .npz files",
    source="files of your own: numpy.savez(file, times=…, labels=…, hands=…)",
    layout=LAYOUT,
)
