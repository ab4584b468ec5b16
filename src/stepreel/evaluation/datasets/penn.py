"""Penn Action: athletes and gymnasts; which phase of an action every video frame is in.

There is no background: every frame is in a phase. Phases count from 0 in the files, from 1 here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.penn_labels import (
    ALIASES,
    N_PHASES,
    LabelledVideo,
    action_in,
    from_folders,
    from_records,
    refuse_pickles,
)
from stepreel.evaluation.datasets.reading import (
    VIDEOS,
    files_by_stem,
    must_be_there,
    pick_tasks,
    report_failure,
    shapes_in,
)
from stepreel.evaluation.truth.annotation import (
    Annotation,
    StepList,
    annotate,
    place,
    rows_of_labels,
)
from stepreel.features.feature_files import TIMES, FeatureRecording, read_features
from stepreel.types import FeatureTrack, Seconds

FPS = 25.0
LABELS = "penn_action_labels"
DIFFERENT_FRAMES = 2  # by which features and labels may differ: decoders disagree about the last
_Files = Mapping[str, Sequence[Path]]


def read(request: Request) -> list[LabelledTask]:
    """Read the videos of every action, each of which is a task."""
    root = must_be_there(request.root, "the dataset's folder")
    labels = root / LABELS
    records = sorted({*root.glob("*.tfrecord*"), *root.glob("tfrecords/*.tfrecord*")})
    if not labels.is_dir() and not records:
        refuse_pickles(root)
        raise DatasetMissingError(f"{root}: holds neither {LABELS} nor a .tfrecord file")
    wanted = pick_tasks(request, N_PHASES, group="penn", aliases=ALIASES)
    found = from_folders(labels, request) if labels.is_dir() else from_records(records, request)
    labelled: dict[tuple[str, str], LabelledVideo] = {}
    for video in found:
        if (video.action, video.name) not in labelled:
            labelled[video.action, video.name] = video
        elif video.action in wanted:
            request.problems.report(f"{video.written}: {video.name} is there twice")
    features = _by_number(files_by_stem(root / "features", (".npy", ".npz"), request.problems))
    videos = _by_number(files_by_stem(root / "videos", VIDEOS, request.problems))
    _report_strays(features, labelled.values(), wanted, request)
    tasks = []
    for action in wanted:
        ours = [labelled[key] for key in sorted(labelled) if key[0] == action]
        tasks.append(_task(action, ours, features, videos, request))
    return [task for task in tasks if task.recordings]


def _by_number(files: Mapping[str, Path]) -> _Files:
    """Let files be found by the number of their video, too, unless one is called by it alone.

    >>> [path.name for path in _by_number({"0001_bowl": Path("0001_bowl.npy")})["0001"]]
    ['0001_bowl.npy']
    """
    found = {stem: [path] for stem, path in files.items()}
    for stem, path in files.items():
        number = _number(stem)
        if number and number not in files:
            found.setdefault(number, []).append(path)
    return found


def _number(name: str) -> str:
    match = re.match(r"[0-9]+(?=_|$)", name)
    return match[0] if match else ""


def _file_of(video: LabelledVideo, files: _Files) -> Path | None:
    """Return the one file of a video, by name or number, whose name tells no other action."""
    paths = files.get(video.name) or files.get(_number(video.name), [])
    fitting = [path for path in paths if action_in(path.stem) in (None, video.action)]
    return fitting[0] if len(fitting) == 1 else None


def _report_strays(
    features: _Files, videos: Iterable[LabelledVideo], wanted: Sequence[str], request: Request
) -> None:
    used = {_file_of(video, features) for video in videos}
    for path in sorted({path for paths in features.values() for path in paths} - used):
        if action_in(path.stem) in (None, *wanted):
            request.problems.report(
                f"features/{place(path)}: has no labels of its own, by name or number"
            )


def _task(
    action: str,
    labelled: Sequence[LabelledVideo],
    features: _Files,
    videos: _Files,
    request: Request,
) -> LabelledTask:
    names = {phase: f"phase {phase}" for phase in range(1, N_PHASES[action] + 1)}
    steps = StepList.of({}, names)
    recordings, cut = [], []
    for video in labelled:
        file = _file_of(video, features)
        if features and file is None:
            request.problems.report(f"{video.written}: has no features")
            continue
        clock = report_failure(request.problems, partial(_clock, file, video, request))
        if clock is None or not _are_phases(video, request):
            continue
        n = min(len(video.phases), len(clock))
        cut += [video] if len(video.phases) != len(clock) else []
        annotation = _annotation(video, clock[:n], steps, request)
        read_one = None if file is None else partial(_read_features, file, n, request)
        watch = _file_of(video, videos)
        recordings.append(LabelledRecording(video.name, annotation, watch, read_one, video.split))
    if cut:
        request.problems.notes.append(
            f"{action}: labels and features differ by up to {DIFFERENT_FRAMES} frames (videos: "
            f"{len(cut)}, first {cut[0].name}); both end with the shorter"
        )
    return LabelledTask(action, tuple(recordings), names, "penn")


def _clock(path: Path | None, video: LabelledVideo, request: Request) -> Seconds:
    """Return when the frames are: those of the features, or of the labels if there are none."""
    n, fps = len(video.phases), request.fps or FPS
    if path is None:
        return np.arange(n) / fps
    try:
        shapes = shapes_in(path)
    except RecordingError as problem:
        raise DatasetError(f"features: {problem}") from problem
    lengths = {shape[0] for shape in shapes.values() if len(shape) == 2}
    if len(lengths) != 1 or abs(min(lengths) - n) > DIFFERENT_FRAMES or lengths == {0}:
        there = ", ".join(map(str, sorted(lengths))) or "no"
        raise DatasetError(
            f"{video.written}: has {n} labels, but features/{place(path)} has {there} rows; "
            f"expected one per frame in both (they may differ by {DIFFERENT_FRAMES})"
        )
    if request.fps is None and TIMES in shapes:
        recording = read_features(path, cues=tuple(request.cues))
        return next(iter(recording.tracks.values())).times + recording.start_seconds
    return np.arange(min(lengths)) / fps


def _read_features(path: Path, frames: int, request: Request) -> FeatureRecording:
    """Read features with their own times or at a frame rate, and end them with the labels."""
    fps = request.fps or (None if TIMES in shapes_in(path) else FPS)
    recording = read_features(path, cues=tuple(request.cues), fps=fps)
    if all(len(track) <= frames for track in recording.tracks.values()):
        return recording
    tracks = {
        cue: FeatureTrack(
            one.recording, cue, one.times[:frames], one.features[:frames], one.valid[:frames]
        )
        for cue, one in recording.tracks.items()
    }
    return replace(recording, tracks=tracks, fingerprint=f"{recording.fingerprint}:{frames}")


def _are_phases(video: LabelledVideo, request: Request) -> bool:
    """Tell whether all labels are phases of the action; report the first that is none."""
    n = N_PHASES[video.action]
    wrong = [i for i, phase in enumerate(video.phases) if not 0 <= phase < n]
    if wrong:
        request.problems.report(
            f"{video.written}, frame {wrong[0] + 1}: phase {video.phases[wrong[0]]}, but "
            f"{video.action} has the phases 0 to {n - 1}"
        )
    return not wrong


def _annotation(
    video: LabelledVideo, clock: Seconds, steps: StepList, request: Request
) -> Annotation:
    """Give every frame its phase; the last frame lasts as long as the one before."""
    frame = float(clock[-1] - clock[-2]) if len(clock) > 1 else 1 / (request.fps or FPS)
    end = float(clock[-1]) + frame
    labels = [str(phase + 1) for phase in video.phases[: len(clock)]]
    return annotate(
        Path(video.written),
        rows_of_labels(labels, clock, end_seconds=end),
        steps,
        request.problems,
        recording=video.name,
        duration_seconds=end,
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
Features and videos may also be called 0001_baseball_pitch.
Pickles (train.pkl) are never read. 25 frames per second, unless --fps says otherwise.""",
    labels_rate=FPS,
)
