"""Score predictions that somebody made before, beside the null baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.datasets.annotation import (
    PAST_THE_END_SECONDS,
    Annotation,
    Problems,
    annotate,
    cut_at_end,
    number_by_name,
)
from stepreel.datasets.benchmark import LabelledRecording, LabelledTask
from stepreel.datasets.formats import WHOLE_FRAMES, find_truth, guess_format, read_rows
from stepreel.errors import DatasetError
from stepreel.evaluation.baselines import BASELINES
from stepreel.evaluation.compare import Outcome, compare, enter
from stepreel.evaluation.given import Given, as_clusters
from stepreel.evaluation.methods import Prediction, Workplace
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import Json, build_results
from stepreel.store import Store
from stepreel.types import readable

METHOD = "prediction"
PER_MOMENT = ("frames", "npz")  # formats that say of every moment what is done in it


@dataclass(frozen=True)
class Truth:
    """True steps of one recording; `extent` is what its labels cover, if that is all of it."""

    annotation: Annotation
    extent: tuple[float, float] | None


def judge(
    truth: Path,
    found: Mapping[str, Given],
    problems: Problems,
    *,
    fps: float | None = None,
    n_clusters: int | None = None,
    seeds: Sequence[int] = (0, 1, 2),
) -> tuple[Json, Outcome]:
    """Score predictions against the true steps in a folder; both are paired by name.

    Both are on the recording's own clock. Protocols that match all recordings together take a
    cluster's number to mean the same kind of step in every recording.
    """
    truths, names = read_truth(truth, found, problems, fps=fps)
    paired = _pair(truths, found, problems)
    labels, k = as_clusters(paired, n_clusters)
    prepared = _prepare(readable(truth.resolve().name), truths, names, paired)
    plan = Plan(methods=tuple(BASELINES), n_clusters=k, seeds=tuple(seeds))
    outcome = compare(prepared, plan, Workplace(Store(Path())))
    ordered = [labels[name] for name in paired]
    enter(outcome, METHOD, [Prediction(ordered, ordered)] * len(plan.seeds), seedless=True)
    dataset = {"name": "score", "title": "Predictions given", "root": prepared.task.name}
    results = build_results(
        dataset, [outcome], plan, left_out=problems.skipped, notes=problems.notes
    )
    return results, outcome


def _prepare(
    name: str, truths: Mapping[str, Truth], names: dict[int, str], paired: Mapping[str, Given]
) -> PreparedTask:
    annotations = {one: truths[one].annotation for one in paired}
    recordings = tuple(LabelledRecording(one, own) for one, own in annotations.items())
    times = [given.times for given in paired.values()]
    return PreparedTask(
        LabelledTask(name, recordings, names),
        names=list(paired),
        splits=[""] * len(paired),
        times=times,
        truth=[own.labels_at(t) for own, t in zip(annotations.values(), times, strict=True)],
        recordings=None,
        blind_because="only labels were given",
    )


def read_truth(
    folder: Path, found: Mapping[str, Given], problems: Problems, *, fps: float | None
) -> tuple[dict[str, Truth], dict[int, str]]:
    """Return true steps by the name of their recording, and the names of the steps.

    Where a prediction says how long a recording lasts, steps cannot lie past its end.
    """
    rows = {}
    for name, path in find_truth(folder, problems).items():
        try:
            rows[name] = (path, read_rows(path, fps), guess_format(path))
        except DatasetError as problem:
            problems.report(str(problem))
    if not rows:
        raise DatasetError(f"{folder}: holds no file of true steps")
    steps = number_by_name(row.label for _, own, _ in rows.values() for row in own)
    truths = {}
    for name, (path, own, kind) in rows.items():
        last = found[name].seconds if name in found else None
        annotation = annotate(
            path,
            cut_at_end(own, last) if name in found and found[name].is_board else own,
            steps,
            problems,
            recording=name,
            duration_seconds=last,
            whole_frames=kind in WHOLE_FRAMES,
        )
        covers_all = kind in PER_MOMENT and bool(own)
        extent = (min(r.start for r in own), max(r.end for r in own)) if covers_all else None
        truths[name] = Truth(annotation, extent)
    return truths, steps.names


def _pair(
    truths: Mapping[str, Truth], found: Mapping[str, Given], problems: Problems
) -> dict[str, Given]:
    """Return predictions that have a truth, as long as it."""
    for name in truths:
        if name not in found:
            problems.report(f"{name}: has true steps, but no prediction")
    for name in found:
        if name not in truths:
            problems.report(f"{name}: has a prediction, but no true steps")
    both = [name for name in truths if name in found]
    if not both:
        raise DatasetError(
            "no prediction is named like a file of true steps; "
            f"truth: {', '.join(list(truths)[:5])}; predictions: {', '.join(list(found)[:5])}"
        )
    paired = {name: _as_long(name, truths[name], found[name], problems) for name in both}
    fitting = {name: given for name, given in paired.items() if given is not None}
    if not fitting:
        raise DatasetError("no prediction is as long as its truth")
    return fitting


def _as_long(name: str, truth: Truth, given: Given, problems: Problems) -> Given | None:
    """Return a prediction that covers the moments of its truth; None if it does not.

    Spans of text count as no step after their end. Where every moment has a label on both sides,
    both must begin and end together.
    """
    if truth.extent is None:
        last_step = max((step.end for step in truth.annotation.steps), default=0.0)
        return given if given.seconds is not None else given.until(last_step)
    first, last = truth.extent
    slack = PAST_THE_END_SECONDS if given.is_board else 1.5 * given.moment_seconds
    end = float(given.times[-1]) + given.moment_seconds
    starts_late = float(given.times[0]) > first + slack
    ends_early = given.seconds is not None and end < last - slack
    if starts_late or ends_early or end > last + slack:
        problems.report(
            f"{name}: its prediction covers {given.times[0]:.2f} to {end:.2f} s, its truth "
            f"{first:.2f} to {last:.2f} s; both must cover the same moments"
        )
        return None
    return given.until(last)
