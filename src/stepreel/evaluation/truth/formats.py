"""Single annotation files, whatever they look like: which format it is, and its rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from stepreel.errors import DatasetError, DatasetMissingError, StepreelError
from stepreel.evaluation.datasets.crosstask import read_steps
from stepreel.evaluation.datasets.egoprocel import read_key_steps
from stepreel.evaluation.datasets.frame_labels import read_frame_labels, read_frames
from stepreel.evaluation.datasets.jigsaws import read_transcription
from stepreel.evaluation.datasets.npz import read_labels, read_moments
from stepreel.evaluation.truth.annotation import FormatReader, Problems, Row, place
from stepreel.evaluation.truth.elan import read_eaf
from stepreel.evaluation.truth.lines import read_lines
from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import read_storyboard
from stepreel.types import Seconds, readable

Content = TypeVar("Content")
STORYBOARD = "storyboard.json"
# Longer endings first: take.egoprocel.ann.csv is of the recording `take`.
SUFFIXES = (".egoprocel.ann.csv", ".steps.csv", ".csv", ".txt", ".eaf", ".npz", ".json")
BESIDE_LABELS = re.compile(r"readme.*|licen[cs]e.*|steps\.csv|.*\.gaze\.csv", re.IGNORECASE)

NUMBER = r"\s*\"?[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\"?\s*"
EGOPROCEL_LINE = re.compile(rf"{NUMBER},{NUMBER},\s*\"?\s*\d+[\s.:]+\S.*")
THREE_NUMBERS = re.compile(rf"{NUMBER},{NUMBER},{NUMBER}")
CROSSTASK_LINE = re.compile(rf"[^,]+,{NUMBER},{NUMBER}")
JIGSAWS_LINE = re.compile(r"\d+\s+\d+\s+\S+")


def read_board(path: Path, fps: float | None = None) -> list[Row]:
    """Read the key steps of a storyboard as truth; kind A is step 1."""
    board = read_storyboard(path)
    return [
        Row(step.start, step.end, f"{step.cluster + 1} kind {letter(step.cluster)}")
        for step in board.steps
    ]


FORMATS: dict[str, FormatReader] = {
    "egoprocel": read_key_steps,
    "elan": read_eaf,
    "frames": read_frame_labels,
    "jigsaws": read_transcription,
    "crosstask": read_steps,
    "npz": read_labels,
    "json": read_board,
}
PER_MOMENT = {"frames": read_frames, "npz": read_moments}  # formats with a label per moment
WHOLE_FRAMES = frozenset({"egoprocel"})  # a frame shows a step that any part of it shows
NUMBERED = frozenset({"egoprocel"})  # a step's number says which it is, however it is spelled
LOOKS = (
    "`start_s,end_s,N step name` (egoprocel), `step,start_s,end_s` (crosstask), "
    "`first_frame last_frame step` (jigsaws), one label per frame and line (frames)"
)


def guess_format(path: Path) -> str:
    """Tell a file's format by the end of its name, or by its first line that holds anything."""
    by_name = {".eaf": "elan", ".npz": "npz", ".json": "json"}
    if path.suffix.lower() in by_name:
        return by_name[path.suffix.lower()]
    lines = enumerate(read_lines(path), 1)
    number, first = next(((n, line.strip()) for n, line in lines if line.strip()), (0, ""))
    kind = guess_line(first) if first else None
    if kind is None:
        what = f"{first[:60]!r} is a line of no known format" if first else "is empty"
        raise DatasetError(f"{place(path, number)}: {what}; expected {LOOKS}")
    return kind


def guess_line(line: str) -> str | None:
    """Tell a format by one line.

    Three bare numbers are of CrossTask if they can be: a step, its start, its end.

    >>> guess_line("107.5,114.8,4 break eggs"), guess_line("4,107.5,114.8"), guess_line("G1")
    ('egoprocel', 'crosstask', 'frames')
    >>> guess_line("107.5,114.8,4"), guess_line("80 150 G1"), guess_line("start,end,step")
    ('egoprocel', 'jigsaws', None)
    """
    if THREE_NUMBERS.fullmatch(line):
        first, second, third = (float(part.strip(' "')) for part in line.split(","))
        if first.is_integer() and second <= third:
            return "crosstask"
        return "egoprocel" if third.is_integer() else None
    if EGOPROCEL_LINE.fullmatch(line):
        return "egoprocel"
    if CROSSTASK_LINE.fullmatch(line):
        return "crosstask"
    if JIGSAWS_LINE.fullmatch(line):
        return "jigsaws"
    return None if re.search(r"[,;\t]", line) else "frames"


def read_label_rows(path: Path, fps: float | None = None, kind: str | None = None) -> list[Row]:
    """Read a file's rows in seconds; `kind` is one of FORMATS, and guessed if not given.

    DatasetError names the file, and the line where there is one.
    """
    kind = guess_format(path) if kind is None else kind
    if kind not in FORMATS:
        raise DatasetError(f"unknown format {kind!r}; known: {', '.join(FORMATS)}")
    return _read(path, FORMATS[kind], fps)


def read_moment_labels(path: Path, fps: float | None, kind: str) -> tuple[list[str], Seconds]:
    """Read a label per moment, and the moments, in seconds; `kind` is one of PER_MOMENT."""
    return _read(path, PER_MOMENT[kind], fps)


def _read(path: Path, read: Callable[[Path, float | None], Content], fps: float | None) -> Content:
    """Read a file of a dataset; what is wrong with it is wrong with the dataset."""
    try:
        return read(path, fps)
    except DatasetError:
        raise
    except StepreelError as problem:
        raise DatasetError(str(problem)) from problem


def stem_of(name: str) -> str | None:
    """Return the name of the recording that an annotation file is of; None if it is none.

    >>> stem_of("01.tent.egoprocel.ann.csv"), stem_of("Suturing_B001"), stem_of("a.mp4")
    ('01.tent', 'Suturing_B001', None)
    """
    if name.startswith(".") or BESIDE_LABELS.fullmatch(name):
        return None
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name if "." not in name else None


def find_label_files(folder: Path, problems: Problems) -> dict[str, Path]:
    """Return the annotation files of a folder by the name of their recording, in that order.

    NAME/storyboard.json is of the recording NAME. Other files count for nothing, nor do README,
    LICENSE, steps.csv (names of steps) and NAME.gaze.csv.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "there is no such folder"
        raise DatasetMissingError(
            f"{folder}: {what}; expected a folder with one file per recording"
        )
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        stem: str | None
        if path.is_dir():
            path, stem = path / STORYBOARD, None if path.name.startswith(".") else path.name
        else:
            stem = stem_of(path.name)
        if stem is None or not path.is_file():
            continue
        name = readable(stem)
        if name in found:
            problems.report(
                f"{_shown(path, folder)}: {_shown(found[name], folder)} holds labels of {name}, "
                "too; expected one file per recording"
            )
        else:
            found[name] = path
    return dict(sorted(found.items()))


def _shown(path: Path, folder: Path) -> str:
    return readable(str(path.relative_to(folder)))
