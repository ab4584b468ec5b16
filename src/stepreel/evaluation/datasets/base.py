"""Labelled datasets as evaluation takes them: tasks, their recordings, and their true steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.evaluation.truth.annotation import Annotation, Problems
from stepreel.features.feature_files import FeatureRecording

Split = str  # "train" or "test" if the dataset has an official split, else ""


@dataclass(frozen=True)
class LabelledRecording:
    """One recording and its true steps. Methods that learn get the video or the features alone.

    video     the video file, if there is one
    features  reads the recording's features, if there are any; called when they are needed
    """

    name: str
    annotation: Annotation
    video: Path | None = None
    features: Callable[[], FeatureRecording] | None = None
    split: Split = ""


@dataclass(frozen=True)
class LabelledTask:
    """Recordings of one task, in file-name order; methods see them together.

    group  the dataset this task belongs to; published figures are averages over its tasks
    """

    name: str
    recordings: tuple[LabelledRecording, ...]
    step_names: dict[int, str] = field(default_factory=dict)
    group: str = ""


@dataclass(frozen=True)
class Request:
    """What to read, and what the files of a dataset do not say themselves.

    root      the dataset's folder
    problems  where to report what is wrong with the files
    task      a task or group; None for all
    cues      arrays of feature files to use, the main one first; all if empty
    fps       frames per second of labels and features that count frames
    truth     folder of the labels, if not below `root`
    """

    root: Path
    problems: Problems
    task: str | None = None
    cues: Sequence[str] = ()
    fps: float | None = None
    truth: Path | None = None


@dataclass(frozen=True)
class DatasetFormat:
    """One kind of dataset that can be read.

    source       where to get it
    layout       the files expected in its folder
    labels_rate  moments per second at which recordings are scored that have only labels
    takes_cues   whether `Request.cues` may name arrays of feature files
    takes_truth  whether `Request.truth` may name another folder for the labels
    api_version  of the plug-in interface this was written for; built-in formats need none
    """

    read: Callable[[Request], list[LabelledTask]]
    title: str
    source: str
    layout: str
    labels_rate: float = 6.0
    takes_cues: bool = True
    takes_truth: bool = False
    api_version: int = 0
