"""Your own videos, with labels in files of the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import DatasetMissingError
from stepreel.evaluation.datasets.base import (
    DatasetFormat,
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.reading import (
    VIDEO_SUFFIXES,
    files_by_stem,
    pick_tasks,
    require,
)
from stepreel.evaluation.truth.annotation import (
    END_TOLERANCE_SECONDS,
    LENGTH_TOLERANCE,
    Problems,
    location,
)
from stepreel.evaluation.truth.formats import FORMATS, find_label_files, guess_format
from stepreel.evaluation.truth.label_files import LabelFile, parse_label_file
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import Row, build_annotation, cut_at_end
from stepreel.evaluation.truth.step_list import StepList, number_by_name
from stepreel.evaluation.truth.storyboard_labels import note_different_runs
from stepreel.types import VideoFile, readable


@dataclass(frozen=True)
class _LabelledVideo:
    """A video and its label file; `rows` end with the video."""

    name: str
    video: VideoFile
    labels: LabelFile
    rows: list[Row]


def read(request: Request) -> list[LabelledTask]:
    """Pair the videos of a folder with label files, by name; they are one task."""
    root = require(request.root, "the folder of videos")
    name = readable(root.resolve().name)
    pick_tasks(request, [name], group=name)
    videos = files_by_stem(root, VIDEO_SUFFIXES, request.problems)
    if not videos:
        raise DatasetMissingError(f"{root}: contains no video ({', '.join(VIDEO_SUFFIXES)})")
    labels = find_label_files(root if request.truth is None else request.truth, request.problems)
    labelled = _pair(videos, labels, request.fps, request.problems)
    note_different_runs(
        [pair.labels.path for pair in labelled if pair.labels.is_storyboard], request.problems
    )
    steps = number_by_name(
        (row.label for pair in labelled for row in pair.rows),
        numbers_decide=all(pair.labels.format.numbers_decide for pair in labelled),
    )
    recordings = tuple(_recording(pair, steps, request.problems) for pair in labelled)
    return [LabelledTask(name, recordings, dict(steps.names))] if recordings else []


def _pair(
    videos: Mapping[str, Path], labels: Mapping[str, Path], fps: float | None, problems: Problems
) -> list[_LabelledVideo]:
    """Read the videos' headers and their labels; leave out and report what does not fit."""
    pairs = []
    for name in sorted({*videos, *labels}):
        if name not in labels:
            problems.report(
                f"{location(videos[name])}: a recording without labels; expected a file called "
                f"{name}.csv, .txt, .eaf, .npz or .json"
            )
        elif name not in videos:
            problems.report(
                f"{location(labels[name])}: labels without a recording; "
                f"expected a video called {name}"
            )
        else:
            pair = _read_pair(name, videos[name], labels[name], fps, problems)
            pairs += [pair] if pair is not None else []
    return pairs


def _read_pair(
    name: str, video_path: Path, label_path: Path, fps: float | None, problems: Problems
) -> _LabelledVideo | None:
    from stepreel.video.decode import probe

    file = SourceFile(label_path)
    video = problems.attempt(probe, video_path)
    format_name = problems.attempt(guess_format, file)
    if video is None or format_name is None:
        return None
    # Labels that count frames mean those of the video, unless --fps is given.
    rate = fps or video.fps or None
    if rate is None and FORMATS[format_name].counts_frames:
        problems.report(
            f"{location(label_path)}: counts frames, but {video.name} does not state its frame "
            "rate; give --fps (fps=…)"
        )
        return None
    labels = problems.attempt(parse_label_file, file, FORMATS[format_name], rate)
    if labels is None or not _covers_video(labels, video, rate, problems):
        return None
    rows = cut_at_end(labels.rows, video.declared_seconds or None)
    return _LabelledVideo(name, video, labels, rows)


def _covers_video(
    labels: LabelFile, video: VideoFile, fps: float | None, problems: Problems
) -> bool:
    """Return whether labels per moment begin and end with their video; report if not."""
    moments, duration = labels.moments, video.declared_seconds
    if moments is None or not duration:
        return True
    moment = moments.moment_seconds
    start, end = float(moments.times[0]), float(moments.times[-1]) + moment
    tolerance = max(END_TOLERANCE_SECONDS, LENGTH_TOLERANCE * duration, moment)
    if max(start, abs(end - duration)) <= tolerance:
        return True
    file, n = location(labels.path), len(moments.labels)
    if fps is not None and labels.format.counts_frames:
        problems.report(
            f"{file}: {n} labels at {fps:g} per second last {end:.1f} s, but {video.name} lasts "
            f"{duration:.1f} s: is the frame rate wrong? --fps (fps=…) "
            f"{n / duration:.4g} would fit"
        )
    else:
        problems.report(
            f"{file}: its labels go from {start:.1f} to {end:.1f} s, but {video.name} lasts "
            f"{duration:.1f} s; expected a label for every moment of the video"
        )
    return False


def _recording(pair: _LabelledVideo, steps: StepList, problems: Problems) -> LabelledRecording:
    annotation = build_annotation(
        pair.labels.path,
        pair.rows,
        steps,
        problems,
        recording=pair.name,
        duration_seconds=pair.video.declared_seconds or None,
        any_overlap=pair.labels.format.any_overlap,
    )
    return LabelledRecording(pair.name, annotation, video=pair.video.path)


LAYOUT = """\
VIDEOS/NAME.mp4               or .mov .mkv .webm .avi .m4v .mpg .mpeg .ts .wmv
LABELS/NAME.csv               start_s,end_s,N step name; or step,start_s,end_s
LABELS/NAME.txt               one label per frame and line; or first_frame last_frame step
LABELS/NAME.eaf               ELAN
LABELS/NAME.npz               times and labels
LABELS/NAME/storyboard.json   a corrected storyboard; or NAME.json
"""
FORMAT = DatasetFormat(
    read=read,
    title="Your own videos and labels",
    source="your own camera",
    layout=LAYOUT,
    takes_cues=False,
    takes_truth=True,
)
