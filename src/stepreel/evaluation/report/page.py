"""Make report.html: how methods score under every protocol, beside null baselines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from stepreel.evaluation.methods.catalog import LEARNED_METHODS, NULL_METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS, Protocol
from stepreel.evaluation.report.layout import (
    REFERENCE,
    UNITS,
    Figures,
    best_null,
    group_methods,
    in_order,
    lay_out_task,
)
from stepreel.evaluation.report.pictures import TaskPictures
from stepreel.evaluation.report.text import digits_for, folded
from stepreel.report.html import content_policy, environment, inlined_script, inlined_style
from stepreel.report.palette import kind_of

HEADLINE = "strict"
SMALLEST_SHOWN = 0.05  # what is less would be written 0.0
_STYLES = ("shared.css", "evaluation.css")
_SCRIPTS = ("letters.js", "index.js", "evaluation.js")


@dataclass(frozen=True)
class Column:
    """A protocol in the headline table, the most it allows, and its best null baseline."""

    protocol: Protocol
    ceiling: float
    null: str | None
    best: float


@dataclass(frozen=True)
class Lead:
    """How many points of F1 a method has over the best null baseline; less than 0 if fewer.

    spread  the larger of both spreads over seeds
    """

    points: float
    spread: float

    @property
    def is_clear(self) -> bool:
        """Whether it is larger than the spread, and than nothing."""
        return abs(self.points) > max(self.spread, SMALLEST_SHOWN)


@dataclass(frozen=True)
class Cell:
    """A method's F1 under a protocol, and its lead; null baselines have none."""

    f1: Figures
    iou: float
    lead: Lead | None
    is_best: bool


@dataclass(frozen=True)
class Verdict:
    """The best method that looks, or was given, and the best null baseline; headline protocol."""

    learned: str | None
    null: str | None
    lead: Lead | None


@dataclass(frozen=True)
class LeftOut:
    """What a lenient reading left out: of recordings that are scored, and everything else.

    names  recordings that are scored without a part of them
    """

    names: list[str]
    parts: list[str]
    rest: list[str]


@dataclass(frozen=True)
class Metric:
    """A score other than localization: one row per method."""

    name: str
    note: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


def render_evaluation(results: dict[str, Any], pictures: Sequence[TaskPictures]) -> str:
    """Return the one-file page of `results`, which have the form of results.json."""
    protocols = results["protocols"]
    groups = group_methods(list(protocols[HEADLINE]))
    columns = _columns(protocols)
    views = [lay_out_task(one, _protocols_of(results, one.task)[HEADLINE]) for one in pictures]
    n_kinds = max((sum(s.kind is not None for s in view.steps) for view in views), default=0)
    style = inlined_style(_STYLES, kinds=[kind_of(number) for number in range(n_kinds)])
    theme_script, script = inlined_script("theme.js"), inlined_script(*_SCRIPTS)
    return (
        environment()
        .get_template("evaluation.html.j2")
        .render(
            best_null=best_null,
            breakable=_breakable,
            cells=_cells(protocols, columns),
            columns=columns,
            content_policy=content_policy(style, [theme_script, script], img="data:"),
            groups=groups,
            headline=HEADLINE,
            heading=_heading(results["dataset"]),
            is_trained=any(method in LEARNED_METHODS for method in protocols[HEADLINE]),
            json=lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str),
            left_out=_left_out(results),
            learned=[method for method in protocols[HEADLINE] if method not in NULL_METHODS],
            methods=in_order(list(protocols[HEADLINE])),
            methods_at=_methods_at,
            metrics=[_metric(*one) for one in results.get("task_metrics", {}).items()],
            n_seeds=len(results["settings"]["seeds"]),
            notes=folded(results.get("notes", [])),
            reference=REFERENCE,
            results=results,
            script=script,
            smallest_shown=SMALLEST_SHOWN,
            style=style,
            theme_script=theme_script,
            units=UNITS,
            verdict=_verdict(protocols[HEADLINE]),
            views=views,
        )
    )


def _protocols_of(results: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Return a task's own figures; where it is the only one, they are everybody's."""
    own: Mapping[str, Any] = results.get("tasks", {}).get(task, results)["protocols"]
    return own


def _methods_at(points: Mapping[str, Mapping[str, Any]], protocol: str) -> list[str]:
    """Return every method that has figures at one of the points of a sweep, or in one task."""
    there = {m: None for point in points.values() for m in point["protocols"][protocol]}
    return in_order(list(there))


def _heading(dataset: Mapping[str, Any]) -> str:
    """Return what the set itself is called; its title says no more than of what kind it is."""
    tasks = list(dataset["tasks"])
    return str(tasks[0] if len(tasks) == 1 else dataset.get("root") or dataset["name"])


def _breakable(name: str) -> Markup:
    """Let a long name go on in the next line after an underscore or the like.

    >>> _breakable("fit_<the>_rim")
    Markup('fit_<wbr>&lt;the&gt;_<wbr>rim')
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_./])(?=[^_./])", name))


def _left_out(results: Mapping[str, Any]) -> LeftOut:
    scored = {name for task in results["dataset"]["tasks"].values() for name in task["recordings"]}
    whose = [(text.partition(": ")[0], text) for text in results.get("left_out", [])]
    return LeftOut(
        names=list(dict.fromkeys(name for name, _ in whose if name in scored)),
        parts=[text for name, text in whose if name in scored],
        rest=[text for name, text in whose if name not in scored],
    )


def _columns(protocols: Mapping[str, Mapping[str, Figures]]) -> list[Column]:
    """Put protocols for all recordings together first, and strict ones first among their like."""
    known = [one for name, one in PROTOCOLS.items() if name in protocols]
    columns = []
    for one in sorted(known, key=lambda one: (one.each_recording, not one.strict)):
        methods = protocols[one.name]
        ceilings = [figures["ceiling"]["mean"] for figures in methods.values() if one.strict]
        columns.append(
            Column(
                protocol=one,
                ceiling=min(ceilings, default=100.0),
                null=best_null(methods),
                best=max((figures["f1"]["mean"] for figures in methods.values()), default=0.0),
            )
        )
    return columns


def _cells(
    protocols: Mapping[str, Mapping[str, Figures]], columns: Sequence[Column]
) -> dict[str, dict[str, Cell]]:
    def cell(method: str, column: Column) -> Cell:
        methods = protocols[column.protocol.name]
        f1 = methods[method]["f1"]
        return Cell(
            f1=f1,
            iou=methods[method]["iou"]["mean"],
            lead=_lead(methods, method, column.null) if method not in NULL_METHODS else None,
            is_best=round(f1["mean"], 1) == round(column.best, 1),
        )

    return {
        column.protocol.name: {m: cell(m, column) for m in protocols[column.protocol.name]}
        for column in columns
    }


def _lead(methods: Mapping[str, Figures], method: str | None, null: str | None) -> Lead | None:
    if method is None or null is None:
        return None
    own, other = methods[method]["f1"], methods[null]["f1"]
    return Lead(own["mean"] - other["mean"], max(own["std"], other["std"]))


def _verdict(methods: Mapping[str, Figures]) -> Verdict:
    others = [method for method in methods if method not in NULL_METHODS]
    learned = max(others, key=lambda method: float(methods[method]["f1"]["mean"]), default=None)
    null = best_null(methods)
    return Verdict(learned, null, _lead(methods, learned, null))


def _metric(name: str, content: Mapping[str, Any]) -> Metric:
    methods: Mapping[str, Figures] = content["methods"]
    columns = list(next(iter(methods.values())))
    digits = {c: digits_for([own[c]["mean"] for own in methods.values()]) for c in columns}
    rows = [(m, [_figure(own[c], digits[c]) for c in columns]) for m, own in methods.items()]
    return Metric(name, content["note"], columns, rows)


def _figure(figure: Figures, digits: int) -> str:
    """Write a figure, and its spread unless that would be written 0.

    >>> _figure({"mean": 50.68, "std": 3.7}, 1), _figure({"mean": -0.5, "std": 0.0002}, 3)
    ('50.7 ±3.7', '−0.500')
    >>> _figure({"mean": None, "std": None}, 1)
    '–'
    """
    if figure["mean"] is None:
        return "–"
    std = f"{figure['std']:.{digits or 1}f}"
    spread = f" ±{std}" if float(std) else ""
    return f"{figure['mean']:.{digits}f}{spread}".replace("-", "−")
