"""What is computed in addition to the comparison, if asked for: sweeps and task metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepreel.errors import DatasetError, SettingsError
from stepreel.evaluation.methods.catalog import of_kind
from stepreel.evaluation.methods.runner import MethodRunner
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.sweeps import Sweep, over_clusters, over_cues, over_recordings
from stepreel.evaluation.task_metrics import (
    NEEDS_TWO_RECORDINGS,
    TASK_METRICS,
    compute_task_metric,
)

MOST = 1000  # clusters or recordings


@dataclass(frozen=True)
class Extras:
    """Values to sweep over, and names of task metrics; see `stepreel.evaluate`."""

    sweep_clusters: Sequence[int] = ()
    sweep_cues: bool = False
    sweep_recordings: Sequence[int] = ()
    task_metrics: Sequence[str] = ()


def make_extras(
    *,
    sweep_clusters: Sequence[int] = (),
    sweep_cues: bool = False,
    sweep_recordings: Sequence[int] = (),
    task_metrics: Sequence[str] = (),
) -> Extras:
    """Return checked extras, each value once; SettingsError says what is wrong."""
    if unknown := [name for name in task_metrics if name not in TASK_METRICS]:
        raise SettingsError(f"unknown task metric {unknown[0]!r}; known: {', '.join(TASK_METRICS)}")
    for what, counts in (("clusters", sweep_clusters), ("recordings", sweep_recordings)):
        if wrong := [n for n in counts if not isinstance(n, int) or not 1 <= n <= MOST]:
            raise SettingsError(
                f"sweep over {what}: {wrong[0]} is not a whole number from 1 to {MOST}"
            )
    return Extras(
        sorted(set(sweep_clusters)),
        sweep_cues,
        sorted(set(sweep_recordings)),
        tuple(dict.fromkeys(task_metrics)),
    )


def check_extras(extras: Extras, prepared: Sequence[PreparedTask], plan: Plan) -> list[str]:
    """Raise DatasetError, before anything is learned, for what cannot be computed.

    Return notes about what is left out, because it would change nothing or does not exist.
    """
    wanted = {
        "a sweep over cues": extras.sweep_cues,
        "a sweep over recordings": bool(extras.sweep_recordings),
        "a task metric": bool(extras.task_metrics),
    }
    for what in (what for what, is_wanted in wanted.items() if is_wanted):
        for task in prepared:
            if task.recordings is None:
                raise DatasetError(f"{what} needs features: {task.blind_because}")
        if what != "a task metric" and not of_kind(plan.methods, "learned"):
            raise DatasetError(f"{what} is about learned methods, and none is compared")
    trained = [m for m in of_kind(plan.methods, "learned") if plan.trains(m, prepared[0].cues)]
    if extras.sweep_recordings and not trained:
        raise DatasetError(
            "a sweep over recordings is about methods that train, and none that does is compared; "
            "--set key_steps.decoder=kmeans makes stepreel train"
        )
    for metric in NEEDS_TWO_RECORDINGS & set(extras.task_metrics):
        for task in prepared:
            if len(task.names) < 2:
                raise DatasetError(
                    f"the task metric {metric} needs two recordings of {task.task.name}"
                )
    fewest = min(len(task.names) for task in prepared)
    too_many = [str(n) for n in extras.sweep_recordings if n >= fewest]
    notes = []
    if too_many:
        notes.append(f"sweep over recordings, {', '.join(too_many)}: there are no more; see `all`")
    about_training = [*extras.task_metrics, *(["recordings"] if extras.sweep_recordings else [])]
    if about_training and "stepreel" in plan.methods and "stepreel" not in trained:
        notes.append(
            f"{', '.join(about_training)}: without stepreel, whose decoder trains nothing "
            "(--set key_steps.decoder=kmeans does)"
        )
    return notes


def compute_extras(
    extras: Extras, prepared: Sequence[PreparedTask], plan: Plan, runner: MethodRunner
) -> dict[str, object]:
    """Return the fields `sweeps` and `task_metrics` of the results, where asked for."""
    sweeps: dict[str, Sweep] = {}
    if extras.sweep_clusters:
        sweeps["clusters"] = over_clusters(prepared, plan, runner, extras.sweep_clusters)
    if extras.sweep_cues:
        sweeps["cues"] = over_cues(prepared, plan, runner)
    if extras.sweep_recordings:
        sweeps["recordings"] = over_recordings(prepared, plan, runner, extras.sweep_recordings)
    metrics = {
        name: compute_task_metric(name, prepared, plan, runner) for name in extras.task_metrics
    }
    fields: dict[str, object] = {"sweeps": sweeps, "task_metrics": metrics}
    return {name: value for name, value in fields.items() if value}
