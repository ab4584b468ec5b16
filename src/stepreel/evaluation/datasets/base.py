"""A labelled dataset as evaluation takes it: tasks, their recordings, and their true steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.evaluation.truth.annotation import Annotation, Problems
from stepreel.features.feature_files import FeatureRecording

Split = str  # "train" or "test", where the dataset has an official split; otherwise ""


@dataclass(frozen=True)
class LabelledRecording:
    """One recording and its truth. What learns is given the video or the features alone.

    video     the file to watch, if there is one
    features  reads ready-made features, if there are any; needs no more than is used
    """

    name: str
    annotation: Annotation
    video: Path | None = None
    features: Callable[[], FeatureRecording] | None = None
    split: Split = ""


@dataclass(frozen=True)
class LabelledTask:
    """Recordings of one task, in file-name order; they are learned and clustered together.

    group  the dataset this task is part of, over whose tasks published figures are averaged
    """

    name: str
    recordings: tuple[LabelledRecording, ...]
    step_names: dict[int, str] = field(default_factory=dict)
    group: str = ""


@dataclass(frozen=True)
class Request:
    """What of a dataset is wanted, and what its files do not say themselves.

    task      a task or group, or all
    cues      arrays of feature files to use, the main one first; all if empty
    fps       frames per second of labels and features that are counted in frames
    truth     where the labels are, if not below the dataset's own folder
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
    layout       what must lie in its folder
    labels_rate  moments per second at which recordings are scored that have nothing but labels
    """

    read: Callable[[Request], list[LabelledTask]]
    title: str
    source: str
    layout: str
    labels_rate: float = 6.0
