"""The features of MECCANO that the method's authors released, with EgoProceL's labels.

Appearance is one table of all frames of all recordings, motion another; a mapping beside each says
which row is which frame. As in the paper, every second of 12 frames per second is a moment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.egoprocel import key_steps_in
from stepreel.evaluation.datasets.reading import (
    files_by_stem,
    must_be_there,
    pick_tasks,
    requested_cues,
)
from stepreel.evaluation.truth.annotation import Problems, StepList, annotate, place
from stepreel.features.array_files import errors_named, headers_in
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import FeatureTrack, Floats, Labels, Mask, Seconds, readable

TASK = "meccano"
FPS = 12.0
EVERY = 2  # frames from one moment to the next
APPEARANCE, MOTION = "appearance", "motion"
CUES = (APPEARANCE, MOTION)
FLOAT32_BYTES = 4


@dataclass(frozen=True)
class _Frames:
    """The frames of one recording in one table: how many frames after its first, and which row."""

    offsets: Labels
    rows: Labels


@dataclass(frozen=True)
class _Table:
    """One cue of all recordings. The appearance's last column is a counter and no feature."""

    cue: str
    path: Path
    n_rows: int
    width: int
    frames: dict[str, _Frames]

    def values(self, rows: Labels) -> Floats:
        """Read some rows, and no others."""
        table: NDArray[Any]
        if self.cue == APPEARANCE:
            shape = (self.n_rows, self.width + 1)
            table = np.memmap(self.path, np.float32, "r", shape=shape)[:, :-1]
        else:
            table = np.load(self.path, mmap_mode="r", allow_pickle=False)
        with np.errstate(over="ignore"):  # too large for single precision: invalid, later
            return np.asarray(table[rows], np.float32)


def read(request: Request) -> list[LabelledTask]:
    """Read the one task; features are read when they are needed."""
    root = must_be_there(request.root, "the folder of the released features")
    pick_tasks(request, [TASK], group="steps")
    folder = must_be_there(root / "annotations", "the folder of EgoProceL's labels of MECCANO")
    labels = _labels(folder, request.problems)
    tables = _tables(request)
    # EgoProceL has labels of 17 of MECCANO's 20 recordings; the tables may hold all of them.
    for name in sorted({name for table in tables for name in table.frames} - set(labels)):
        request.problems.notes.append(
            f"{name}: left out: it has features, but there is no annotations/{name}.csv"
        )
    steps = StepList()
    found = (_recording(name, labels[name], tables, steps, request) for name in sorted(labels))
    recordings = tuple(one for one in found if one is not None)
    return [LabelledTask(TASK, recordings, dict(steps.names), TASK)] if recordings else []


def _labels(folder: Path, problems: Problems) -> dict[str, Path]:
    """Return files of labels by recordings, which are numbers of four digits."""
    labels: dict[str, Path] = {}
    for stem, path in files_by_stem(folder, (".csv",), problems).items():
        name = stem.zfill(4)
        if name in labels:
            problems.report(
                f"{place(path)}: {place(labels[name])} holds labels of {name}, too; "
                "expected one file per recording"
            )
        else:
            labels[name] = path
    if not labels:
        raise DatasetMissingError(f"{folder}: holds no .csv file")
    return labels


def _recording(
    name: str, labels: Path, tables: Sequence[_Table], steps: StepList, request: Request
) -> LabelledRecording | None:
    lacking = [table for table in tables if name not in table.frames]
    if lacking:
        request.problems.report(
            f"{place(labels)}: labels without a recording: {place(lacking[0].path)} has no frame "
            f"of {name}"
        )
        return None
    rows = key_steps_in(labels, request.problems)
    if rows is None:
        return None
    fps = request.fps or FPS
    n_frames = 1 + max(int(table.frames[name].offsets.max()) for table in tables)
    # Motion lies between two frames: by itself it knows one frame less than there are.
    n_filmed = n_frames if any(table.cue == APPEARANCE for table in tables) else n_frames + 1
    for table in tables:
        _report_gaps(name, table, n_frames, request.problems)
    truth = annotate(
        labels,
        rows,
        steps,
        request.problems,
        recording=name,
        duration_seconds=n_filmed / fps,
        whole_frames=True,
    )
    return LabelledRecording(
        name, truth, features=partial(_features, name, tuple(tables), n_frames, fps)
    )


def _report_gaps(name: str, table: _Table, n_frames: int, problems: Problems) -> None:
    """Report frames that a table should have, and that would be moments."""
    n_known = n_frames if table.cue == APPEARANCE else n_frames - 1
    gaps = np.setdiff1d(np.arange(0, n_known, EVERY), table.frames[name].offsets)
    if len(gaps):
        problems.report(
            f"{place(table.path)}: has no row for {len(gaps)} frames of {name}, the first of them "
            f"frame {gaps[0] + 1}; was the mapping cut short?"
        )


def _features(name: str, tables: Sequence[_Table], n_frames: int, fps: float) -> FeatureRecording:
    """Read every second frame; a frame that a table lacks is an invalid moment of its cue."""
    wanted = np.arange(0, n_frames, EVERY)
    clock: Seconds = wanted / fps
    tracks = {}
    marked = set()
    content = hashlib.blake2b(clock.tobytes(), digest_size=16)
    for table in tables:
        frames = table.frames[name]
        there: Mask = np.isin(wanted, frames.offsets)
        values = np.zeros((len(wanted), table.width), np.float32)
        at = np.searchsorted(frames.offsets, wanted[there])
        values[there] = table.values(frames.rows[at])
        content.update(table.cue.encode() + values.tobytes())
        valid: Mask = there & np.isfinite(values).all(axis=1)
        if valid[there].all():  # what is invalid has no row in the table, and nothing is wrong
            marked.add(table.cue)
        values[~valid] = 0
        tracks[table.cue] = FeatureTrack(name, table.cue, clock, values, valid)
    if not any(track.valid.any() for track in tracks.values()):
        raise RecordingError(
            f"{name}: holds no valid moment: there is no row without NaN or infinity"
        )
    return FeatureRecording(name, content.hexdigest(), tracks, 0.0, frozenset(marked))


def _tables(request: Request) -> list[_Table]:
    folder = must_be_there(request.root / "features", "the folder of the released features")
    appearance = sorted((folder / "resnet50_features").glob("*conv5c*.dat"))
    motion = folder / "raft_motion_features" / "raft_motion_features.npy"
    if len(appearance) > 1:
        raise DatasetError(
            f"{appearance[0].parent}: {place(appearance[0])} and {place(appearance[1])} may both "
            "be the features; leave one there"
        )
    paths = {APPEARANCE: appearance[0]} if appearance else {}
    paths |= {MOTION: motion} if motion.exists() else {}
    cues = requested_cues(request, CUES, list(paths))
    if missing := [cue for cue in cues if cue not in paths]:
        raise DatasetMissingError(f"{folder}: the features of {missing[0]} are not there")
    if not cues:
        raise DatasetMissingError(f"{folder}: holds neither appearance nor motion")
    return [_table(cue, paths[cue], request.problems) for cue in cues]


def _table(cue: str, path: Path, problems: Problems) -> _Table:
    n_rows, n_columns = _appearance_shape(path) if cue == APPEARANCE else _motion_shape(path)
    frames = _frames(cue, path, n_rows, problems)
    return _Table(cue, path, n_rows, n_columns - (cue == APPEARANCE), frames)


def _appearance_shape(path: Path) -> tuple[int, int]:
    """Read the table's shape from the file's name, and check it."""
    parts = path.stem.split("_")[-2:]
    if len(parts) < 2 or not all(part.isdecimal() for part in parts) or int(parts[1]) < 2:
        raise DatasetError(f"{place(path)}: expected a name that ends in _ROWS_COLUMNS.dat")
    rows, columns = (int(part) for part in parts)
    size = path.stat().st_size
    if size != rows * columns * FLOAT32_BYTES:
        raise DatasetError(
            f"{place(path)}: has {size} bytes; {rows} x {columns} numbers of {FLOAT32_BYTES} bytes "
            f"are {rows * columns * FLOAT32_BYTES}; was the download cut short?"
        )
    return rows, columns


def _motion_shape(path: Path) -> tuple[int, int]:
    try:
        with errors_named(path):
            table = headers_in(path)[""]
    except RecordingError as problem:
        raise DatasetError(str(problem)) from problem
    if len(table.shape) != 2 or table.dtype.kind not in "fiu":
        raise DatasetError(
            f"{place(path)}: holds {table}; expected one table of numbers (frames, features)"
        )
    return table.shape[0], table.shape[1]


def _frames(cue: str, table: Path, n_rows: int, problems: Problems) -> dict[str, _Frames]:
    """Sort the rows of a table by recording and frame."""
    path = _mapping_path(table)
    mapping = _read_mapping(path)
    found: dict[str, dict[int, int]] = {}
    wrong: list[str] = []
    for key, row in mapping.items():
        video, frame = _video_and_frame(key)
        known = found.setdefault(video, {}) if video else {}
        if video and frame not in known and isinstance(row, int) and 0 <= row < n_rows:
            known[frame] = row
        else:
            wrong.append(f"{key!r}: {row!r}")
    if wrong:
        problems.report(
            f"{place(path)}: {len(wrong)} of {len(mapping)} entries are wrong, first {wrong[0]}; "
            f"expected 'FOLDER/VIDEO/FRAME.jpg', each once, and a row from 0 to {n_rows - 1}"
        )
    sorted_frames = {}
    for video, rows in found.items():
        # Appearance counts frames from 1. Motion may count from 0 or 1: its first is the first.
        first = 1 if cue == APPEARANCE else min(rows, default=0)
        offsets = np.array(sorted(rows), np.int64) - first
        if not len(rows) or offsets[0] < 0 or offsets[-1] >= 2 * len(rows):
            problems.report(
                f"{place(path)}: {video} has {len(rows)} frames, numbered from "
                f"{min(rows, default=0)} to {max(rows, default=0)}; expected all from {first}"
            )
            continue
        ordered = np.array([rows[frame] for frame in sorted(rows)], np.int64)
        sorted_frames[video] = _Frames(offsets, ordered)
    return sorted_frames


def _video_and_frame(key: str) -> tuple[str, int]:
    """Part a key; no video if it is none.

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
            f"{place(pickled)}: is a pickle, which can run code when it is read, and is refused; "
            "if you trust where it is from, turn it into JSON once: "
            f"python -m stepreel.evaluation.datasets.convert_mapping {pickled}"
        )
    return must_be_there(path, f"the mapping from frames to rows of {place(table)}")


def _read_mapping(path: Path) -> dict[str, object]:
    try:
        mapping = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise DatasetError(f"{place(path)}: cannot be read as JSON ({problem})") from problem
    if not isinstance(mapping, dict) or not mapping:
        raise DatasetError(f"{place(path)}: expected a JSON object from frame names to rows")
    return mapping


LAYOUT = """\
annotations/0003.csv                                    EgoProceL's labels of MECCANO, 17 files
features/resnet50_features/…conv5c…_ROWS_2049.dat       appearance
features/resnet50_features/…conv5c…_ROWS_2049.json      its mapping, converted from the .pkl
features/raft_motion_features/raft_motion_features.npy  motion
features/raft_motion_features/raft_motion_features.json its mapping, converted from the .pkl
Convert each mapping once: python -m stepreel.evaluation.datasets.convert_mapping FILE.pkl
"""
FORMAT = DatasetFormat(
    read=read,
    title="MECCANO: the features that the method's authors released",
    source="https://github.com/anshulbshah/STEPs (features) and "
    "https://github.com/Sid2697/EgoProceL-egocentric-procedure-learning (labels)",
    layout=LAYOUT,
)
