"""IKEA ASM: people who assemble furniture; one atomic action per video frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stepreel.datasets.annotation import (
    Problems,
    Row,
    StepList,
    annotate,
    is_background,
    number_by_name,
    place,
)
from stepreel.datasets.benchmark import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    NotThereError,
    Request,
    Split,
)
from stepreel.datasets.frame_labels import names_used, read_lines
from stepreel.datasets.ready_made import (
    files_by_stem,
    is_plain,
    must_be_there,
    or_report,
    pick_tasks,
    seconds_in,
)
from stepreel.errors import DatasetError
from stepreel.feature_files import READERS, read_features

FPS = 25.0
SEGMENTS = ("annotations/action_annotations/gt_segments.json", "gt_segments.json")
VIDEO = "dev3/images/scan_video.avi"  # the camera that looks from above
SPLITS: Mapping[object, Split] = {"training": "train", "testing": "test"}


@dataclass(frozen=True)
class _Scan:
    """One take of one piece of furniture; `end` is where its labels end, in seconds."""

    name: str
    rows: list[Row]
    end: float
    split: Split


def read(request: Request) -> list[LabelledTask]:
    """Read the takes of every piece of furniture, each of which is a task."""
    root = must_be_there(request.root, "the dataset's folder")
    path = request.truth or _find(root, SEGMENTS)
    if path is None:
        raise NotThereError(f"{root}: holds none of {', '.join(SEGMENTS)}")
    takes = _takes(path, request)
    steps = _steps(root, takes, request.problems)
    tasks = [
        _task(path, furniture, takes[furniture], steps, request)
        for furniture in pick_tasks(request, takes, group="ikea")
    ]
    return [task for task in tasks if task.recordings]


def _find(root: Path, names: Iterable[str]) -> Path | None:
    return next((root / name for name in names if (root / name).is_file()), None)


def _takes(path: Path, request: Request) -> dict[str, list[_Scan]]:
    """Read all takes by furniture."""
    listed = _splits(request.root, request.problems)
    fps = request.fps or FPS
    takes: dict[str, list[_Scan]] = {}
    for key, entry in sorted(_database(path).items()):
        furniture, _, name = key.partition("/")
        if not (is_plain(furniture) and is_plain(name)):
            request.problems.report(f"{place(path)}: {key!r}; expected furniture/take")
            continue
        rows = or_report(request.problems, partial(_rows, path, key, entry, fps))
        if rows is not None:
            end = max(row.end for row in rows) + 0.5 / fps
            split = listed.get(key, SPLITS.get(entry.get("subset"), ""))
            takes.setdefault(furniture, []).append(_Scan(name, rows, end, split))
    return takes


def _database(path: Path) -> dict[str, Any]:
    try:
        content = json.loads("\n".join(read_lines(path)))
    except json.JSONDecodeError as problem:
        raise DatasetError(
            f"{place(path, problem.lineno)}: is no JSON ({problem.msg})"
        ) from problem
    except RecursionError:
        raise DatasetError(f"{place(path)}: is nested too deeply to be such a file") from None
    database = content.get("database") if isinstance(content, dict) else None
    if not isinstance(database, dict):
        raise DatasetError(f"{place(path)}: holds no `database` of takes")
    return database


def _rows(path: Path, key: str, entry: object, fps: float) -> list[Row]:
    """Read segments of first and last frame, from 0.

    Every row begins and ends half a frame early, so that rounding moves no frame out of its step.
    """
    segments = entry.get("annotation") if isinstance(entry, dict) else None
    if not isinstance(segments, list) or not segments:
        raise DatasetError(f"{place(path)}, {key}: a take without labels; expected `annotation`")
    rows = []
    for number, segment in enumerate(segments, 1):
        try:
            label, (first, last) = segment["label"], segment["segment"]
            if not isinstance(label, str) or first != int(first) or last != int(last):
                raise ValueError
        except (KeyError, TypeError, ValueError, OverflowError):
            raise DatasetError(
                f"{place(path)}, {key}, segment {number}: expected `label`, a text, and `segment`, "
                "the first and the last frame"
            ) from None
        rows.append(Row(_edge(first, fps), _edge(last + 1, fps), label))
    return rows


def _edge(frame: float, fps: float) -> float:
    """Return when a frame begins, which is half a frame before its moment, but not before 0."""
    return max(frame - 0.5, 0.0) / fps if frame >= 0 else frame / fps


def _splits(root: Path, problems: Problems) -> dict[str, Split]:
    """Read the lists of takes by split, if they are there."""
    splits: dict[str, Split] = {}
    for split in ("train", "test"):
        name = f"{split}_cross_env.txt"
        path = _find(root, (f"indexing_files/{name}", f"annotations/{name}", name))
        lines = None if path is None else or_report(problems, partial(read_lines, path))
        for line, text in enumerate(lines or (), 1):
            if text.strip() and splits.setdefault(text.strip(), split) != split:
                problems.report(f"{name}, line {line}: {text.strip()} is in train_cross_env, too")
    return splits


def _steps(root: Path, takes: Mapping[str, Iterable[_Scan]], problems: Problems) -> StepList:
    """Give numbers to atomic actions by name: those that are listed, or else those that occur."""
    name = "atomic_action_list.txt"
    path = _find(root, (f"indexing_files/{name}", name))
    lines = None if path is None else or_report(problems, partial(read_lines, path))
    if lines is None:
        return number_by_name(
            row.label for scans in takes.values() for scan in scans for row in scan.rows
        )
    labels = sorted({text.strip() for text in lines if not is_background(text)})
    return StepList.of({label: number for number, label in enumerate(labels, 1)})


def _task(
    path: Path, furniture: str, scans: Iterable[_Scan], steps: StepList, request: Request
) -> LabelledTask:
    features = files_by_stem(request.root / "features" / furniture, READERS, request.problems)
    scans = sorted(scans, key=lambda scan: scan.name)
    for name in sorted(set(features) - {scan.name for scan in scans}):
        request.problems.report(f"{furniture}/{features[name].name}: has no labels in {path.name}")
    recordings = []
    for scan in scans:
        if features and scan.name not in features:
            request.problems.report(f"{place(path)}, {furniture}/{scan.name}: has no features")
            continue
        one = _recording(path, furniture, scan, features.get(scan.name), steps, request)
        recordings += [one] if one is not None else []
    return LabelledTask(furniture, tuple(recordings), names_used(recordings, steps), "ikea")


def _recording(
    path: Path,
    furniture: str,
    scan: _Scan,
    features: Path | None,
    steps: StepList,
    request: Request,
) -> LabelledRecording | None:
    seconds: float | None = scan.end
    read_one = None
    if features is not None:
        fps = request.fps or (FPS if features.suffix.lower() == ".npy" else None)
        length = or_report(request.problems, partial(seconds_in, features, fps))
        if length is None:
            return None
        seconds = length or None
        read_one = partial(read_features, features, cues=tuple(request.cues), fps=fps)
    called = Path(f"{path.name}, {furniture}, {scan.name}")  # for messages; there is no such file
    annotation = annotate(
        called, scan.rows, steps, request.problems, recording=scan.name, duration_seconds=seconds
    )
    video = _find(
        request.root,
        (f"{top}{furniture}/{scan.name}/{VIDEO}" for top in ("", "videos/")),
    )
    return LabelledRecording(scan.name, annotation, video, read_one, scan.split)


FORMAT = DatasetFormat(
    read,
    "IKEA ASM: assembly of four pieces of furniture",
    "https://ikeaasm.github.io/",
    """\
annotations/action_annotations/gt_segments.json          or gt_segments.json
indexing_files/atomic_action_list.txt                    may be missing
indexing_files/train_cross_env.txt, test_cross_env.txt   may be missing
features/FURNITURE/TAKE.npy                              one row per frame; .npz, .h5 and
                                                         .safetensors with `times`, or give --fps;
                                                         without the folder: labels alone
FURNITURE/TAKE/dev3/images/scan_video.avi                may be missing; also below videos/
FURNITURE: Kallax_Shelf_Drawer, Lack_Coffee_Table, Lack_Side_Table, Lack_TV_Bench.
25 frames per second, unless --fps says otherwise.""",
    labels_rate=8.0,
)
