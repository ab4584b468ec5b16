"""One evaluation from beginning to end: read, prepare, compare, sweep, write.

Everything learned and predicted is kept in the store as it is made: if an evaluation is
interrupted, starting it again continues from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from stepreel.config import check_rate
from stepreel.errors import (
    DatasetError,
    DatasetMissingError,
    PluginError,
    SettingsError,
    StepreelError,
)
from stepreel.evaluation.build_results import build_results
from stepreel.evaluation.compare import compare, nothing_to_score
from stepreel.evaluation.datasets.base import DatasetFormat, LabelledTask, Request
from stepreel.evaluation.datasets.catalog import DATASETS
from stepreel.evaluation.extras import Extras, check_extras, compute_extras, make_extras
from stepreel.evaluation.methods.runner import MethodRunner
from stepreel.evaluation.plan import Plan, make_plan, notes_on_settings
from stepreel.evaluation.prepare import (
    ExtractVideos,
    PreparedTask,
    naming_left_out,
    prepare_task,
)
from stepreel.evaluation.results import Results
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.write_results import Evaluation, write_evaluation
from stepreel.features.sources import LoadedRecordings, extract_recordings
from stepreel.system.cache import AnyCache, open_cache
from stepreel.system.files import check_writable
from stepreel.system.machine import usable_device
from stepreel.types import Progress, as_names, no_progress


def evaluate(
    dataset: str,
    root: str | PathLike[str],
    *,
    clusters: int = 7,
    seeds: int = 3,
    methods: str | Sequence[str] | None = None,
    cues: str | Sequence[str] = (),
    task: str | None = None,
    truth: str | PathLike[str] | None = None,
    window_seconds: float | None = None,
    preset: str | None = None,
    fps: float | None = None,
    rate: float | None = None,
    lenient: bool = False,
    baselines_only: bool = False,
    task_metrics: str | Sequence[str] = (),
    sweep_clusters: Sequence[int] = (),
    sweep_cues: bool = False,
    sweep_recordings: Sequence[int] = (),
    output: str | PathLike[str] | None = None,
    device: str = "auto",
    cache: AnyCache = None,
    progress: Progress | None = None,
    **settings: object,
) -> Results:
    """Compare methods on labelled recordings, under every protocol, as `stepreel evaluate` does.

    Labels are used for scoring only. SettingsError says what is wrong with an option, DatasetError
    what is wrong with the data; its `__notes__` list what `lenient` had left out by then.

    dataset           kind of dataset: "npz", "videos", "egoprocel", …
    root              its folder
    clusters          K: kinds of steps to find
    seeds             repeat with this many seeds: 0, 1, 2, …
    methods           names of the methods to compare; None: all, those of plug-ins included
    cues              arrays of feature files to use, the main one first; all if empty
    task              one task, or one group of tasks; None: all
    truth             folder with the labels of videos, if not `root`
    window_seconds    σ of learned methods: moments this near are treated as similar
    preset            settings that the method `paper` starts from ("paper-small")
    fps               frames per second of labels or features that are counted in frames
    rate              score this many moments per second; None: as the recordings have them
    lenient           leave out what is wrong with the data and list it in `left_out`
    baselines_only    learn nothing: compare null baselines only
    task_metrics      also compute "phases", "kendall", "key-steps" or "samplers"
    sweep_clusters    compare all methods again for each of these K
    sweep_cues        compare learned methods again with each cue alone at inference
    sweep_recordings  compare methods that train, trained on this many recordings
    output            also write results.json, report.html and predictions/ to this folder
    device            "auto", "cpu", "cuda" or "mps"
    cache             folder for features, models and predictions; False: make everything anew, and
                      keep nothing
    progress          called as progress(what, done, total) during long work
    settings          any other setting of learned methods, with two underscores for the dot:
                      train__epochs=20

    >>> results = evaluate("npz", "takes", clusters=5)             # doctest: +SKIP
    >>> results.protocols["strict"]["stepreel"].f1.mean            # doctest: +SKIP
    61.2
    """
    where = usable_device(device)
    plan = make_plan(
        methods=None if methods is None else as_names(methods),
        baselines_only=baselines_only,
        clusters=clusters,
        seeds=seeds,
        preset=preset,
        window_seconds=window_seconds,
        rate=rate,
        overrides={name.replace("__", ".", 1): value for name, value in settings.items()},
    )
    extras = make_extras(
        sweep_clusters=sweep_clusters,
        sweep_cues=sweep_cues,
        sweep_recordings=sweep_recordings,
        task_metrics=as_names(task_metrics),
    )
    dataset_format = _dataset_format(dataset, cues=as_names(cues), truth=truth, fps=fps)
    problems = Problems(lenient=lenient)
    folder = Path(root)
    request = Request(
        folder,
        problems,
        task=task,
        cues=as_names(cues),
        fps=fps,
        truth=None if truth is None else Path(truth),
    )
    facts = {
        "name": dataset,
        "title": dataset_format.title,
        "root": folder.resolve().name,
        "task": task,
    }
    with (
        naming_left_out(problems),
        open_cache(cache) as store,
    ):
        runner = MethodRunner(store, where, progress or no_progress)
        tasks = read_tasks(dataset_format, request, is_plugin=dataset not in DATASETS.own)
        if output is not None:
            check_writable(Path(output))
        evaluation = evaluate_tasks(
            facts,
            tasks,
            plan,
            runner,
            problems,
            labels_rate=dataset_format.labels_rate,
            extras=extras,
        )
        if output is not None:
            write_evaluation(Path(output), evaluation)
    return evaluation.results


def _dataset_format(
    name: str, *, cues: Sequence[str], truth: object, fps: float | None
) -> DatasetFormat:
    """Return a kind of dataset; refuse options that would have no effect on it."""
    if name not in DATASETS:
        raise SettingsError(f"unknown kind of dataset {name!r}; known: {', '.join(DATASETS)}")
    dataset_format = DATASETS[name]
    if cues and not dataset_format.takes_cues:
        raise SettingsError(
            "--cues (cues=…) names arrays of feature files; name cues of videos with "
            "--set extract.cues=… (extract__cues=…)"
        )
    if truth is not None and not dataset_format.takes_truth:
        raise SettingsError(
            f"--truth (truth=…) is for videos; labels of {name} are in the dataset's folder"
        )
    check_rate(fps, option="--fps (fps=…)")
    return dataset_format


def read_tasks(
    dataset_format: DatasetFormat, request: Request, *, is_plugin: bool = False
) -> list[LabelledTask]:
    """Read a dataset; if it is missing, say where to get it and which layout is expected."""
    try:
        if request.root.is_file():
            raise DatasetMissingError(f"{request.root}: is a file; expected the dataset's folder")
        if not request.root.is_dir():
            raise DatasetMissingError(f"{request.root}: there is no such folder")
        tasks = dataset_format.read(request)
    except DatasetMissingError as problem:
        raise DatasetMissingError(
            f"{problem}\n{dataset_format.title}\nsource: {dataset_format.source}\n"
            f"expected layout:\n{dataset_format.layout}"
        ) from None
    except Exception as problem:
        if not is_plugin or isinstance(problem, StepreelError):
            raise
        raise PluginError(
            f"the reader of {dataset_format.title} failed ({type(problem).__name__}: {problem})"
        ) from problem
    if is_plugin and not _are_tasks(tasks):
        raise PluginError(f"the reader of {dataset_format.title} returned no list of LabelledTask")
    if not any(task.recordings for task in tasks):
        raise DatasetError(f"{request.root}: contains no labelled recording that can be used")
    return tasks


def _are_tasks(tasks: object) -> bool:
    return isinstance(tasks, list) and all(isinstance(task, LabelledTask) for task in tasks)


def evaluate_tasks(
    dataset: Mapping[str, object],
    tasks: Sequence[LabelledTask],
    plan: Plan,
    runner: MethodRunner,
    problems: Problems,
    *,
    labels_rate: float,
    extras: Extras | None = None,
) -> Evaluation:
    """Compare methods on every task.

    dataset      fields of `results.DatasetFacts` other than `tasks`
    labels_rate  moments per second to score at where there are only labels
    """
    extras = extras or Extras()
    extract = partial(_extract_videos, plan, runner)
    prepared = _prepare_all(tasks, problems, plan.rate, labels_rate, extract)
    for task in prepared:
        for method in plan.methods if task.recordings else ():
            plan.checked_settings(method, task.cues)
    problems.notes += [*notes_on_settings(plan), *check_extras(extras, prepared, plan)]
    comparisons = [compare(task, plan, runner) for task in prepared]
    if not any(comparison.predictions for comparison in comparisons):
        reasons = "; ".join(f"{m}: {reason}" for m, reason in comparisons[0].skipped.items())
        raise DatasetError(f"no method could run: {reasons}")
    results = build_results(
        dataset, comparisons, plan, left_out=problems.skipped, notes=problems.notes
    )
    return Evaluation(
        results.model_copy(update=compute_extras(extras, prepared, plan, runner)), comparisons
    )


def _extract_videos(plan: Plan, runner: MethodRunner, paths: Sequence[Path]) -> LoadedRecordings:
    settings = plan.checked_settings("stepreel").extract
    return extract_recordings(paths, settings, runner.store, progress=runner.progress)


def _prepare_all(
    tasks: Sequence[LabelledTask],
    problems: Problems,
    rate: float | None,
    labels_rate: float,
    extract: ExtractVideos,
) -> list[PreparedTask]:
    """Read all tasks before anything is learned; leniently, unusable ones are left out."""
    prepared = []
    for task in tasks:
        try:
            ready = prepare_task(
                task, problems, labels_rate=labels_rate, rate=rate, extract=extract
            )
            if not ready.has_steps:
                raise DatasetError(nothing_to_score(ready))
        except DatasetError as problem:
            if not problems.lenient:
                raise
            problems.skipped.append(str(problem))
            continue
        prepared.append(ready)
    if not prepared:
        raise DatasetError("nothing in the dataset can be used")
    return prepared
