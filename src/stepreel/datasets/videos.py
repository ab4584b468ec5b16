"""Anybody's own videos, with labels in files of the same names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stepreel.datasets.annotation import (
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
from stepreel.datasets.benchmark import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    NotThereError,
    Request,
)
from stepreel.datasets.formats import WHOLE_FRAMES, find_truth, guess_format, read_rows
from stepreel.datasets.ready_made import VIDEOS, files_by_stem, must_be_there, or_report, pick_tasks
from stepreel.types import Recording, readable


@dataclass(frozen=True)
class _Pair:
    name: str
    video: Path
    truth: Path
    rows: list[Row]
    duration_seconds: float | None
    whole_frames: bool


def read(request: Request) -> list[LabelledTask]:
    """Pair the videos of a folder with labels, by name; they are one task."""
    root = must_be_there(request.root, "the folder of videos")
    name = readable(root.resolve().name)
    pick_tasks(request, [name], group=name)
    videos = files_by_stem(root, VIDEOS, request.problems)
    if not videos:
        raise NotThereError(f"{root}: holds no video ({', '.join(VIDEOS)})")
    truth = find_truth(root if request.truth is None else request.truth, request.problems)
    pairs = _pairs(videos, truth, request)
    steps = number_by_name(row.label for pair in pairs for row in pair.rows)
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
    from stepreel.video import probe

    recording = or_report(request.problems, partial(probe, video))
    kind = or_report(request.problems, partial(guess_format, truth))
    if recording is None or kind is None:
        return None
    per_frame = kind == "frames"
    # One label per frame means the video's own frames, unless somebody says otherwise.
    fps = request.fps or (recording.fps or None if per_frame else None)
    rows = or_report(request.problems, partial(read_rows, truth, fps, kind))
    if rows is None:
        return None
    if per_frame and fps and not _fits(truth, rows, fps, recording, request.problems):
        return None
    duration = recording.declared_seconds or None
    whole_frames = kind in WHOLE_FRAMES
    return _Pair(name, video, truth, cut_at_end(rows, duration), duration, whole_frames)


def _fits(
    truth: Path, rows: Sequence[Row], fps: float, recording: Recording, problems: Problems
) -> bool:
    """Tell whether per-frame labels end with their video."""
    length, expected = rows[-1].end, recording.declared_seconds
    off = abs(length - expected)
    if not expected or off <= PAST_THE_END_SECONDS or off <= OTHER_LENGTH * expected:
        return True
    count = round(length * fps)
    problems.report(
        f"{place(truth)}: {count} labels at {fps:g} per second last {length:.1f} s, but "
        f"{recording.name} lasts {expected:.1f} s: a different fps than stated? "
        f"--fps {count / expected:.4g} would fit"
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
        whole_frames=pair.whole_frames,
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
    source="your own",
    layout=LAYOUT,
)
