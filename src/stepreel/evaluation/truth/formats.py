"""The formats of label files: how they are recognized and read, and how their files are named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.truth import crosstask_csv, egoprocel_csv
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.crosstask_csv import read_crosstask_csv
from stepreel.evaluation.truth.egoprocel_csv import read_egoprocel_csv
from stepreel.evaluation.truth.elan import read_eaf
from stepreel.evaluation.truth.frame_text import read_frame_text
from stepreel.evaluation.truth.jigsaws_text import read_jigsaws_text
from stepreel.evaluation.truth.lines import SourceFile, is_header
from stepreel.evaluation.truth.npz_labels import read_npz_labels
from stepreel.evaluation.truth.rows import RawMomentLabels, Row
from stepreel.evaluation.truth.storyboard_labels import read_storyboard_rows
from stepreel.types import readable

STORYBOARD = "storyboard.json"
TEXT_SUFFIXES = (".csv", ".txt")
NOT_LABELS = re.compile(r"readme.*|licen[cs]e.*|steps\.csv|.*\.gaze\.csv", re.IGNORECASE)

# There is one way to match any text: with two ways, long lines would take minutes.
NUMBER = r"\s*+\"?[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?\"?\s*+"
EGOPROCEL_LINE = re.compile(rf"{NUMBER},{NUMBER},\s*+(?:\"\s*+)?\d++[\s.:]+\S.*")
THREE_NUMBERS = re.compile(rf"{NUMBER},{NUMBER},{NUMBER}")
CROSSTASK_LINE = re.compile(rf"[^,]+,{NUMBER},{NUMBER}")


def _is_crosstask_line(line: str) -> bool:
    """Tell CrossTask lines; three numbers are taken for step, start and end if they can be."""
    if is_header(line, crosstask_csv.COLUMNS):
        return True
    if THREE_NUMBERS.fullmatch(line):
        step, start, end = _three_numbers(line)
        return step.is_integer() and start <= end
    return CROSSTASK_LINE.fullmatch(line) is not None


def _is_egoprocel_line(line: str) -> bool:
    if is_header(line, egoprocel_csv.COLUMNS):
        return True
    if THREE_NUMBERS.fullmatch(line):
        return _three_numbers(line)[2].is_integer() and not _is_crosstask_line(line)
    return EGOPROCEL_LINE.fullmatch(line) is not None


def _three_numbers(line: str) -> list[float]:
    return [float(part.strip(' "')) for part in line.split(",")]


@dataclass(frozen=True)
class LabelFormat:
    """How the files of one format are recognized and read, and what their labels mean.

    read            takes the file and frames per second, which files that count frames need
    suffixes        how its files are named; the rest of a name is the recording's
    is_line         whether a line has this format, for formats that share suffixes; without it,
                    the suffix decides
    line            such a line, as it is described in messages
    counts_frames   the file has frame numbers and no seconds
    numbers_decide  labels with the same number are the same step, however it is spelled
    any_overlap     a frame shows a step that any part of it shows
    """

    read: Callable[[SourceFile, float | None], list[Row] | RawMomentLabels]
    suffixes: tuple[str, ...]
    is_line: Callable[[str], object] | None = None
    line: str = ""
    counts_frames: bool = False
    numbers_decide: bool = False
    any_overlap: bool = False


# A line has the first format whose `is_line` is true of it.
FORMATS = {
    "egoprocel": LabelFormat(
        read_egoprocel_csv,
        (".egoprocel.ann.csv", ".steps.csv", *TEXT_SUFFIXES),
        _is_egoprocel_line,
        egoprocel_csv.EXPECTED,
        numbers_decide=True,
        any_overlap=True,
    ),
    "crosstask": LabelFormat(
        read_crosstask_csv, TEXT_SUFFIXES, _is_crosstask_line, "`step,start_s,end_s`"
    ),
    "jigsaws": LabelFormat(
        read_jigsaws_text,
        TEXT_SUFFIXES,
        re.compile(r"\d+\s+\d+\s+\S+").fullmatch,
        "`first_frame last_frame step`",
        counts_frames=True,
    ),
    "frames": LabelFormat(
        read_frame_text,
        TEXT_SUFFIXES,
        re.compile(r"[^,;\t]*").fullmatch,
        "one label per frame and line",
        counts_frames=True,
    ),
    "elan": LabelFormat(read_eaf, (".eaf",)),
    "npz": LabelFormat(read_npz_labels, (".npz",)),
    "json": LabelFormat(read_storyboard_rows, (".json",)),
}


def guess_format(file: SourceFile) -> str:
    """Recognize a file's format by its suffix, or by its first line that is not empty."""
    for name, label_format in FORMATS.items():
        if label_format.is_line is None and file.path.name.lower().endswith(label_format.suffixes):
            return name
    filled = [(number, line.strip()) for number, line in enumerate(file.lines, 1) if line.strip()]
    number, first = filled[0] if filled else (0, "")
    guessed = guess_line_format(first) if first else None
    if guessed is None:
        what = f"{first[:60]!r} is not a line of a known format" if first else "is empty"
        known = ", ".join(f"{form.line} ({name})" for name, form in FORMATS.items() if form.line)
        raise DatasetError(f"{location(file.path, number)}: {what}; expected {known}")
    return guessed


def guess_line_format(line: str) -> str | None:
    """Recognize a format by one line.

    >>> guess_line_format("107.5,114.8,4 break eggs"), guess_line_format("4,107.5,114.8")
    ('egoprocel', 'crosstask')
    >>> guess_line_format("107.5,114.8,4"), guess_line_format("80 150 G1"), guess_line_format("G1")
    ('egoprocel', 'jigsaws', 'frames')
    """
    for name, label_format in FORMATS.items():
        if label_format.is_line is not None and label_format.is_line(line):
            return name
    return None


def recording_of(file_name: str) -> str | None:
    """Return the name of the recording a label file belongs to; None for other files.

    >>> [recording_of(name) for name in ("01.tent.egoprocel.ann.csv", "Suturing_B001", "a.mp4")]
    ['01.tent', 'Suturing_B001', None]
    """
    if file_name.startswith(".") or NOT_LABELS.fullmatch(file_name):
        return None
    suffixes = {suffix for label_format in FORMATS.values() for suffix in label_format.suffixes}
    for suffix in sorted(suffixes, key=len, reverse=True):  # .steps.csv before .csv
        if file_name.lower().endswith(suffix) and len(file_name) > len(suffix):
            return file_name[: -len(suffix)]
    return file_name if "." not in file_name else None


def find_label_files(folder: Path, problems: Problems) -> dict[str, Path]:
    """Return the label files of a folder by the name of their recording, in that order.

    NAME/storyboard.json belongs to the recording NAME. README, LICENSE, steps.csv (names of
    steps), NAME.gaze.csv and files with other suffixes are ignored.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "there is no such folder"
        raise DatasetMissingError(
            f"{folder}: {what}; expected a folder with one file per recording"
        )
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        recording: str | None
        if path.is_dir():
            recording = None if path.name.startswith(".") else path.name
            path = path / STORYBOARD
        else:
            recording = recording_of(path.name)
        if recording is None or not path.exists() or path.is_dir():
            continue
        name = readable(recording)
        if name in files:
            problems.report(
                f"{_relative(path, folder)}: {_relative(files[name], folder)} also contains labels "
                f"of {name}; expected one file per recording"
            )
        else:
            files[name] = path
    return dict(sorted(files.items()))


def _relative(path: Path, folder: Path) -> str:
    return readable(str(path.relative_to(folder)))
