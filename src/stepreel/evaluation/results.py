"""results.json: every figure of an evaluation, with what it was made from.

    protocols.<protocol>.<method>.f1 = {"mean": …, "std": …, "seeds": […]}
    storyboard.coverage.<method>.f1, storyboard.borders.<method>.<tolerance>.f1

All figures are percentages; `std` is that of the population, over seeds. With several tasks a
figure is the plain mean over tasks of each seed's figures; `tasks.<task>.protocols…` has each task
by itself. Only what was set is written, so that a file contains nothing that was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from stepreel.errors import StepreelError
from stepreel.evaluation.figures import Figure, MetricFigure
from stepreel.evaluation.methods.base import NULL_KINDS, MethodKind
from stepreel.evaluation.storyboard_figures import MeasureFigures, StoryboardFigures
from stepreel.system.contracts import Contract, published_schema, read_contract

if TYPE_CHECKING:
    import pandas as pd

FORMAT: Literal["stepreel-results"] = "stepreel-results"
VERSION: Literal[2] = 2

_KINDS_IN_VERSION_1: dict[str, MethodKind] = {
    "random": "blind",
    "equal-split": "blind",
    "concatenated-split": "blind",
    "one-cluster": "blind",
    "raw-kmeans": "clustered",
    "time-kmeans": "clustered",
    "paper": "learned",
    "stepreel": "learned",
    "prediction": "other",
}


class StepFigures(Contract):
    """One true step under one protocol, in percent; 0 if no cluster is matched with it."""

    name: str
    f1: Figure
    precision: Figure
    recall: Figure
    iou: Figure


class MethodFigures(Contract):
    """One method under one protocol, in percent."""

    f1: Figure
    precision: Figure
    recall: Figure
    iou: Figure
    mof: Figure = Field(description="Share of moments that are right, background included.")
    edit: Figure = Field(description="Order of the segments; 100 for the same sequence.")
    f1_10: Figure = Field(description="F1 of segments that overlap by 10 % (IoU).")
    f1_25: Figure = Field(description="F1 of segments that overlap by 25 % (IoU).")
    f1_50: Figure = Field(description="F1 of segments that overlap by 50 % (IoU).")
    ceiling: Figure | None = Field(
        default=None, description="Highest possible F1 with this many clusters; strict protocols."
    )
    per_step: dict[str, StepFigures] | None = Field(
        default=None, description="By id of the step; task/id if there are several tasks."
    )

    def figures(self) -> dict[str, Figure]:
        """Return all figures by name; the ceiling only where there is one."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, Figure)}


MethodTable = dict[str, MethodFigures]
"""By method"""

Protocols = dict[str, MethodTable]
"""By protocol, then by method"""


class Scored(Contract):
    """Figures of a task, a group of tasks, or one point of a sweep."""

    protocols: Protocols = Field(description="By protocol, then by method.")
    storyboard: StoryboardFigures | None = Field(
        default=None, description="By measure, then by method; not for points of a sweep."
    )


class TaskMetric(Contract):
    """A score other than localization."""

    note: str = Field(description="How to read it.")
    methods: dict[str, dict[str, MetricFigure]] = Field(description="By method, then by figure.")


class TaskFacts(Contract):
    """What was scored of one task."""

    group: str = Field(description="The dataset it is part of, if several are evaluated together.")
    recordings: list[str]
    moments: int = Field(description="Moments that are scored, over all recordings.")
    seconds: float = Field(description="From first to last moment, over all recordings.")
    cues: dict[str, int] = Field(description="Features per moment of every cue; main cue first.")
    steps: dict[str, str] = Field(description="Names of the true steps by id; 0 is background.")


class DatasetFacts(Contract):
    """What was evaluated."""

    name: str = Field(description="Kind of dataset.")
    title: str = ""
    root: str = Field(default="", description="Name of the dataset's folder.")
    task: str | None = Field(default=None, description="The task or group that was asked for.")
    predictions_fingerprint: str | None = Field(
        default=None, description="Hash of the predictions that `stepreel score` was given."
    )
    tasks: dict[str, TaskFacts] = Field(description="By task.")


class EvaluationSettings(Contract):
    """How it was evaluated."""

    n_clusters: int = Field(description="K: kinds of steps to find.")
    seeds: list[int]
    moments_per_second: float
    methods: dict[str, str | dict[str, Any]] = Field(
        description="Resolved settings of learned methods; a description of others."
    )
    preset_of_paper: str | None = Field(
        default=None, description="The preset that the method `paper` started from."
    )
    trained_on: str | None = Field(default=None, description="What learned methods trained on.")


class Results(Contract):
    """Every figure of an evaluation, with what it was made from."""

    format: Literal["stepreel-results"]
    version: Literal[2]
    stepreel_version: str
    data_fingerprint: str = Field(description="Hash of all that was scored, labels included.")
    dataset: DatasetFacts
    settings: EvaluationSettings
    method_kinds: dict[str, MethodKind] = Field(
        default={},
        description="blind and clustered methods are null baselines; by method.",
    )
    skipped: dict[str, str] = Field(description="Methods that were not run, and why.")
    left_out: list[str] = Field(description="Parts of the data left out by a lenient reading.")
    notes: list[str] = Field(description="What a reader of the results should know.")
    protocols: Protocols = Field(description="By protocol, then by method; means over tasks.")
    storyboard: StoryboardFigures | None = Field(
        default=None,
        description="What storyboards are worth: by measure, then by method; means over tasks.",
    )
    tasks: dict[str, Scored] = Field(default={}, description="By task, if there are several.")
    groups: dict[str, Scored] = Field(default={}, description="By group, if there are several.")
    sweeps: dict[str, dict[str, Scored]] = Field(
        default={}, description="By what was changed (clusters, cues, recordings), then by value."
    )
    task_metrics: dict[str, TaskMetric] = Field(default={}, description="By metric.")

    @model_validator(mode="before")
    @classmethod
    def _read_version_1(cls, values: Any) -> Any:
        """Version 1 knew stepreel's own methods only, and did not say their kinds."""
        if isinstance(values, dict) and values.get("version") == 1:
            protocols = values.get("protocols")
            tables = protocols.values() if isinstance(protocols, dict) else ()
            methods = {m: None for table in tables if isinstance(table, dict) for m in table}
            kinds = {method: _KINDS_IN_VERSION_1.get(method, "other") for method in methods}
            values = {"method_kinds": kinds, **values, "version": VERSION}
        return values

    @property
    def n_recordings(self) -> int:
        """How many recordings are scored, over all tasks."""
        return sum(len(task.recordings) for task in self.dataset.tasks.values())

    def is_null(self, method: str) -> bool:
        """Tell whether a method is a null baseline."""
        return self.method_kinds.get(method, "other") in NULL_KINDS

    def of_task(self, task: str) -> Protocols:
        """Return one task's own figures."""
        return self.tasks[task].protocols if task in self.tasks else self.protocols

    def storyboard_of_task(self, task: str) -> StoryboardFigures | None:
        """Return what one task's own storyboards are worth."""
        return self.tasks[task].storyboard if task in self.tasks else self.storyboard

    def to_json(self) -> str:
        """Return the content of results.json; a figure with its seeds is one line."""
        return _indented(self.model_dump(mode="json", exclude_unset=True), "") + "\n"

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task, protocol, method, figure and seed.

        Columns: task, group, protocol, method, kind, figure, seed, value. Measures of storyboards
        are protocols, too: coverage, borders-1s, borders-2s, borders-5%, and each of them with
        -per-video where every recording is clustered by itself. Means as in results.json:

            frame.query("figure == 'f1'").pivot_table(
                index="method", columns="protocol", values="value"
            )

        `std` in results.json is that of the population: `.std(ddof=0)` in pandas.
        """
        try:
            import pandas as pd
        except ImportError as problem:
            raise StepreelError(
                "to_frame() needs pandas, which is not installed: pip install pandas"
            ) from problem
        columns = ["task", "group", "protocol", "method", "kind", "figure", "seed", "value"]
        return pd.DataFrame(list(self._rows()), columns=columns)

    def _rows(self) -> Iterator[tuple[object, ...]]:
        for task, facts in self.dataset.tasks.items():
            for protocol, methods in self._tables(task).items():
                for method, scores in methods.items():
                    kind = self.method_kinds.get(method, "other")
                    for name, figure in scores.figures().items():
                        for seed, value in zip(self.settings.seeds, figure.seeds, strict=True):
                            yield task, facts.group, protocol, method, kind, name, seed, value

    def _tables(self, task: str) -> dict[str, Mapping[str, MethodFigures | MeasureFigures]]:
        """Return one task's figures under every protocol and measure."""
        tables: dict[str, Mapping[str, MethodFigures | MeasureFigures]] = {**self.of_task(task)}
        if (storyboard := self.storyboard_of_task(task)) is not None:
            tables |= storyboard.by_name()
            if storyboard.alone is not None:
                alone = storyboard.alone.by_name()
                tables |= {f"{name}-per-video": table for name, table in alone.items()}
        return tables

    def __repr__(self) -> str:
        counts = [
            (len(self.dataset.tasks), "task"),
            (self.n_recordings, "recording"),
            (len(next(iter(self.protocols.values()), {})), "method"),
            (len(self.settings.seeds), "seed"),
        ]
        parts = [f"{n} {thing}{'' if n == 1 else 's'}" for n, thing in counts]
        name = self.dataset.root or self.dataset.name
        return f"Results({name!r}, {', '.join(parts)}, K = {self.settings.n_clusters})"

    __str__ = __repr__


def results_schema() -> dict[str, Any]:
    """Return the published JSON schema of results.json."""
    return published_schema(Results)


def read_results(path: Path | str) -> Results:
    """Read a results.json of this or an earlier version, or say what is wrong with it."""
    return read_contract(
        Path(path),
        Results,
        expected=f"results of version 1 to {VERSION}",
        newest=VERSION,
        schema_command="stepreel schema results",
    )


def _indented(value: object, margin: str) -> str:
    """Write JSON with one line per figure: a dict without dicts in it stays on its line."""
    if not isinstance(value, Mapping) or not any(isinstance(v, Mapping) for v in value.values()):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = margin + " "
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_indented(value[key], inner)}"
        for key in value
    ]
    return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
