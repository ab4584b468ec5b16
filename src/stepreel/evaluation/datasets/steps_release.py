"""The features of MECCANO that the method's authors released, with EgoProceL's labels.

Appearance is one table of all frames of all recordings, motion another; a mapping beside each
states the frame of every row. As in the paper, a moment is every other frame of 12 per second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
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
from stepreel.evaluation.datasets.reading import (
    check_any_valid,
    files_by_stem,
    pick_tasks,
    requested_cues,
    require,
)
from stepreel.evaluation.datasets.steps_release_tables import (
    APPEARANCE,
    MOTION,
    FeatureTable,
    open_table,
)
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.egoprocel_csv import read_egoprocel_rows
from stepreel.evaluation.truth.rows import build_annotation
from stepreel.evaluation.truth.step_list import StepList
from stepreel.features.feature_files import FeatureRecording
from stepreel.types import FeatureTrack, Mask, Seconds

TASK = "meccano"
FPS = 12.0
FRAMES_PER_MOMENT = 2


def read(request: Request) -> list[LabelledTask]:
    """Read the one task; features are read when they are needed."""
    root, problems = require(request.root, "the folder of the released features"), request.problems
    pick_tasks(request, [TASK], group="steps")
    folder = require(root / "annotations", "the folder of EgoProceL's labels of MECCANO")
    labels = _find_labels(folder, problems)
    tables = _open_tables(request)
    # EgoProceL has labels of 17 of MECCANO's 20 recordings; the tables may contain all of them.
    for name in sorted({name for table in tables for name in table.frames} - set(labels)):
        problems.notes.append(
            f"{name}: left out: it has features, but there is no annotations/{name}.csv"
        )
    steps = StepList()
    recordings = []
    for name in sorted(labels):
        recording = _recording(name, labels[name], tables, steps, request.fps or FPS, problems)
        recordings += [recording] if recording is not None else []
    if not recordings:
        return []
    return [LabelledTask(TASK, tuple(recordings), dict(steps.names), TASK)]


def _find_labels(folder: Path, problems: Problems) -> dict[str, Path]:
    """Return label files by recording; names are numbers of four digits."""
    labels: dict[str, Path] = {}
    for stem, path in files_by_stem(folder, (".csv",), problems).items():
        name = stem.zfill(4)
        if name in labels:
            problems.report(
                f"{location(path)}: {location(labels[name])} also contains labels of {name}; "
                "expected one file per recording"
            )
        else:
            labels[name] = path
    if not labels:
        raise DatasetMissingError(f"{folder}: contains no .csv file")
    return labels


def _open_tables(request: Request) -> list[FeatureTable]:
    folder = require(request.root / "features", "the folder of the released features")
    appearance = sorted((folder / "resnet50_features").glob("*conv5c*.dat"))
    motion = folder / "raft_motion_features" / "raft_motion_features.npy"
    if len(appearance) > 1:
        raise DatasetError(
            f"{appearance[0].parent}: {location(appearance[0])} and {location(appearance[1])} "
            "may both be the features; expected one such file"
        )
    paths = {APPEARANCE: appearance[0]} if appearance else {}
    paths |= {MOTION: motion} if motion.exists() else {}
    cues = requested_cues(request, (APPEARANCE, MOTION), list(paths))
    if missing := [cue for cue in cues if cue not in paths]:
        raise DatasetMissingError(f"{folder}: the features of {missing[0]} do not exist")
    if not cues:
        raise DatasetMissingError(f"{folder}: contains neither appearance nor motion")
    return [open_table(cue, paths[cue], request.problems) for cue in cues]


def _recording(
    name: str,
    labels: Path,
    tables: Sequence[FeatureTable],
    steps: StepList,
    fps: float,
    problems: Problems,
) -> LabelledRecording | None:
    lacking = [table for table in tables if name not in table.frames]
    if lacking:
        problems.report(
            f"{location(labels)}: labels without a recording: {location(lacking[0].path)} has no "
            f"frame of {name}"
        )
        return None
    rows = read_egoprocel_rows(labels, problems)
    if rows is None:
        return None
    n_frames = 1 + max(int(table.frames[name].offsets.max()) for table in tables)
    # Motion is between two frames: a motion table has one frame less than the video.
    n_filmed = n_frames if any(table.cue == APPEARANCE for table in tables) else n_frames + 1
    for table in tables:
        _report_gaps(name, table, n_frames, problems)
    annotation = build_annotation(
        labels,
        rows,
        steps,
        problems,
        recording=name,
        duration_seconds=n_filmed / fps,
        any_overlap=True,
    )
    features = partial(_read_features, name, tuple(tables), n_frames, fps)
    return LabelledRecording(name, annotation, features=features)


def _report_gaps(name: str, table: FeatureTable, n_frames: int, problems: Problems) -> None:
    """Report frames that should be moments but have no row in a table."""
    n_known = n_frames if table.cue == APPEARANCE else n_frames - 1
    expected = np.arange(0, n_known, FRAMES_PER_MOMENT)
    gaps = np.setdiff1d(expected, table.frames[name].offsets)
    if len(gaps):
        problems.report(
            f"{location(table.path)}: has no row for {len(gaps)} frames of {name}, first frame "
            f"{gaps[0] + 1}; is the mapping incomplete?"
        )


def _read_features(
    name: str, tables: Sequence[FeatureTable], n_frames: int, fps: float
) -> FeatureRecording:
    """Read every other frame; a frame without a row in a table is an invalid moment of its cue."""
    wanted = np.arange(0, n_frames, FRAMES_PER_MOMENT)
    times: Seconds = wanted / fps
    tracks = {}
    marked = set()
    content = hashlib.blake2b(times.tobytes(), digest_size=16)
    for table in tables:
        frames = table.frames[name]
        known: Mask = np.isin(wanted, frames.offsets)
        values = np.zeros((len(wanted), table.width), np.float32)
        positions = np.searchsorted(frames.offsets, wanted[known])
        values[known] = table.values(frames.rows[positions])
        content.update(table.cue.encode() + values.tobytes())
        valid: Mask = known & np.isfinite(values).all(axis=1)
        if valid[known].all():  # invalid moments have no row in the table, which is not wrong
            marked.add(table.cue)
        values[~valid] = 0
        tracks[table.cue] = FeatureTrack(name, table.cue, times, values, valid)
    check_any_valid(name, tracks)
    return FeatureRecording(name, content.hexdigest(), tracks, 0.0, frozenset(marked))


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
