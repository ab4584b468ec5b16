"""Score predictions that somebody made before, beside the null baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stepreel.datasets.annotation import Annotation, Problems, annotate, number_by_name
from stepreel.datasets.benchmark import LabelledRecording, LabelledTask
from stepreel.datasets.formats import find_truth, read_rows
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

    Protocols that match all recordings together take a cluster's number to mean the same kind of
    step in every recording.
    """
    seconds = {name: given.seconds for name, given in found.items()}
    annotations, names = read_truth(truth, problems, fps=fps, seconds=seconds)
    paired = _pair(annotations, found, problems)
    labels, k = as_clusters({name: found[name] for name in paired}, n_clusters)
    times = [
        found[name].times - (found[name].times[0] if from_zero else 0.0)
        for name, (_, from_zero) in paired.items()
    ]
    task = LabelledTask(
        readable(truth.resolve().name),
        tuple(LabelledRecording(name, annotation) for name, (annotation, _) in paired.items()),
        names,
    )
    prepared = PreparedTask(
        task,
        names=list(paired),
        splits=[""] * len(paired),
        times=times,
        truth=[a.labels_at(t) for (a, _), t in zip(paired.values(), times, strict=True)],
        recordings=None,
        blind_because="only labels were given",
    )
    plan = Plan(methods=tuple(BASELINES), n_clusters=k, seeds=tuple(seeds))
    outcome = compare(prepared, plan, Workplace(Store(Path())))
    ordered = [labels[name] for name in paired]
    enter(outcome, METHOD, [Prediction(ordered, ordered)] * len(plan.seeds), seedless=True)
    dataset = {"name": "score", "title": "Predictions given", "root": task.name, "task": None}
    results = build_results(
        dataset, [outcome], plan, left_out=problems.skipped, notes=problems.notes
    )
    return results, outcome


def read_truth(
    folder: Path, problems: Problems, *, fps: float | None, seconds: Mapping[str, float | None]
) -> tuple[dict[str, tuple[Annotation, bool]], dict[int, str]]:
    """Return annotations by name, whether their clock starts at 0, and the names of steps.

    `seconds` is how long recordings last, where that is known: steps cannot lie past the end.
    """
    rows = {}
    for name, path in find_truth(folder, problems).items():
        try:
            rows[name] = (path, read_rows(path, fps))
        except DatasetError as problem:
            problems.report(str(problem))
    if not rows:
        raise DatasetError(f"{folder}: holds no file of true steps")
    steps = number_by_name(row.label for _, own in rows.values() for row in own)
    annotations = {
        name: (
            annotate(
                path, own, steps, problems, recording=name, duration_seconds=seconds.get(name)
            ),
            path.suffix.lower() == ".npz",
        )
        for name, (path, own) in rows.items()
    }
    return annotations, steps.names


def _pair(
    annotations: Mapping[str, tuple[Annotation, bool]],
    found: Mapping[str, Given],
    problems: Problems,
) -> dict[str, tuple[Annotation, bool]]:
    for name in annotations:
        if name not in found:
            problems.report(f"{name}: has true steps, but no prediction")
    for name in found:
        if name not in annotations:
            problems.report(f"{name}: has a prediction, but no true steps")
    paired = {name: one for name, one in annotations.items() if name in found}
    if not paired:
        raise DatasetError(
            "no prediction is named like a file of true steps; "
            f"truth: {', '.join(list(annotations)[:5])}; predictions: {', '.join(list(found)[:5])}"
        )
    return paired
