"""Anybody's own videos, with labels in files of the same names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.reading import (
    VIDEOS,
    files_by_stem,
    must_be_there,
    pick_tasks,
    report_failure,
)
from stepreel.evaluation.truth.annotation import (
    OTHER_LENGTH,
    PAST_THE_END_SECONDS,
    Problems,
    Row,
    StepList,
    annotate,
    cut_at_end,
    number_by_name,
    place,
)
from stepreel.evaluation.truth.formats import (
    NUMBERED,
    PER_MOMENT,
    WHOLE_FRAMES,
    find_label_files,
    guess_format,
    read_label_rows,
    read_moment_labels,
)
from stepreel.types import VideoFile, readable

COUNT_FRAMES = frozenset({"frames", "jigsaws"})  # formats that say nothing of seconds


@dataclass(frozen=True)
class _Pair:
    name: str
    video: Path
    truth: Path
    rows: list[Row]
    duration_seconds: float | None
    kind: str


def read(request: Request) -> list[LabelledTask]:
    """Pair the videos of a folder with labels, by name; they are one task."""
    root = must_be_there(request.root, "the folder of videos")
    name = readable(root.resolve().name)
    pick_tasks(request, [name], group=name)
    videos = files_by_stem(root, VIDEOS, request.problems)
    if not videos:
        raise DatasetMissingError(f"{root}: holds no video ({', '.join(VIDEOS)})")
    truth = find_label_files(root if request.truth is None else request.truth, request.problems)
    pairs = _pairs(videos, truth, request)
    steps = number_by_name(
        (row.label for pair in pairs for row in pair.rows),
        numbers_decide=all(pair.kind in NUMBERED for pair in pairs),
    )
    recordings = tuple(_labelled(pair, steps, request.problems) for pair in pairs)
    return [LabelledTask(name, recordings, dict(steps.names))] if recordings else []


def _pairs(videos: dict[str, Path], truth: dict[str, Path], request: Request) -> list[_Pair]:
    pairs = []
    for name in sorted({*videos, *truth}):
        if name not in truth:
            request.problems.report(
                f"{place(videos[name])}: a recording without labels; expected a file called "
                f"{name}.csv, .txt, .eaf, .npz or .json"
            )
        elif name not in videos:
            request.problems.report(
                f"{place(truth[name])}: labels without a recording; expected a video called {name}"
            )
        else:
            pair = _pair(name, videos[name], truth[name], request)
            pairs += [pair] if pair is not None else []
    return pairs


def _pair(name: str, video: Path, truth: Path, request: Request) -> _Pair | None:
    """Read one recording's header and labels; None if they must be left out."""
    from stepreel.video.decode import probe

    recording = report_failure(request.problems, partial(probe, video))
    kind = report_failure(request.problems, partial(guess_format, truth))
    if recording is None or kind is None:
        return None
    # Labels that count frames mean the video's own, unless somebody says otherwise.
    fps = request.fps or recording.fps or None
    if fps is None and kind in COUNT_FRAMES:
        request.problems.report(
            f"{place(truth)}: counts frames, but {recording.name} does not tell how many there are "
            "per second; give --fps NUMBER"
        )
        return None
    rows = report_failure(request.problems, partial(read_label_rows, truth, fps, kind))
    if rows is None:
        return None
    if kind in PER_MOMENT and not _fits(truth, fps, kind, recording, request.problems):
        return None
    duration = recording.declared_seconds or None
    return _Pair(name, video, truth, cut_at_end(rows, duration), duration, kind)


def _fits(
    truth: Path, fps: float | None, kind: str, recording: VideoFile, problems: Problems
) -> bool:
    """Tell whether labels of all moments begin and end with their video."""
    labels, times = read_moment_labels(truth, fps, kind)
    moment = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    start, end, expected = float(times[0]), float(times[-1]) + moment, recording.declared_seconds
    slack = max(PAST_THE_END_SECONDS, OTHER_LENGTH * expected, moment)
    if not expected or max(start, abs(end - expected)) <= slack:
        return True
    if fps is not None and kind in COUNT_FRAMES:
        problems.report(
            f"{place(truth)}: {len(labels)} labels at {fps:g} per second last {end:.1f} s, but "
            f"{recording.name} lasts {expected:.1f} s: a different fps than stated? "
            f"--fps {len(labels) / expected:.4g} would fit"
        )
    else:
        problems.report(
            f"{place(truth)}: its labels go from {start:.1f} to {end:.1f} s, but {recording.name} "
            f"lasts {expected:.1f} s; expected a label for every moment of the video"
        )
    return False


def _labelled(pair: _Pair, steps: StepList, problems: Problems) -> LabelledRecording:
    truth = annotate(
        pair.truth,
        pair.rows,
        steps,
        problems,
        recording=pair.name,
        duration_seconds=pair.duration_seconds,
        whole_frames=pair.kind in WHOLE_FRAMES,
    )
    return LabelledRecording(pair.name, truth, video=pair.video)


LAYOUT = """\
VIDEOS/NAME.mp4            also .mov .mkv .webm .avi .m4v .mpg .mpeg .ts .wmv
LABELS/NAME.csv            start_s,end_s,N step name; or step,start_s,end_s
LABELS/NAME.txt            one label per frame and line; or first_frame last_frame step
LABELS/NAME.eaf            ELAN
LABELS/NAME.npz            times and labels
LABELS/NAME/storyboard.json   a storyboard that somebody put right; or NAME.json
"""
FORMAT = DatasetFormat(
    read=read,
    title="Your own videos and labels",
    source="a camera of your own",
    layout=LAYOUT,
)
