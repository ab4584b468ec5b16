"""Penn Action: athletes and gymnasts; the phase of an action at every video frame.

There is no background: every frame is in a phase. Phases count from 0 in the files, from 1 here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    VideoPhases,
    action_in,
    read_label_folders,
    read_label_records,
    refuse_pickles,
)
from stepreel.evaluation.datasets.reading import (
    VIDEO_SUFFIXES,
    array_shapes,
    files_by_stem,
    pick_tasks,
    require,
)
from stepreel.evaluation.truth.annotation import Annotation, Problems, location
from stepreel.evaluation.truth.rows import build_annotation, rows_of_labels
from stepreel.evaluation.truth.step_list import StepList
from stepreel.features.feature_files import TIMES, FeatureRecording, read_features
from stepreel.types import FeatureTrack, Seconds

FPS = 25.0
LABELS = "penn_action_labels"
FRAME_TOLERANCE = 2  # by which features and labels may differ: decoders disagree about the last
_Files = Mapping[str, Sequence[Path]]  # by name of video, and by its number


@dataclass(frozen=True)
class _Frames:
    """The frames of a video that has features or only labels.

    times     of the features, or of the labels if there are no features
    features  reads them, cut to a number of frames
    """

    times: Seconds
    features: Callable[[int], FeatureRecording] | None = None


def read(request: Request) -> list[LabelledTask]:
    """Read the videos of every action, each of which is a task."""
    root, problems = require(request.root, "the dataset's folder"), request.problems
    folder = root / LABELS
    records = sorted({*root.glob("*.tfrecord*"), *root.glob("tfrecords/*.tfrecord*")})
    if not folder.is_dir() and not records:
        refuse_pickles(root)
        raise DatasetMissingError(f"{root}: contains neither {LABELS} nor a .tfrecord file")
    actions = pick_tasks(request, N_PHASES, group="penn", aliases=ALIASES)
    labelled: dict[tuple[str, str], VideoPhases] = {}
    for video in (
        read_label_folders(folder, problems)
        if folder.is_dir()
        else read_label_records(records, problems)
    ):
        if (video.action, video.name) not in labelled:
            labelled[video.action, video.name] = video
        elif video.action in actions:
            problems.report(f"{video.source}: {video.name} occurs twice")
    features = _by_number(files_by_stem(root / "features", (".npy", ".npz"), problems))
    videos = _by_number(files_by_stem(root / "videos", VIDEO_SUFFIXES, problems))
    _report_unlabelled(features, labelled.values(), actions, problems)
    tasks = []
    for action in actions:
        own = [labelled[key] for key in sorted(labelled) if key[0] == action]
        tasks.append(_task(action, own, features, videos, request))
    return [task for task in tasks if task.recordings]


def _by_number(files: Mapping[str, Path]) -> _Files:
    """Let files be found by the number of their video, too, unless that is another file's name.

    >>> [path.name for path in _by_number({"0001_bowl": Path("0001_bowl.npy")})["0001"]]
    ['0001_bowl.npy']
    """
    by_name = {stem: [path] for stem, path in files.items()}
    for stem, path in files.items():
        number = _number_in(stem)
        if number and number not in files:
            by_name.setdefault(number, []).append(path)
    return by_name


def _number_in(name: str) -> str:
    match = re.match(r"[0-9]+(?=_|$)", name)
    return match[0] if match else ""


def _file_of(video: VideoPhases, files: _Files) -> Path | None:
    """Return the one file of a video, by name or number, unless it is named for another action."""
    paths = files.get(video.name) or files.get(_number_in(video.name), [])
    fitting = [path for path in paths if action_in(path.stem) in (None, video.action)]
    return fitting[0] if len(fitting) == 1 else None


def _report_unlabelled(
    features: _Files, videos: Iterable[VideoPhases], actions: Sequence[str], problems: Problems
) -> None:
    used = {_file_of(video, features) for video in videos}
    for path in sorted({path for paths in features.values() for path in paths} - used):
        if action_in(path.stem) in (None, *actions):
            problems.report(f"features/{location(path)}: has no labels, by its name or number")


def _task(
    action: str,
    labelled: Sequence[VideoPhases],
    features: _Files,
    videos: _Files,
    request: Request,
) -> LabelledTask:
    problems = request.problems
    names = {phase: f"phase {phase}" for phase in range(1, N_PHASES[action] + 1)}
    steps = StepList.of({}, names)
    recordings, cut = [], []
    for video in labelled:
        path = _file_of(video, features)
        if features and path is None:
            problems.report(f"{video.source}: has no features")
            continue
        frames = problems.attempt(_frames, path, video, request)
        if frames is None or not _has_known_phases(video, problems):
            continue
        n = min(len(video.phases), len(frames.times))
        cut += [video] if len(video.phases) != len(frames.times) else []
        annotation = _annotation(video, frames.times[:n], steps, request)
        read_cues = None if frames.features is None else partial(frames.features, n)
        watch = _file_of(video, videos)
        recordings.append(LabelledRecording(video.name, annotation, watch, read_cues, video.split))
    if cut:
        problems.notes.append(
            f"{action}: labels and features differ by up to {FRAME_TOLERANCE} frames (videos: "
            f"{len(cut)}, first {cut[0].name}); both are cut to the shorter length"
        )
    return LabelledTask(action, tuple(recordings), names, "penn")


def _frames(path: Path | None, video: VideoPhases, request: Request) -> _Frames:
    """Check that features have as many frames as labels; only headers are read, or times."""
    n, fps = len(video.phases), request.fps or FPS
    if path is None:
        return _Frames(np.arange(n) / fps)
    try:
        shapes = array_shapes(path)
    except RecordingError as problem:
        raise DatasetError(f"features: {problem}") from problem
    lengths = {shape[0] for shape in shapes.values() if len(shape) == 2}
    if len(lengths) != 1 or abs(min(lengths) - n) > FRAME_TOLERANCE or lengths == {0}:
        actual = ", ".join(map(str, sorted(lengths))) or "no"
        raise DatasetError(
            f"{video.source}: has {n} labels, but features/{location(path)} has {actual} rows; "
            f"expected one per frame in both (they may differ by {FRAME_TOLERANCE})"
        )
    cues = tuple(request.cues)
    if request.fps is None and TIMES in shapes:
        # Its times are needed now; the whole file is read, and kept instead of read again.
        recording = read_features(path, cues=cues)
        times = recording.times + recording.start_seconds
        return _Frames(times, partial(_cut, recording))
    read_at_rate = partial(read_features, path, cues=cues, fps=fps)
    return _Frames(np.arange(min(lengths)) / fps, lambda frames: _cut(read_at_rate(), frames))


def _cut(recording: FeatureRecording, n_frames: int) -> FeatureRecording:
    """End features with the labels."""
    if len(recording.times) <= n_frames:
        return recording
    tracks = {
        cue: FeatureTrack(
            track.recording,
            cue,
            track.times[:n_frames],
            track.features[:n_frames],
            track.valid[:n_frames],
        )
        for cue, track in recording.tracks.items()
    }
    return replace(recording, tracks=tracks, fingerprint=f"{recording.fingerprint}:{n_frames}")


def _has_known_phases(video: VideoPhases, problems: Problems) -> bool:
    """Return whether all labels are phases of the action; report the first that is not."""
    n = N_PHASES[video.action]
    wrong = [i for i, phase in enumerate(video.phases) if not 0 <= phase < n]
    if wrong:
        problems.report(
            f"{video.source}, frame {wrong[0] + 1}: phase {video.phases[wrong[0]]}, but "
            f"{video.action} has the phases 0 to {n - 1}"
        )
    return not wrong


def _annotation(
    video: VideoPhases, times: Seconds, steps: StepList, request: Request
) -> Annotation:
    """Give every frame its phase; the last frame lasts as long as the one before."""
    frame = float(times[-1] - times[-2]) if len(times) > 1 else 1 / (request.fps or FPS)
    end = float(times[-1]) + frame
    labels = [str(phase + 1) for phase in video.phases[: len(times)]]
    return build_annotation(
        Path(video.source),
        rows_of_labels(labels, times, end_seconds=end),
        steps,
        request.problems,
        recording=video.name,
        duration_seconds=end,
    )


FORMAT = DatasetFormat(
    read,
    "Penn Action: phases of 13 sports actions",
    "http://dreamdragon.github.io/PennAction/ (videos); phase labels: see "
    "https://github.com/minghchen/CARL_code",
    """\
penn_action_labels/train/ACTION/0001.npy   one phase per frame, from 0; test split: val/ACTION/…
  or *.tfrecord, also in tfrecords/        with `name` and `frame_labels`; pictures are not read
features/0001.npy                          or .npz: one row per frame; without this folder: only
                                           labels
videos/0001.mp4                            optional; frames/0001/*.jpg are not read: make
                                           videos of them, 25 frames per second
Features and videos may also be called 0001_baseball_pitch.
Pickles (train.pkl) are never read. 25 frames per second, unless --fps (fps=…) is given.""",
    labels_rate=FPS,
)
