"""IKEA ASM: people who assemble furniture; one atomic action per video frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
    Split,
)
from stepreel.evaluation.datasets.reading import (
    files_by_stem,
    is_plain,
    must_be_there,
    names_used,
    pick_tasks,
    report_failure,
    seconds_in,
)
from stepreel.evaluation.truth.annotation import (
    Problems,
    Row,
    StepList,
    annotate,
    is_background,
    number_by_name,
    place,
)
from stepreel.evaluation.truth.frame_spans import FrameSpan, one_at_a_time
from stepreel.evaluation.truth.lines import read_lines
from stepreel.features.array_files import READERS
from stepreel.features.feature_files import read_features
from stepreel.types import readable

FPS = 25.0
SEGMENTS = (
    "annotations/action_annotations/gt_segments.json",
    "action_annotations/gt_segments.json",
    "gt_segments.json",
)
VIDEO = "dev3/images/scan_video.avi"  # the camera that looks from above
SPLITS: Mapping[str, Split] = {"training": "train", "testing": "test"}
MOST_FRAMES = 10**9  # of one take: more than a year
MOST_DIGITS = 18  # of whole numbers, which are read as decimal fractions if they are longer


@dataclass(frozen=True)
class _Scan:
    """One take of one piece of furniture; `written` is where its labels stand, for messages."""

    name: str
    written: str
    segments: list[FrameSpan]
    split: Split


def read(request: Request) -> list[LabelledTask]:
    """Read the takes of every piece of furniture, each of which is a task."""
    root = must_be_there(request.root, "the dataset's folder")
    path = _find(root, SEGMENTS)
    if path is None:
        raise DatasetMissingError(f"{root}: holds none of {', '.join(SEGMENTS)}")
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
    takes: dict[str, list[_Scan]] = {}
    for key, entry in sorted(_database(path, request.problems).items()):
        furniture, _, name = key.partition("/")
        if not (is_plain(furniture) and is_plain(name) and _is_text(key)):
            request.problems.report(f"{place(path)}: {key!r}; expected furniture/take")
            continue
        scan = report_failure(
            request.problems, partial(_scan, name, f"{place(path)}, {key}", entry)
        )
        if scan is not None:
            split = listed.get(key, scan.split)
            takes.setdefault(furniture, []).append(replace(scan, split=split))
    return takes


def _is_text(text: str) -> bool:
    """Tell whether a text has no halves of characters, which nothing can be written with."""
    return text == readable(text)


def _database(path: Path, problems: Problems) -> dict[str, Any]:
    repeated: list[str] = []

    def first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                repeated.append(key)
            else:
                found[key] = value
        return found

    try:
        content = json.loads(
            "\n".join(read_lines(path)), object_pairs_hook=first_of_each, parse_int=_whole
        )
    except json.JSONDecodeError as problem:
        raise DatasetError(
            f"{place(path, problem.lineno)}: is no JSON ({problem.msg})"
        ) from problem
    except RecursionError:
        raise DatasetError(f"{place(path)}: is nested too deeply to be such a file") from None
    database = content.get("database") if isinstance(content, dict) else None
    if not isinstance(database, dict):
        raise DatasetError(f"{place(path)}: holds no `database` of takes")
    for key in repeated:
        problems.report(f"{place(path)}: {key!r} is there twice in one object; expected once")
    return database


def _whole(digits: str) -> float:
    """Read a whole number, however long it is."""
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


def _scan(name: str, written: str, entry: object) -> _Scan:
    """Read segments of first and last frame, from 0."""
    segments = entry.get("annotation") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(segments, list) or not segments:
        raise DatasetError(f"{written}: a take without labels; expected `annotation`")
    subset = entry.get("subset") or ""
    if not isinstance(subset, str):
        raise DatasetError(f"{written}: `subset` is {subset!r}; expected training or testing")
    spans = [_span(written, number, segment) for number, segment in enumerate(segments, 1)]
    return _Scan(name, written, spans, SPLITS.get(subset, ""))


def _span(written: str, number: int, segment: object) -> FrameSpan:
    match segment:
        case {"label": str(label), "segment": [first, last]} if (
            _is_text(label) and _is_frame(first) and _is_frame(last)
        ):
            return FrameSpan(int(first), int(last), label, number)
    raise DatasetError(
        f"{written}, segment {number}: {repr(segment)[:80]}; expected `label`, a text, and "
        "`segment`, the first and the last frame"
    )


def _is_frame(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= MOST_FRAMES and number == int(number)


def _edge(frame: int, fps: float) -> float:
    """Return when a frame begins, which is half a frame before its moment, but not before 0.

    So rounding moves no frame out of its step.
    """
    return max(frame - 0.5, 0.0) / fps


def _splits(root: Path, problems: Problems) -> dict[str, Split]:
    """Read the lists of takes by split, if they are there."""
    splits: dict[str, Split] = {}
    for split in ("train", "test"):
        name = f"{split}_cross_env.txt"
        path = _find(root, (f"indexing_files/{name}", f"annotations/{name}", name))
        lines = None if path is None else report_failure(problems, partial(read_lines, path))
        for line, text in enumerate(lines or (), 1):
            if text.strip() and splits.setdefault(text.strip(), split) != split:
                problems.report(f"{name}, line {line}: {text.strip()} is in train_cross_env, too")
    return splits


def _steps(root: Path, takes: Mapping[str, Iterable[_Scan]], problems: Problems) -> StepList:
    """Give numbers to atomic actions by name: those that are listed, or else those that occur."""
    name = "atomic_action_list.txt"
    path = _find(root, (f"indexing_files/{name}", name))
    lines = None if path is None else report_failure(problems, partial(read_lines, path))
    if lines is None:
        return number_by_name(
            span.label for scans in takes.values() for scan in scans for span in scan.segments
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
    spans = _spans(scan, steps, request.problems)
    if not spans:
        request.problems.report(f"{scan.written}: a take without labels")
        return None
    fps = request.fps or FPS
    seconds: float | None = (max(span.last for span in scan.segments) + 1) / fps
    read_one = None
    if features is not None:
        rate = request.fps or (FPS if features.suffix.lower() == ".npy" else None)
        length = report_failure(request.problems, partial(seconds_in, features, rate))
        if length is None:
            return None
        seconds = length or None
        read_one = partial(read_features, features, cues=tuple(request.cues), fps=rate)
    annotation = annotate(
        Path(scan.written.replace("/", ", ")),  # for messages; there is no such file
        [Row(_edge(one.first, fps), _edge(one.last + 1, fps), one.label) for one in spans],
        steps,
        request.problems,
        recording=scan.name,
        duration_seconds=seconds,
    )
    video = _find(
        request.root,
        (f"{top}{furniture}/{scan.name}/{VIDEO}" for top in ("", "videos/")),
    )
    return LabelledRecording(scan.name, annotation, video, read_one, scan.split)


def _spans(scan: _Scan, steps: StepList, problems: Problems) -> list[FrameSpan]:
    """Return the segments that can be right; report the others with their frames."""

    def complain(what: str) -> None:
        problems.report(f"{scan.written}, {what}")

    forward = []
    for span in scan.segments:
        if span.first < 0:
            complain(f"segment {span.number}: {span} begin before frame 0, the first there is")
        elif span.last < span.first:
            complain(f"segment {span.number}: {span} end before they begin")
        else:
            forward.append(span)
    return one_at_a_time(forward, steps, complain, unit="segment")


FORMAT = DatasetFormat(
    read,
    "IKEA ASM: assembly of four pieces of furniture",
    "https://ikeaasm.github.io/",
    """\
annotations/action_annotations/gt_segments.json          or action_annotations/gt_segments.json,
                                                         or gt_segments.json
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
