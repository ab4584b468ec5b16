"""`stepreel evaluate`: a labelled dataset in, every score beside its null baselines out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import (
    Assignments,
    Cache,
    DeviceName,
    Quiet,
    named_overrides,
    open_store,
)
from stepreel.cli.problems import problems_of_data, tell_left_out
from stepreel.cli.terminal import (
    SOME_FAILED,
    clear_errors,
    counted,
    progress_bar,
    refuse,
    say,
    warn,
)
from stepreel.system.machine import usable_device

if TYPE_CHECKING:
    from stepreel.evaluation.datasets.base import DatasetFormat, LabelledTask, Request
    from stepreel.evaluation.plan import Plan
    from stepreel.evaluation.run import Extras
    from stepreel.evaluation.truth.annotation import Problems


def evaluate(
    dataset: Annotated[str, typer.Argument(help="Kind of dataset: npz, videos, egoprocel, …")],
    root: Annotated[Path, typer.Argument(help="Its folder.", readable=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for results.")] = Path(
        "results"
    ),
    truth: Annotated[
        Path | None, typer.Option(help="Folder with the labels of videos, if not ROOT.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="One task, or one group of tasks.")] = None,
    cues: Annotated[
        str | None,
        typer.Option(metavar="CUE,CUE", help="Arrays of feature files to use; main one first."),
    ] = None,
    clusters: Annotated[
        int, typer.Option("--clusters", "-k", min=1, max=1000, help="K: kinds of steps to find.")
    ] = 7,
    window_seconds: Annotated[
        float | None,
        typer.Option(min=1e-3, help="σ of learned methods: moments so near are alike."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="Repeat with so many seeds: 0, 1, 2, …")
    ] = 3,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Compare only these methods (listed above).")
    ] = None,
    baselines_only: Annotated[
        bool, typer.Option("--baselines-only", help="Learn nothing: null baselines alone.")
    ] = False,
    preset: Annotated[
        str | None, typer.Option(help="Settings of the method `paper` (paper-small).")
    ] = None,
    assignments: Assignments = None,
    fps: Annotated[
        float | None,
        typer.Option(min=1e-6, help="Frames per second of labels or features counted in frames."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=1e-3, max=1e3, help="Score so many moments per second.")
    ] = None,
    task_metrics: Annotated[
        list[str] | None,
        typer.Option("--task-metric", help="Also measure phases, kendall or key-steps."),
    ] = None,
    sweep_clusters: Annotated[
        str | None, typer.Option(metavar="K,K", help="Compare again for each K: 7,10,12,15.")
    ] = None,
    sweep_cues: Annotated[
        bool, typer.Option("--sweep-cues", help="Compare each cue alone at inference.")
    ] = False,
    sweep_recordings: Annotated[
        str | None, typer.Option(metavar="N,N", help="Train on so many recordings: 1,2,5,10.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out what is wrong with the data, and say so.")
    ] = False,
    device: DeviceName = "auto",
    cache: Cache = None,
    quiet: Quiet = False,
) -> None:
    """Score methods on labelled recordings, under every protocol.

    Writes results.json, report.html and predictions/ and prints the table.
    Kinds of datasets: npz (a folder of .npz files), videos (with --truth),
    egoprocel, steps-release, crosstask, procel, ikea, penn, breakfast,
    50salads, gtea, jigsaws. Methods: random, equal-split, concatenated-split,
    one-cluster, raw-kmeans, time-kmeans (null baselines), paper, stepreel
    (learned). Labels are used for scoring alone. The same command goes on
    where an interrupted one stopped. To score predictions made elsewhere,
    under one protocol or all: stepreel score.
    """
    with clear_errors(), problems_of_data(lenient=lenient) as problems:
        from stepreel.evaluation.datasets.base import Request
        from stepreel.system.files import check_writable

        where = usable_device(device)
        plan = _plan(methods, baselines_only, clusters, seeds, preset, rate)
        plan = _with_overrides(plan, assignments or [], window_seconds)
        extras = _extras(task_metrics or [], sweep_clusters, sweep_cues, sweep_recordings)
        kind = _kind(dataset)
        _check_options(dataset, cues, truth)
        request = Request(root, problems, task=task, cues=_names(cues), fps=fps, truth=truth)
        tasks = _read(kind, request)
        check_writable(output)
        described = {
            "name": dataset,
            "title": kind.title,
            "root": root.resolve().name,
            "task": task,
        }
        with progress_bar(quiet=quiet) as progress:
            from stepreel.evaluation.methods.catalog import Workplace
            from stepreel.evaluation.run import run_evaluation, write_evaluation

            results, outcomes = run_evaluation(
                described,
                tasks,
                plan,
                Workplace(open_store(cache), where, progress),
                problems,
                labels_rate=kind.labels_rate,
                extras=extras,
            )
            write_evaluation(output, results, outcomes)
        _report(results, plan, output, problems)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _plan(
    methods: str | None,
    baselines_only: bool,
    clusters: int,
    seeds: int,
    preset: str | None,
    rate: float | None,
) -> Plan:
    from stepreel.evaluation.methods.catalog import METHODS, NULL_METHODS
    from stepreel.evaluation.plan import PAPER_PRESET, Plan, check_methods

    if methods is not None and not _names(methods):
        raise refuse(f"--methods {methods}: names none; known: {', '.join(METHODS)}")
    try:
        chosen = check_methods(_names(methods) or METHODS)
    except ValueError as problem:
        raise refuse(f"--methods: {problem}") from None
    if baselines_only:
        chosen = tuple(method for method in chosen if method in NULL_METHODS)
        if not chosen:
            raise refuse("--baselines-only leaves none of the methods that --methods names")
    return Plan(
        methods=chosen,
        n_clusters=clusters,
        seeds=tuple(range(seeds)),
        preset=preset or PAPER_PRESET,
        rate=rate,
    )


def _with_overrides(plan: Plan, assignments: list[str], window_seconds: float | None) -> Plan:
    from dataclasses import replace

    from stepreel.config import CueChoiceError
    from stepreel.evaluation.methods.catalog import LEARNED_METHODS

    overrides = named_overrides(assignments)
    for name, option in (("key_steps.n_clusters", "--clusters"), ("train.seed", "--seeds")):
        if name in overrides:
            raise refuse(f"--set {name} would be overruled; use {option}")
    if window_seconds is not None:
        overrides |= {"loss.window_seconds": window_seconds, "loss.window_frames": None}
    if plan.rate is not None:
        overrides["extract.moments_per_second"] = plan.rate
    changed = replace(plan, overrides=overrides)
    for method in LEARNED_METHODS:  # a wrong name is an error even where it has no effect
        try:
            changed.settings_of(method)
        except CueChoiceError:
            continue  # of features; that is checked once they have been read
        except ValueError as problem:
            raise refuse(str(problem)) from None
    return changed


def _extras(
    metrics: Sequence[str], clusters: str | None, cues: bool, recordings: str | None
) -> Extras:
    from stepreel.evaluation.run import Extras
    from stepreel.evaluation.task_metrics import TASK_METRICS

    names = [name for text in metrics for name in _names(text)]
    if unknown := [name for name in names if name not in TASK_METRICS]:
        raise refuse(f"unknown task metric {unknown[0]!r}; known: {', '.join(TASK_METRICS)}")
    return Extras(
        clusters=_numbers(clusters, "--sweep-clusters"),
        cues=cues,
        recordings=_numbers(recordings, "--sweep-recordings"),
        metrics=tuple(dict.fromkeys(names)),
    )


def _numbers(text: str | None, option: str) -> list[int]:
    try:
        numbers = sorted({int(part) for part in _names(text)})
    except ValueError:
        numbers = [0]
    if any(not 1 <= number <= 1000 for number in numbers):
        raise refuse(f"{option} {text}: expected whole numbers from 1 to 1000, parted by commas")
    return numbers


def _check_options(dataset: str, cues: str | None, truth: Path | None) -> None:
    """Refuse options that would be without effect."""
    if dataset == "videos" and cues is not None:
        raise refuse("--cues names arrays of feature files; --set extract.cues=… those of videos")
    if dataset != "videos" and truth is not None:
        raise refuse(f"--truth is about videos; labels of {dataset} lie in its own folder")


def _kind(name: str) -> DatasetFormat:
    from stepreel.evaluation.datasets.catalog import DATASETS

    if name not in DATASETS:
        raise refuse(f"unknown kind of dataset {name!r}; known: {', '.join(DATASETS)}")
    return DATASETS[name]


def _read(kind: DatasetFormat, request: Request) -> list[LabelledTask]:
    """Read the dataset; if it is not there, say where to get it and how it must lie."""
    from stepreel.errors import DatasetError, DatasetMissingError

    try:
        if request.root.is_file():
            raise DatasetMissingError(f"{request.root}: is a file; expected the dataset's folder")
        if not request.root.is_dir():
            raise DatasetMissingError(f"{request.root}: there is no such folder")
        tasks = kind.read(request)
    except DatasetMissingError as problem:
        raise refuse(
            f"{problem}\n{kind.title}: get it from {kind.source}\nexpected layout:\n{kind.layout}"
        ) from None
    if not tasks or not any(task.recordings for task in tasks):
        raise DatasetError(f"{request.root}: holds no labelled recording that can be used")
    return tasks


def _report(results: dict[str, object], plan: Plan, output: Path, problems: Problems) -> None:
    from stepreel.evaluation.report.text import extra_tables, folded, text_table, verdict

    for note in folded(problems.notes):
        warn(f"stepreel: note: {note}")
    tell_left_out(problems)
    skipped = results["skipped"]
    assert isinstance(skipped, dict)
    protocols = results["protocols"]
    assert isinstance(protocols, dict)
    say(text_table(protocols, len(plan.seeds)))
    for text in extra_tables(results, len(plan.seeds)):
        say(text)
    say(_what_was_scored(results, plan))
    if told := verdict(protocols["strict"], "strict", len(plan.seeds)):
        say(told)
    for method, reason in skipped.items():
        say(f"{method}: not run: {reason}")
    if any(method in protocols["strict"] for method in ("paper", "stepreel")):
        say("learned methods are trained, without labels, on the recordings that are scored")
    say(f"results: {output / 'results.json'}, {output / 'report.html'}")
    if problems.skipped:
        warn(f"stepreel: left out because of --lenient: {counted(len(problems.skipped), 'thing')}")
        raise typer.Exit(SOME_FAILED)


def _what_was_scored(results: dict[str, object], plan: Plan) -> str:
    dataset = results["dataset"]
    assert isinstance(dataset, dict)
    tasks = dataset["tasks"]
    n_recordings = sum(len(task["recordings"]) for task in tasks.values())
    name = next(iter(tasks)) if len(tasks) == 1 else f"{dataset['root']}, {len(tasks)} tasks"
    return (
        f"{name}: {counted(n_recordings, 'recording')} scored, K = {plan.n_clusters}, "
        f"{counted(len(plan.seeds), 'seed')}"
    )
