"""Score predictions made elsewhere, next to the null baselines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from stepreel.config import check_rate
from stepreel.errors import DatasetError, SettingsError
from stepreel.evaluation.build_results import build_results
from stepreel.evaluation.compare import compare
from stepreel.evaluation.datasets.base import LabelledTask
from stepreel.evaluation.methods.base import Prediction
from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.metrics.timed_steps import ShownSteps
from stepreel.evaluation.plan import MOST_SEEDS, Plan
from stepreel.evaluation.predictions import LoadedPrediction, number_clusters, read_predictions
from stepreel.evaluation.prepare import PreparedTask, naming_left_out
from stepreel.evaluation.results import Results
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.truth.common_moments import (
    MomentLabels,
    SpanLabels,
    TimedLabels,
    moments_in_common,
)
from stepreel.evaluation.truth.formats import FORMATS, find_label_files
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.step_list import MOST_STEPS, number_by_name
from stepreel.evaluation.truth.storyboard_labels import note_different_runs
from stepreel.evaluation.write_results import Evaluation, write_evaluation
from stepreel.system.files import check_writable
from stepreel.types import Labels, Seconds, readable

METHOD = "prediction"


def score(
    truth: str | PathLike[str],
    prediction: str | PathLike[str],
    *,
    clusters: int | None = None,
    fps: float | None = None,
    rate: float | None = None,
    seeds: int = 3,
    output: str | PathLike[str] | None = None,
    lenient: bool = False,
) -> Results:
    """Score predictions against true steps, as `stepreel score` does; paired by file name.

    The predictions are the method `prediction` of the results; null baselines of the same K stand
    next to it. Both folders are on the recordings' own clocks. Protocols that match all recordings
    together take a cluster's number to mean the same kind of step in every recording.

    truth       folder of true steps, one file per recording
    prediction  folder of storyboards, or of files with labels; -1 means no step
    clusters    K; None: what the storyboards say, else the number of clusters that occur
    fps         frames per second of files that count frames
    rate        moments per second to score storyboards and spans at; None: at the truth's own
                moments, or 10 if it has spans, too
    seeds       repeat the baseline `random` with this many seeds
    output      also write results.json and report.html to this folder
    lenient     leave out what is wrong with the files and list it in `left_out`

    >>> score("labels", "storyboards").protocols["strict"]["prediction"].f1.mean  # doctest: +SKIP
    58.3
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise SettingsError(f"seeds: {seeds} is not a number from 1 to {MOST_SEEDS}")
    check_rate(fps, option="--fps (fps=…)")
    check_rate(rate, option="--rate (rate=…)")
    if clusters is not None and not 1 <= clusters <= MOST_STEPS:
        raise SettingsError(f"clusters: {clusters} is not a number from 1 to {MOST_STEPS}")
    problems = Problems(lenient=lenient)
    with naming_left_out(problems):
        predictions = read_predictions(Path(prediction), problems, fps=fps)
        evaluation = score_loaded(
            Path(truth),
            predictions,
            problems,
            fps=fps,
            rate=rate,
            n_clusters=clusters,
            seeds=tuple(range(seeds)),
        )
        if output is not None:
            check_writable(Path(output))
            write_evaluation(Path(output), evaluation)
    return evaluation.results


@dataclass(frozen=True)
class _Pair:
    """One recording, at the moments its truth and its prediction have in common.

    shown  the steps that the prediction shows: those of a storyboard, or the runs of its labels
    """

    times: Seconds
    truth: Labels
    predicted: Labels
    shown: ShownSteps


def score_loaded(
    truth: Path,
    predictions: Mapping[str, LoadedPrediction],
    problems: Problems,
    *,
    fps: float | None = None,
    rate: float | None = None,
    n_clusters: int | None = None,
    seeds: Sequence[int] = (0, 1, 2),
) -> Evaluation:
    """Score predictions that have been read against the true steps in a folder; see `score`."""
    truths, step_names = read_truth(truth, predictions, problems, fps=fps)
    pairs = _pair(truths, predictions, rate, problems)
    boards = [predictions[name].storyboard for name in pairs]
    note_different_runs([path for path in boards if path is not None], problems)
    stated = [predictions[name].n_clusters or 0 for name in pairs]
    labels, k = number_clusters([pair.predicted for pair in pairs.values()], stated, n_clusters)
    prepared = PreparedTask(
        LabelledTask(readable(truth.resolve().name), (), step_names),
        names=list(pairs),
        splits=[""] * len(pairs),
        times=[pair.times for pair in pairs.values()],
        truth=[pair.truth for pair in pairs.values()],
        recordings=None,
        blind_because="only labels were given",
    )
    plan = Plan(methods=tuple(METHODS.own), n_clusters=k, seeds=tuple(seeds))
    comparison = compare(prepared, plan)
    comparison.add(METHOD, [Prediction(labels, labels)] * len(plan.seeds), same_for_all_seeds=True)
    comparison.shown[METHOD] = [pair.shown for pair in pairs.values()]
    dataset = {
        "name": "score",
        "title": "Your predictions",
        "root": prepared.task.name,
        "predictions_fingerprint": _fingerprint(labels, comparison.shown[METHOD]),
    }
    results = build_results(
        dataset, [comparison], plan, left_out=problems.skipped, notes=problems.notes
    )
    return Evaluation(results, [comparison])


def _fingerprint(labels: Sequence[Labels], shown: Sequence[ShownSteps]) -> str:
    content = hashlib.blake2b(digest_size=16)
    for recording, steps in zip(labels, shown, strict=True):
        for array in (recording, steps.starts, steps.ends, steps.moments):
            content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def read_truth(
    folder: Path,
    predictions: Mapping[str, LoadedPrediction],
    problems: Problems,
    *,
    fps: float | None,
) -> tuple[dict[str, TimedLabels], dict[int, str]]:
    """Return the true labels of every recording by its name, and the names of the steps.

    Where a prediction says how long a recording lasts, no step may be past its end.
    """
    files = {}
    for name, path in find_label_files(folder, problems).items():
        try:
            files[name] = read_label_file(path, fps)
        except DatasetError as problem:
            problems.report(str(problem))
    if not files:
        raise DatasetError(
            f"{folder}: contains no file of true steps; expected a file per recording, in one of "
            f"these formats: {', '.join(FORMATS)}"
        )
    note_different_runs([file.path for file in files.values() if file.is_storyboard], problems)
    steps = number_by_name(
        (label for file in files.values() for label in file.labels),
        numbers_decide=all(file.format.numbers_decide for file in files.values()),
    )
    truths = {}
    for name, file in files.items():
        predicted = predictions[name].labelled if name in predictions else None
        ends = predicted.end if isinstance(predicted, MomentLabels) else None
        about = predicted.duration if isinstance(predicted, SpanLabels) else None
        truths[name] = file.numbered(steps, problems, ends=ends, ends_about=about)
    return truths, steps.names


def _pair(
    truths: Mapping[str, TimedLabels],
    predictions: Mapping[str, LoadedPrediction],
    rate: float | None,
    problems: Problems,
) -> dict[str, _Pair]:
    """Return the recordings that have truth and prediction at the same moments."""
    for name in truths:
        if name not in predictions:
            problems.report(f"{name}: has true steps, but no prediction")
    for name in predictions:
        if name not in truths:
            problems.report(f"{name}: has a prediction, but no true steps")
    both = [name for name in truths if name in predictions]
    if not both:
        raise DatasetError(
            "no prediction has the name of a file of true steps; truth: "
            f"{', '.join(list(truths)[:5])}; predictions: {', '.join(list(predictions)[:5])}"
        )
    pairs = {}
    for name in both:
        truth, predicted = truths[name], predictions[name].labelled
        try:
            times = moments_in_common(truth, predicted, rate)
        except DatasetError as problem:
            problems.report(f"{name}: {problem}")
            continue
        labels, shown = predicted.at(times), predictions[name].shown
        if shown is None:
            shown = ShownSteps.of_labels(labels, times)
        pairs[name] = _Pair(times, truth.at(times), labels, shown)
    if not pairs:
        raise DatasetError("no prediction covers the moments of its truth")
    return pairs
