"""Penn Action: athletes and gymnasts; which phase of an action every video frame is in.

There is no background: every frame is in a phase. Phases count from 0 in the files, from 1 here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.datasets.annotation import Annotation, StepList, annotate, place, rows_of_labels
from stepreel.datasets.benchmark import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    NotThereError,
    Request,
    Split,
)
from stepreel.datasets.ready_made import (
    VIDEOS,
    files_by_stem,
    must_be_there,
    or_report,
    pick_tasks,
    read_npy,
    shapes_in,
)
from stepreel.datasets.tfrecord import SequenceExample, read_examples
from stepreel.errors import DatasetError
from stepreel.feature_files import PICKLES, TIMES, read_features
from stepreel.types import readable

FPS = 25.0
N_PHASES = {
    "baseball_pitch": 4,
    "baseball_swing": 3,
    "bench_press": 2,
    "bowl": 3,
    "clean_and_jerk": 6,
    "golf_swing": 3,
    "jumping_jacks": 4,
    "pullup": 2,
    "pushup": 2,
    "situp": 2,
    "squat": 4,
    "tennis_forehand": 3,
    "tennis_serve": 4,
}
ALIASES = {
    "benchpress": "bench_press",
    "bowling": "bowl",
    "pullups": "pullup",
    "pushups": "pushup",
    "situps": "situp",
    "squats": "squat",
}
SPLITS: Mapping[str, Split] = {"train": "train", "val": "test"}
LABELS = "penn_action_labels"
ADVICE = "pickles can run code and are never read; save labels with numpy.save, one file per video"


@dataclass(frozen=True)
class _Video:
    """The phases of one video, and what to call the file they are from in messages."""

    name: str
    path: Path
    phases: Sequence[int]
    split: Split


def read(request: Request) -> list[LabelledTask]:
    """Read the videos of every action, each of which is a task."""
    root = must_be_there(request.root, "the dataset's folder")
    labels = request.truth or root / LABELS
    records = sorted({*root.glob("*.tfrecord*"), *root.glob("tfrecords/*.tfrecord*")})
    if not labels.is_dir() and not records:
        _refuse_pickles(root)
        raise NotThereError(f"{root}: holds neither {LABELS} nor a .tfrecord file")
    wanted = set(pick_tasks(request, N_PHASES, group="penn", aliases=ALIASES))
    found = _from_folders(labels, request) if labels.is_dir() else _from_records(records, request)
    by_action: dict[str, dict[str, _Video]] = {action: {} for action in sorted(wanted)}
    for action, video in found:
        if action in wanted and video.name in by_action[action]:
            request.problems.report(f"{place(video.path)}: {video.name} is there twice")
        elif action in wanted:
            by_action[action][video.name] = video
    features = files_by_stem(root / "features", (".npy", ".npz"), request.problems)
    videos = files_by_stem(root / "videos", VIDEOS, request.problems)
    tasks = [_task(action, by_action[action], features, videos, request) for action in by_action]
    return [task for task in tasks if task.recordings]


def _refuse_pickles(folder: Path) -> None:
    for path in sorted(folder.glob("*")):
        if path.suffix.lower() in PICKLES:
            raise DatasetError(f"{place(path)}: {ADVICE}")


def action_in(name: str) -> str | None:
    """Return the action that a name tells.

    >>> action_in("0001_baseball_pitch"), action_in("bowling_val-0-of-4.tfrecord"), action_in("x")
    ('baseball_pitch', 'bowl', None)
    """
    plain = re.sub(r"[^a-z]+", "_", name.lower())
    known = {**ALIASES, **{action: action for action in N_PHASES}}
    for spelling in sorted(known, key=len, reverse=True):
        if f"_{spelling}_" in f"_{plain}_":
            return known[spelling]
    return None


def _from_folders(folder: Path, request: Request) -> Iterator[tuple[str, _Video]]:
    """Read SPLIT/ACTION/VIDEO.npy files; they are few bytes each."""
    _refuse_pickles(folder)
    for name, split in SPLITS.items():
        for inside in sorted(path for path in (folder / name).glob("*") if path.is_dir()):
            action = ALIASES.get(inside.name.lower(), inside.name.lower())
            if action not in N_PHASES:
                request.problems.report(
                    f"{name}/{readable(inside.name)}: unknown action; known: {', '.join(N_PHASES)}"
                )
                continue
            for video, path in files_by_stem(inside, (".npy",), request.problems).items():
                phases = or_report(request.problems, partial(_phases, path))
                if phases is not None:
                    yield action, _Video(video, path, phases, split)


def _phases(path: Path) -> list[int]:
    array = read_npy(path)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise DatasetError(
            f"{place(path)}: holds {array.dtype} {array.shape}; expected one integer per frame"
        )
    return [int(phase) for phase in array]


def _from_records(paths: Sequence[Path], request: Request) -> Iterator[tuple[str, _Video]]:
    """Read the labels in TFRecords, and leave the pictures in them alone."""
    for path in paths:
        names = [name for name in SPLITS if re.search(rf"(?<![a-z]){name}(?![a-z])", path.name)]
        split = SPLITS[names[0]] if names else ""
        examples = read_examples(path, ("name", "len", "frame_labels"))
        while (
            found := or_report(request.problems, partial(next, examples, (0, None)))
        ) is not None:
            offset, example = found
            if example is None:
                break
            told = or_report(request.problems, partial(_told, path, offset, example))
            if told is not None:
                name, action, phases = told
                called = Path(f"{path.name}, {name}")  # for messages; there is no such file
                yield action, _Video(name, called, phases, split)


def _told(path: Path, offset: int, example: SequenceExample) -> tuple[str, str, list[int]]:
    """Return name, action and phases that a record tells."""
    where = f"{place(path)}, byte {offset}"
    names = [name for name in example.context.get("name", ()) if isinstance(name, bytes)]
    name = names[0].decode("utf-8", "replace") if names else ""
    action = action_in(name) or action_in(path.name)
    if not name or action is None:
        raise DatasetError(f"{where}: {name!r} tells no known action, nor does the file's name")
    phases = [
        value
        for one in example.lists.get("frame_labels", ())
        for value in one
        if isinstance(value, int)
    ]
    (expected,) = example.context.get("len", ())[:1] or (len(phases),)
    if not phases or expected != len(phases):
        raise DatasetError(
            f"{where}: {name} has {len(phases)} `frame_labels`; expected {expected!r}, one each"
        )
    return name, action, phases


def _task(
    action: str,
    labelled: Mapping[str, _Video],
    features: Mapping[str, Path],
    videos: Mapping[str, Path],
    request: Request,
) -> LabelledTask:
    names = {phase: f"phase {phase}" for phase in range(1, N_PHASES[action] + 1)}
    steps = StepList.of({}, names)
    recordings = []
    for name in sorted(labelled):
        number = name.partition("_")[0]
        file = features.get(name, features.get(number))
        video = videos.get(name, videos.get(number))
        if features and file is None:
            request.problems.report(f"{place(labelled[name].path)}: has no features")
            continue
        read_one = None
        if file is not None:
            fps = or_report(request.problems, partial(_rate, file, labelled[name], request.fps))
            if fps is None:
                continue
            read_one = partial(read_features, file, cues=tuple(request.cues), fps=fps or None)
        annotation = _annotation(action, labelled[name], steps, request)
        if annotation is not None:
            recordings.append(
                LabelledRecording(name, annotation, video, read_one, labelled[name].split)
            )
    return LabelledTask(action, tuple(recordings), names, "penn")


def _rate(path: Path, video: _Video, fps: float | None) -> float:
    """Return the frame rate of features, 0 if they have their own times; check their length."""
    shapes = shapes_in(path)
    if fps is None and TIMES in shapes:
        return 0.0
    lengths = {shape[0] for shape in shapes.values() if len(shape) == 2}
    if lengths != {len(video.phases)}:
        there = ", ".join(map(str, sorted(lengths))) or "no"
        raise DatasetError(
            f"{place(video.path)}: has {len(video.phases)} labels, but {readable(path.name)} has "
            f"{there} rows; expected one per frame in both"
        )
    return fps or FPS


def _annotation(action: str, video: _Video, steps: StepList, request: Request) -> Annotation | None:
    wrong = [i for i, phase in enumerate(video.phases) if not 0 <= phase < N_PHASES[action]]
    if wrong:
        request.problems.report(
            f"{place(video.path)}, frame {wrong[0] + 1}: phase {video.phases[wrong[0]]}, but "
            f"{action} has the phases 0 to {N_PHASES[action] - 1}"
        )
        return None
    fps = request.fps or FPS
    n = len(video.phases)
    labels = [str(phase + 1) for phase in video.phases]
    rows = rows_of_labels(labels, np.arange(n) / fps, end_seconds=n / fps)
    return annotate(
        video.path, rows, steps, request.problems, recording=video.name, duration_seconds=n / fps
    )


FORMAT = DatasetFormat(
    read,
    "Penn Action: phases of 13 sports actions",
    "http://dreamdragon.github.io/PennAction/ (videos); labels of phases: see "
    "https://github.com/minghchen/CARL_code",
    """\
penn_action_labels/train/ACTION/0001.npy   one phase per frame, from 0; test split: val/ACTION/…
  or *.tfrecord, also in tfrecords/        with `name` and `frame_labels`; pictures are not read
features/0001.npy                          or .npz: one row per frame; without the folder: labels
                                           alone
videos/0001.mp4                            may be missing; frames/0001/*.jpg are not read: make
                                           videos of them, 25 frames per second
Pickles (train.pkl) are never read. 25 frames per second, unless --fps says otherwise.""",
    labels_rate=FPS,
)
