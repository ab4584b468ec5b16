"""IKEA ASM: people who assemble furniture; one atomic action per video frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    feature_seconds,
    files_by_stem,
    is_safe_name,
    pick_tasks,
    require,
    used_step_names,
)
from stepreel.evaluation.truth.annotation import Problems, location
from stepreel.evaluation.truth.frame_spans import FrameSpan, drop_overlaps
from stepreel.evaluation.truth.lines import read_lines
from stepreel.evaluation.truth.rows import Row, build_annotation
from stepreel.evaluation.truth.step_list import StepList, is_background, number_by_name
from stepreel.features.array_files import READERS
from stepreel.features.feature_files import read_features
from stepreel.types import readable

FPS = 25.0
SEGMENTS = (
    "annotations/action_annotations/gt_segments.json",
    "action_annotations/gt_segments.json",
    "gt_segments.json",
)
VIDEO = "dev3/images/scan_video.avi"  # the camera above the scene
SPLITS: Mapping[str, Split] = {"training": "train", "testing": "test"}
MOST_FRAMES = 10**9  # of one take: more than a year
MAX_INT_DIGITS = 18  # of whole numbers in JSON; longer ones are read as floats


@dataclass(frozen=True)
class _Take:
    """One assembly of one piece of furniture; `source` names its labels in messages."""

    furniture: str
    name: str
    source: str
    segments: list[FrameSpan]
    split: Split


def read(request: Request) -> list[LabelledTask]:
    """Read the takes of every piece of furniture, each of which is a task."""
    root, problems = require(request.root, "the dataset's folder"), request.problems
    path = _find(root, SEGMENTS)
    if path is None:
        raise DatasetMissingError(f"{root}: contains none of {', '.join(SEGMENTS)}")
    takes = _read_takes(path, _read_splits(root, problems), problems)
    steps = _read_steps(root, takes, problems)
    by_furniture: dict[str, list[_Take]] = {}
    for take in takes:
        by_furniture.setdefault(take.furniture, []).append(take)
    tasks = [
        _task(path, furniture, by_furniture[furniture], steps, request)
        for furniture in pick_tasks(request, by_furniture, group="ikea")
    ]
    return [task for task in tasks if task.recordings]


def _find(root: Path, names: Iterable[str]) -> Path | None:
    return next((root / name for name in names if (root / name).is_file()), None)


def _read_takes(path: Path, splits: Mapping[str, Split], problems: Problems) -> list[_Take]:
    """Read all takes; `splits` overrule what the file itself says."""
    takes = []
    for key, entry in sorted(_read_database(path, problems).items()):
        furniture, _, name = key.partition("/")
        if not (is_safe_name(furniture) and is_safe_name(name) and _is_valid_text(key)):
            problems.report(f"{location(path)}: {key!r}; expected furniture/take")
            continue
        take = problems.attempt(_parse_take, f"{location(path)}, {key}", key, entry, splits)
        takes += [take] if take is not None else []
    return takes


def _is_valid_text(text: str) -> bool:
    """Return whether a text has no halves of characters, which could not be written to a file."""
    return text == readable(text)


def _read_database(path: Path, problems: Problems) -> dict[str, Any]:
    repeated: list[str] = []

    def first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                repeated.append(key)
            else:
                content[key] = value
        return content

    try:
        content = json.loads(
            "\n".join(read_lines(path)), object_pairs_hook=first_of_each, parse_int=_parse_int
        )
    except json.JSONDecodeError as problem:
        raise DatasetError(
            f"{location(path, problem.lineno)}: is not JSON ({problem.msg})"
        ) from problem
    except RecursionError:
        raise DatasetError(f"{location(path)}: is nested too deeply to be such a file") from None
    database = content.get("database") if isinstance(content, dict) else None
    if not isinstance(database, dict):
        raise DatasetError(f"{location(path)}: contains no `database` of takes")
    for key in repeated:
        problems.report(f"{location(path)}: {key!r} occurs twice in one object; expected once")
    return database


def _parse_int(digits: str) -> float:
    """Parse a whole number of any length."""
    return int(digits) if len(digits) <= MAX_INT_DIGITS else float(digits)


def _parse_take(source: str, key: str, entry: object, splits: Mapping[str, Split]) -> _Take:
    """Parse segments of first and last frame, from 0."""
    furniture, _, name = key.partition("/")
    segments = entry.get("annotation") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(segments, list) or not segments:
        raise DatasetError(f"{source}: a take without labels; expected `annotation`")
    subset = entry.get("subset") or ""
    if not isinstance(subset, str):
        raise DatasetError(f"{source}: `subset` is {subset!r}; expected training or testing")
    spans = [_parse_span(source, number, segment) for number, segment in enumerate(segments, 1)]
    return _Take(furniture, name, source, spans, splits.get(key, SPLITS.get(subset, "")))


def _parse_span(source: str, number: int, segment: object) -> FrameSpan:
    match segment:
        case {"label": str(label), "segment": [first, last]} if (
            _is_valid_text(label) and _is_frame(first) and _is_frame(last)
        ):
            return FrameSpan(int(first), int(last), label, number)
    raise DatasetError(
        f"{source}, segment {number}: {repr(segment)[:80]}; expected `label`, a text, and "
        "`segment`, the first and the last frame"
    )


def _is_frame(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= MOST_FRAMES and number == int(number)


def _read_splits(root: Path, problems: Problems) -> dict[str, Split]:
    """Read the lists of takes by split, if they exist."""
    splits: dict[str, Split] = {}
    for split in ("train", "test"):
        name = f"{split}_cross_env.txt"
        path = _find(root, (f"indexing_files/{name}", f"annotations/{name}", name))
        lines = None if path is None else problems.attempt(read_lines, path)
        for number, line in enumerate(lines or (), 1):
            if line.strip() and splits.setdefault(line.strip(), split) != split:
                problems.report(
                    f"{name}, line {number}: {line.strip()} is also in train_cross_env.txt"
                )
    return splits


def _read_steps(root: Path, takes: Iterable[_Take], problems: Problems) -> StepList:
    """Give actions numbers by name: the listed ones, or without a list those that occur."""
    name = "atomic_action_list.txt"
    path = _find(root, (f"indexing_files/{name}", name))
    lines = None if path is None else problems.attempt(read_lines, path)
    if lines is None:
        return number_by_name(span.label for take in takes for span in take.segments)
    labels = sorted({line.strip() for line in lines if not is_background(line)})
    return StepList.of({label: number for number, label in enumerate(labels, 1)})


def _task(
    path: Path, furniture: str, takes: Iterable[_Take], steps: StepList, request: Request
) -> LabelledTask:
    problems = request.problems
    features = files_by_stem(request.root / "features" / furniture, READERS, problems)
    takes = sorted(takes, key=lambda take: take.name)
    for name in sorted(set(features) - {take.name for take in takes}):
        problems.report(f"{furniture}/{features[name].name}: has no labels in {path.name}")
    recordings = []
    for take in takes:
        if features and take.name not in features:
            problems.report(f"{take.source}: has no features")
            continue
        recording = _recording(take, features.get(take.name), steps, request)
        recordings += [recording] if recording is not None else []
    return LabelledTask(furniture, tuple(recordings), used_step_names(recordings, steps), "ikea")


def _recording(
    take: _Take, features: Path | None, steps: StepList, request: Request
) -> LabelledRecording | None:
    problems = request.problems
    spans = _usable_spans(take, steps, problems)
    if not spans:
        problems.report(f"{take.source}: a take without labels")
        return None
    fps = request.fps or FPS
    duration: float | None = (max(span.last for span in take.segments) + 1) / fps
    read_cues = None
    if features is not None:
        rate = request.fps or (FPS if features.suffix.lower() == ".npy" else None)
        length = problems.attempt(feature_seconds, features, rate)
        if length is None:
            return None
        duration = length or None
        read_cues = partial(read_features, features, cues=tuple(request.cues), fps=rate)
    annotation = build_annotation(
        Path(take.source.replace("/", ", ")),  # for messages; there is no such file
        [_row(span, fps) for span in spans],
        steps,
        problems,
        recording=take.name,
        duration_seconds=duration,
    )
    folders = (f"{take.furniture}/{take.name}", f"videos/{take.furniture}/{take.name}")
    video = _find(request.root, (f"{folder}/{VIDEO}" for folder in folders))
    return LabelledRecording(take.name, annotation, video, read_cues, take.split)


def _row(span: FrameSpan, fps: float) -> Row:
    return Row(_frame_start(span.first, fps), _frame_start(span.last + 1, fps), span.label)


def _frame_start(frame: int, fps: float) -> float:
    """Return half a frame before a frame's time, but not before 0: rounding moves no frame."""
    return max(frame - 0.5, 0.0) / fps


def _usable_spans(take: _Take, steps: StepList, problems: Problems) -> list[FrameSpan]:
    """Return the segments that can be right; report the others with their frames."""

    def report(message: str) -> None:
        problems.report(f"{take.source}, {message}")

    forward = []
    for span in take.segments:
        if span.first < 0:
            report(f"segment {span.number}: {span} begin before frame 0, the first one")
        elif span.last < span.first:
            report(f"segment {span.number}: {span} end before they begin")
        else:
            forward.append(span)
    return drop_overlaps(forward, steps, report, unit="segment")


FORMAT = DatasetFormat(
    read,
    "IKEA ASM: assembly of four pieces of furniture",
    "https://ikeaasm.github.io/",
    """\
annotations/action_annotations/gt_segments.json          or action_annotations/gt_segments.json,
                                                         or gt_segments.json
indexing_files/atomic_action_list.txt                    optional
indexing_files/train_cross_env.txt, test_cross_env.txt   optional
features/FURNITURE/TAKE.npy                              one row per frame; .npz, .h5 and
                                                         .safetensors with `times`, or give
                                                         --fps (fps=…);
                                                         without this folder: only labels
FURNITURE/TAKE/dev3/images/scan_video.avi                optional; or below videos/
FURNITURE: Kallax_Shelf_Drawer, Lack_Coffee_Table, Lack_Side_Table, Lack_TV_Bench.
25 frames per second, unless --fps (fps=…) is given.""",
    labels_rate=8.0,
)
