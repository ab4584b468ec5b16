"""Predictions made elsewhere: storyboards, or files with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError, RecordingError, StepreelError
from stepreel.evaluation.metrics.timed_steps import ShownSteps
from stepreel.evaluation.truth.annotation import NO_STEP, Problems, location
from stepreel.evaluation.truth.common_moments import MomentLabels, SpanLabels, TimedLabels
from stepreel.evaluation.truth.formats import FORMATS, STORYBOARD, find_label_files
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.npz_labels import check_number
from stepreel.evaluation.truth.step_list import (
    MAX_DIGITS,
    MOST_STEPS,
    StepList,
    is_background,
    number_by_name,
    split_number,
)
from stepreel.evaluation.truth.storyboard_labels import labels_of_storyboard
from stepreel.features.array_files import ArrayHeader, read_arrays
from stepreel.storyboard.schema import read_storyboard
from stepreel.types import Labels

LABEL_ARRAYS = ("cluster", "labels", "prediction")


@dataclass(frozen=True)
class LoadedPrediction:
    """What was predicted for one recording; `n_clusters` is K if the file states it.

    shown       the steps of a storyboard, each with its own moment; None for other files
    storyboard  its file, if it is one
    """

    labelled: TimedLabels
    n_clusters: int | None = None
    shown: ShownSteps | None = None
    storyboard: Path | None = None


@dataclass
class _Clusters(StepList):
    """Clusters, numbered from 0, as ids of steps, from 1: in a prediction 0 is a step."""

    number: Callable[[str], int] = int

    def id_of(self, label: str) -> int:
        return self.number(label) + 1


def read_predictions(
    folder: Path, problems: Problems, *, fps: float | None = None
) -> dict[str, LoadedPrediction]:
    """Read all predictions below a folder, by the name of their recording."""
    if folder.is_file():
        raise DatasetError(
            f"{folder}: is a file; expected a folder of storyboards, or of files with labels"
        )
    predictions: dict[str, LoadedPrediction] = {}
    texts: dict[str, Path] = {}

    def add(name: str, prediction: LoadedPrediction, path: Path) -> None:
        if name in predictions:
            problems.report(f"{path}: a second prediction for {name}; expected one per recording")
        else:
            predictions[name] = prediction

    for stem, path in find_label_files(folder, problems).items():
        try:
            if path.suffix.lower() == ".json":
                add(*_read_board(path), path)
            elif path.suffix.lower() == ".npz":
                add(stem.removesuffix(".embedding"), LoadedPrediction(_read_npz(path)), path)
            else:
                texts[stem] = path
        except StepreelError as problem:
            problems.report(str(problem))
    for name, prediction in _read_texts(texts, fps, problems).items():
        add(name, prediction, texts[name])
    if not predictions:
        raise DatasetError(
            f"{folder}: contains no predictions; expected NAME/{STORYBOARD}, NAME.npz with `times` "
            f"and one of {', '.join(LABEL_ARRAYS)}, or text: {', '.join(FORMATS)}"
        )
    return predictions


def _read_board(path: Path) -> tuple[str, LoadedPrediction]:
    board = read_storyboard(path)
    seconds = board.recording.duration_seconds
    spans = SpanLabels(partial(labels_of_storyboard, board), 0.0, seconds, seconds)
    return Path(board.recording.name).stem, LoadedPrediction(
        spans,
        board.n_clusters,
        ShownSteps.of_steps([(step.start, step.end, step.time) for step in board.steps]),
        path,
    )


def _read_npz(path: Path) -> MomentLabels:
    def choose(headers: Mapping[str, ArrayHeader]) -> list[str]:
        name = next((name for name in LABEL_ARRAYS if name in headers), LABEL_ARRAYS[0])
        check_number(path, name, headers)
        return [name, "times"]

    try:
        arrays = read_arrays(path, choose)
    except RecordingError as problem:
        raise DatasetError(str(problem)) from problem
    name = next((name for name in LABEL_ARRAYS if name in arrays), None)
    if name is None or "times" not in arrays:
        raise DatasetError(
            f"{location(path)}: expected `times` and one of {', '.join(LABEL_ARRAYS)} in it"
        )
    if arrays["times"].dtype.kind not in "fiu":
        raise DatasetError(f"{location(path)}: `times` must be numbers, in seconds")
    labels, times = arrays[name], np.asarray(arrays["times"], np.float64)
    whole = labels.dtype.kind in "iu" or (
        labels.dtype.kind == "f"
        and bool((np.isfinite(labels) & (np.floor(labels) == labels)).all())
    )
    if not whole or labels.shape != times.shape or labels.ndim != 1:
        raise DatasetError(
            f"{location(path)}: `{name}` must be one whole number per time; "
            f"it is {labels.dtype} {labels.shape}, times are {times.shape}"
        )
    if len(times) == 0 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise DatasetError(f"{location(path)}: `times` must be finite, increasing seconds")
    if labels.min() < NO_STEP:
        raise DatasetError(
            f"{location(path)}: `{name}` contains {labels.min():g}; expected clusters from 0, or "
            f"{NO_STEP} for no step"
        )
    if labels.max() >= 10.0**MAX_DIGITS:
        raise DatasetError(
            f"{location(path)}: `{name}` contains {labels.max():g}; expected numbers of clusters, "
            f"of at most {MAX_DIGITS} digits"
        )
    return MomentLabels(times, labels.astype(np.int64))


def _read_texts(
    paths: Mapping[str, Path], fps: float | None, problems: Problems
) -> dict[str, LoadedPrediction]:
    """Read text files; steps without numbers are numbered by name, over all files."""
    files = {}
    for name, path in paths.items():
        try:
            files[name] = read_label_file(path, fps)
        except StepreelError as problem:
            problems.report(str(problem))
    labels = [label for file in files.values() for label in file.labels]
    clusters = _Clusters(number=_numbering(labels))
    return {
        name: LoadedPrediction(file.numbered(clusters, problems, shift=-1))
        for name, file in files.items()
    }


def _numbering(labels: list[str]) -> Callable[[str], int]:
    """Return the cluster of a label: its own number, 0 included; -1 and background are no step."""
    texts = {label.strip() for label in labels}
    if all(text == "-1" or split_number(text)[0] is not None for text in texts):

        def own(label: str) -> int:
            number, _ = split_number(label)
            return NO_STEP if number is None else number

        return own
    steps = number_by_name(text for text in texts if text != "-1")

    def by_name(label: str) -> int:
        if label.strip() == "-1" or is_background(label):
            return NO_STEP
        return steps.id_of(label.strip()) or 0

    return by_name


def number_clusters(
    predicted: Sequence[Labels], stated: Sequence[int], n_clusters: int | None
) -> tuple[list[Labels], int]:
    """Return labels with the clusters of all files numbered from 0, and K.

    K is what was asked for, else what the files state, else the number of clusters that occur.
    """
    used = np.unique(np.concatenate(list(predicted)))
    used = used[used >= 0]
    k = n_clusters or max([*stated, len(used), 1])
    if len(used) > k:
        raise DatasetError(
            f"the predictions use {len(used)} clusters, more than the {k} of "
            "--clusters (clusters=…)"
        )
    if k > MOST_STEPS:
        raise DatasetError(
            f"the predictions use {len(used):,} clusters; at most {MOST_STEPS:,} can be scored"
        )
    are_numbered = len(used) == 0 or int(used.max()) < k

    def renumber(labels: Labels) -> Labels:
        numbers = labels if are_numbered else np.searchsorted(used, labels)
        return np.where(labels < 0, NO_STEP, numbers).astype(np.int64)

    return [renumber(labels) for labels in predicted], k
