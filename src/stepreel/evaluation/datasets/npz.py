"""Folders of .npz files with features and labels: the simplest labelled dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.reading import pick_tasks, require
from stepreel.evaluation.truth.annotation import BACKGROUND, Problems, location
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.npz_labels import LABELS, check_number, moments_of_arrays
from stepreel.evaluation.truth.rows import RawMomentLabels, build_annotation
from stepreel.evaluation.truth.step_list import (
    MAX_DIGITS,
    StepList,
    number_by_name,
    parse_step_number,
)
from stepreel.features.array_files import (
    REAL_NUMBERS,
    ArrayHeader,
    Arrays,
    explain_memory_errors,
    read_arrays,
)
from stepreel.features.feature_files import TIMES, FeatureRecording, recording_from_arrays
from stepreel.types import cues_and_widths, moment_seconds, readable

STEPS = "steps.csv"
RATE_TOLERANCE = 0.01  # relative difference between the stated and the actual frame rate


@dataclass(frozen=True)
class _File:
    """The content of one file, which is read once.

    moments    times start at 0 with the first moment, whatever the file says
    own_times  false if the times are derived from --fps
    widths     columns of each cue
    """

    path: Path
    arrays: Arrays
    moments: RawMomentLabels
    own_times: bool
    widths: dict[str, int]

    @property
    def duration_seconds(self) -> float:
        """Length of the recording, if its last moment is as long as the one before."""
        times = self.moments.times
        return float(2 * times[-1] - times[-2]) if len(times) > 1 else 1.0

    def features(self, cues: Sequence[str], fps: float | None) -> FeatureRecording:
        """Return the features as a recording with the times of the labels."""
        times = self.moments.times
        if not self.own_times and fps and cues[0] in self.widths:
            times = np.arange(len(self.arrays[cues[0]])) / fps
        with explain_memory_errors(self.path):
            recording = recording_from_arrays(
                self.path.stem, times, self.arrays, cues=cues, path=self.path
            )
        return replace(recording, start_seconds=0.0)


def read(request: Request) -> list[LabelledTask]:
    """Read a folder of .npz files, which is one task, or a folder of such folders."""
    root = require(request.root, "the folder of .npz files")
    if LABELS in request.cues:
        raise DatasetError(f"{LABELS} cannot be a cue: they are what is to be predicted")
    whole = readable(root.resolve().name)
    folders, group = {whole: root}, ""
    if not _files_in(root):
        inside = sorted(root.iterdir()) if root.is_dir() else []
        folders = {readable(path.name): path for path in inside if _files_in(path)}
        group = whole
    if not folders:
        raise DatasetMissingError(f"{root}: neither it nor a folder in it contains a .npz file")
    tasks = [
        _task(request, name, folders[name], group)
        for name in pick_tasks(request, folders, group=whole)
    ]
    return [task for task in tasks if task.recordings]


def _files_in(folder: Path) -> list[Path]:
    if not folder.is_dir() or folder.name.startswith("."):
        return []
    files = (path for path in folder.iterdir() if path.suffix.lower() == ".npz")
    return sorted(path for path in files if not path.name.startswith("."))


def _uniquely_named(paths: Sequence[Path], problems: Problems) -> list[Path]:
    """Leave out and report files that differ in the case of the suffix only (a.npz, a.NPZ)."""
    unique: dict[str, Path] = {}
    for path in paths:
        name = readable(path.stem)
        if name in unique:
            problems.report(
                f"{path} and {location(unique[name])} have the same name; "
                "expected one file per recording"
            )
        else:
            unique[name] = path
    return list(unique.values())


def _needed(path: Path, headers: Mapping[str, ArrayHeader]) -> list[str]:
    """Return the names of labels, times and whatever can be a cue."""
    check_number(path, LABELS, headers)
    return [
        name
        for name, header in headers.items()
        if name in (LABELS, TIMES) or name.endswith("_valid") or header.ndim == 2
    ]


def _load(path: Path, fps: float | None) -> _File:
    arrays = read_arrays(path, partial(_needed, path))
    moments = moments_of_arrays(path, arrays, fps)
    widths = {
        cue: int(array.shape[1])
        for cue, array in arrays.items()
        if array.ndim == 2 and array.shape[1] > 0 and array.dtype.kind in REAL_NUMBERS
        if cue not in (LABELS, TIMES) and not cue.endswith("_valid")
    }
    from_zero = replace(moments, times=moments.times - moments.times[0])
    return _File(path, arrays, from_zero, TIMES in arrays, widths)


def _task(request: Request, name: str, folder: Path, group: str) -> LabelledTask:
    problems = request.problems
    loaded = (
        problems.attempt(_load, path, request.fps)
        for path in _uniquely_named(_files_in(folder), problems)
    )
    files = [file for file in loaded if file is not None and _keeps_rate(file, request)]
    if not files:
        return LabelledTask(name, (), group=group)
    if missing := _missing_cue(request.cues, files):
        if not group:  # the request is wrong, not the data
            raise DatasetError(missing)
        problems.report(f"{name}: {missing}")
        return LabelledTask(name, (), group=group)
    cues = tuple(dict.fromkeys(request.cues)) or _shared_cues(folder, files, problems)
    steps = _read_steps(folder, problems)
    if steps is None:
        steps = number_by_name(label for file in files for label in file.moments.labels)
    recordings = []
    for file in _equally_wide(files, cues, problems):
        features = problems.attempt(file.features, cues, request.fps)
        if features is None:  # such as NaN everywhere
            continue
        annotation = build_annotation(
            file.path, file.moments.rows, steps, problems, duration_seconds=file.duration_seconds
        )
        recordings.append(
            LabelledRecording(annotation.recording, annotation, features=_in_memory(features))
        )
    return LabelledTask(name, tuple(recordings), dict(steps.names), group)


def _in_memory(recording: FeatureRecording) -> Callable[[], FeatureRecording]:
    """Return features that have been read already; the file's other arrays can be freed."""
    return lambda: recording


def _missing_cue(cues: Sequence[str], files: Sequence[_File]) -> str:
    """Say which cue no file has; empty if there is none."""
    known = list(dict.fromkeys(cue for file in files for cue in file.widths))
    missing = [cue for cue in cues if cue not in known]
    return f"no cue {missing[0]!r} in any file; known here: {', '.join(known)}" if missing else ""


def _keeps_rate(file: _File, request: Request) -> bool:
    """Compare a file's own times with the stated frame rate; report if they differ."""
    times = file.moments.times
    if request.fps is None or not file.own_times or len(times) < 2:
        return True
    rate = 1 / moment_seconds(times)
    if abs(rate / request.fps - 1) <= RATE_TOLERANCE:
        return True
    request.problems.report(
        f"{location(file.path)}: its {TIMES} have {rate:.4g} moments per second, but --fps (fps=…) "
        f"is {request.fps:g}; leave it out"
    )
    return False


def _shared_cues(folder: Path, files: Sequence[_File], problems: Problems) -> tuple[str, ...]:
    """Return the cues that every file has, equally wide, in the order of the first file."""
    shared = []
    for cue in dict.fromkeys(cue for file in files for cue in file.widths):
        having = next(file for file in files if cue in file.widths)
        width = having.widths[cue]
        other = next((file for file in files if file.widths.get(cue) != width), None)
        if other is None:
            shared.append(cue)
            continue
        here = (
            f"it is {other.widths[cue]} wide here"
            if cue in other.widths
            else "there is no such table of numbers here"
        )
        problems.notes.append(
            f"{location(other.path)}: {cue} is not used: {here}, but it is {width} wide in "
            f"{location(having.path)}"
        )
    if not shared:
        raise DatasetError(
            f"{folder}: no cue, that is, (T, D) array, is in every file and equally wide; "
            f"{location(files[0].path)} has {cues_and_widths(files[0].widths) or 'none'}"
        )
    return tuple(shared)


def _equally_wide(files: Sequence[_File], cues: Sequence[str], problems: Problems) -> list[_File]:
    """Keep the files whose cues are as wide as the first file's.

    A file that lacks a cue is kept: making its features says what it has instead.
    """
    first: dict[str, int] = {}
    kept = []
    for file in files:
        widths = {cue: file.widths[cue] for cue in cues if cue in file.widths}
        if len(widths) == len(cues):
            first = first or widths
            if widths != first:
                problems.report(
                    f"{location(file.path)}: has the cues {cues_and_widths(widths)}, others have "
                    f"{cues_and_widths(first)}; all recordings of a task need the same"
                )
                continue
        kept.append(file)
    return kept


def _read_steps(folder: Path, problems: Problems) -> StepList | None:
    """Read `id,name` lines from steps.csv in the folder or its parent; None if there is none."""
    here = folder.resolve()
    paths = (here / STEPS, here.parent / STEPS)
    path = next((path for path in paths if path.is_file()), None)
    lines = None if path is None else problems.attempt(read_lines, path)
    if path is None or lines is None:
        return None
    names: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        step, _, name = (part.strip() for part in line.partition(","))
        index = parse_step_number(step)
        is_header = not names and (step.lower(), name.lower()) == ("id", "name")
        if not line.strip() or index == BACKGROUND or is_header:
            continue
        if index is None or not name:
            problems.report(
                f"{location(path, number)}: {line[:60]!r}; expected a step's number (at most "
                f"{MAX_DIGITS} digits), a comma and its name"
            )
        elif index in names:
            problems.report(f"{location(path, number)}: step {step} is listed twice")
        else:
            names[index] = name
    return StepList.of({name: step for step, name in names.items()}, names)


LAYOUT = """\
FOLDER/NAME.npz                one recording each; the folder is one task
FOLDER/TASK/NAME.npz           or one folder per task
  times                        (T,) seconds, increasing; or give --fps (fps=…)
  labels                       (T,) number or name of the step; 0 for background
  any other array              (T, D) features; each array is a cue
steps.csv                      optional, in the folder or its parent: lines of id,name
"""
FORMAT = DatasetFormat(
    read=read,
    title="Features and labels in .npz files",
    source="your own files, written with numpy.savez(file, times=…, labels=…, hands=…)",
    layout=LAYOUT,
)
