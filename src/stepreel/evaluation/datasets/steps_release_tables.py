"""The tables of released MECCANO features, and the mappings from frames to their rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, RecordingError
from stepreel.evaluation.datasets.reading import require
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.features.array_files import explain_read_errors, read_headers
from stepreel.system.files import read_regular
from stepreel.types import Floats, Labels, readable

APPEARANCE, MOTION = "appearance", "motion"
FLOAT32_BYTES = 4


@dataclass(frozen=True)
class TableFrames:
    """The frames of one recording in one table.

    offsets  frames after the recording's first one, increasing
    rows     of the table, one per frame
    """

    offsets: Labels
    rows: Labels


@dataclass(frozen=True)
class FeatureTable:
    """One cue of all recordings; the last column of the appearance table is only a counter.

    frames  by recording
    """

    cue: str
    path: Path
    n_rows: int
    width: int
    frames: dict[str, TableFrames]

    def values(self, rows: Labels) -> Floats:
        """Read only these rows."""
        table: NDArray[Any]
        if self.cue == APPEARANCE:
            shape = (self.n_rows, self.width + 1)
            table = np.memmap(self.path, np.float32, "r", shape=shape)[:, :-1]
        else:
            table = np.load(self.path, mmap_mode="r", allow_pickle=False)
        with np.errstate(over="ignore"):  # too large for single precision: invalid, later
            return np.asarray(table[rows], np.float32)


def open_table(cue: str, path: Path, problems: Problems) -> FeatureTable:
    """Check the shape of a table and read its mapping; its values are read when needed."""
    n_rows, n_columns = _appearance_shape(path) if cue == APPEARANCE else _motion_shape(path)
    frames = _read_frames(cue, path, n_rows, problems)
    return FeatureTable(cue, path, n_rows, n_columns - (cue == APPEARANCE), frames)


def _appearance_shape(path: Path) -> tuple[int, int]:
    """Read the table's shape from the file's name, and check it."""
    parts = path.stem.split("_")[-2:]
    if len(parts) < 2 or not all(part.isdecimal() for part in parts) or int(parts[1]) < 2:
        raise DatasetError(f"{location(path)}: expected a name that ends in _ROWS_COLUMNS.dat")
    rows, columns = (int(part) for part in parts)
    size, expected = path.stat().st_size, rows * columns * FLOAT32_BYTES
    if size != expected:
        raise DatasetError(
            f"{location(path)}: has {size} bytes; expected {expected}: {rows} x {columns} numbers "
            f"of {FLOAT32_BYTES} bytes; is the download incomplete?"
        )
    return rows, columns


def _motion_shape(path: Path) -> tuple[int, int]:
    try:
        with explain_read_errors(path):
            table = read_headers(path)[""]
    except RecordingError as problem:
        raise DatasetError(str(problem)) from problem
    if len(table.shape) != 2 or table.dtype.kind not in "fiu":
        raise DatasetError(
            f"{location(path)}: contains {table}; expected one table of numbers (frames, features)"
        )
    return table.shape[0], table.shape[1]


def _read_frames(cue: str, table: Path, n_rows: int, problems: Problems) -> dict[str, TableFrames]:
    """Read a table's mapping; return its rows by recording, sorted by frame."""
    path = _mapping_path(table)
    rows_by_video = _parse_mapping(path, _read_mapping(path), n_rows, problems)
    frames = {}
    for video, rows in rows_by_video.items():
        # Appearance counts frames from 1. Motion may count from 0 or 1: its first is the first.
        first = 1 if cue == APPEARANCE else min(rows, default=0)
        offsets = np.array(sorted(rows), np.int64) - first
        if not len(rows) or offsets[0] < 0 or offsets[-1] >= 2 * len(rows):
            problems.report(
                f"{location(path)}: {video} has {len(rows)} frames, numbered from "
                f"{min(rows, default=0)} to {max(rows, default=0)}; expected all from {first}"
            )
            continue
        ordered = np.array([rows[frame] for frame in sorted(rows)], np.int64)
        frames[video] = TableFrames(offsets, ordered)
    return frames


def _parse_mapping(
    path: Path, mapping: dict[str, object], n_rows: int, problems: Problems
) -> dict[str, dict[int, int]]:
    """Return the row of each frame by video; report wrong entries together."""
    rows: dict[str, dict[int, int]] = {}
    wrong: list[str] = []
    for key, row in mapping.items():
        video, frame = _video_and_frame(key)
        known = rows.setdefault(video, {}) if video else {}
        if video and frame not in known and isinstance(row, int) and 0 <= row < n_rows:
            known[frame] = row
        else:
            wrong.append(f"{key!r}: {row!r}")
    if wrong:
        problems.report(
            f"{location(path)}: {len(wrong)} of {len(mapping)} entries are wrong, first "
            f"{wrong[0]}; expected 'FOLDER/VIDEO/FRAME.jpg', each once, and a row from 0 to "
            f"{n_rows - 1}"
        )
    return rows


def _video_and_frame(key: str) -> tuple[str, int]:
    """Split a key into video and frame number; no video if it is not such a key.

    >>> _video_and_frame("frames/0003/00012.jpg"), _video_and_frame("flow/0003/frame_00012.npy")
    (('0003', 12), ('0003', 12))
    """
    parts = key.split("/")
    number = parts[-1].partition(".")[0].rpartition("_")[2]
    if len(parts) < 3 or not number.isdecimal() or len(number) > 9:
        return "", 0
    return readable(parts[1]).zfill(4), int(number)


def _mapping_path(table: Path) -> Path:
    path, pickled = table.with_suffix(".json"), table.with_suffix(".pkl")
    if not path.exists() and pickled.exists():
        raise DatasetError(
            f"{location(pickled)}: is a pickle, which can run code when it is read, and is "
            "refused; if you trust its source, convert it to JSON once: "
            f"python -m stepreel.evaluation.datasets.convert_mapping {pickled}"
        )
    return require(path, f"the mapping from frames to rows of {location(table)}")


def _read_mapping(path: Path) -> dict[str, object]:
    try:
        mapping = json.loads(read_regular(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise DatasetError(f"{location(path)}: cannot be read as JSON ({problem})") from problem
    if not isinstance(mapping, dict) or not mapping:
        raise DatasetError(f"{location(path)}: expected a JSON object from frame names to rows")
    return mapping
