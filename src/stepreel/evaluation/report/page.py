"""Render report.html: how methods score under every protocol, next to null baselines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from stepreel.evaluation.figures import Figure, MetricFigure
from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS, Protocol
from stepreel.evaluation.report.barcodes import TaskBarcodes
from stepreel.evaluation.report.figures import digits_for, figure_text, merge_notes, spread_text
from stepreel.evaluation.report.layout import (
    REFERENCE,
    UNITS,
    group_methods,
    in_order,
    lay_out_task,
)
from stepreel.evaluation.report.storyboards import storyboard_views
from stepreel.evaluation.report.verdict import HEADLINE, Lead, best_null, f1_mean, judge
from stepreel.evaluation.results import (
    DatasetFacts,
    MethodTable,
    Results,
    Scored,
    TaskMetric,
)
from stepreel.report.html import content_policy, environment, inlined_script, inlined_style
from stepreel.report.palette import kind_of

_STYLES = ("shared.css", "evaluation.css")
_SCRIPTS = ("letters.js", "index.js", "evaluation.js")


@dataclass(frozen=True)
class Cell:
    """A method's F1 and IoU under a protocol, and its lead; null baselines have none."""

    f1: Figure
    iou: Figure
    lead: Lead | None
    is_best: bool


@dataclass(frozen=True)
class Column:
    """A protocol in the headline table: the highest F1 it allows, and its best null baseline."""

    protocol: Protocol
    ceiling: float
    null: str | None
    null_f1: float | None
    cells: dict[str, Cell]


@dataclass(frozen=True)
class LeftOut:
    """What a lenient reading left out: parts of recordings that are scored, and everything else.

    names  recordings that are scored without a part of them
    """

    names: list[str]
    parts: list[str]
    rest: list[str]


@dataclass(frozen=True)
class MetricTable:
    """A score other than localization: one row per method."""

    name: str
    note: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


def render_evaluation(results: Results, barcodes: Sequence[TaskBarcodes]) -> str:
    """Return the one-file page of an evaluation."""
    kinds = results.method_kinds
    methods = list(results.protocols[HEADLINE])
    views = [lay_out_task(task, results.of_task(task.task)[HEADLINE], kinds) for task in barcodes]
    n_kinds = max((sum(s.kind is not None for s in view.steps) for view in views), default=0)
    style = inlined_style(_STYLES, kinds=[kind_of(number) for number in range(n_kinds)])
    theme_script, script = inlined_script("theme.js"), inlined_script(*_SCRIPTS)
    return (
        environment()
        .get_template("evaluation.html.j2")
        .render(
            about=_descriptions(results),
            best_null_f1=lambda table: _best_null_f1(table, results),
            breakable=_breakable,
            columns=_columns(results),
            content_policy=content_policy(style, [theme_script, script], img="data:"),
            groups=group_methods(methods, kinds),
            headline=HEADLINE,
            heading=_heading(results.dataset),
            is_trained=any(kinds.get(method) == "learned" for method in methods),
            json=lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str),
            left_out=_left_out(results),
            highlighted=[method for method in methods if not results.is_null(method)],
            methods=in_order(methods, kinds),
            methods_at=lambda points, protocol: in_order(_methods_at(points, protocol), kinds),
            metrics=[_metric_table(*metric) for metric in results.task_metrics.items()],
            n_seeds=len(results.settings.seeds),
            notes=merge_notes(results.notes),
            reference=REFERENCE,
            results=results,
            script=script,
            spread_text=spread_text,
            storyboards=storyboard_views(results),
            style=style,
            theme_script=theme_script,
            units=UNITS,
            verdict=judge(results),
            views=views,
        )
    )


def _descriptions(results: Results) -> dict[str, str]:
    """Say in a few words what every method does; plug-ins are described in the settings."""
    texts = {m: text for m, text in results.settings.methods.items() if isinstance(text, str)}
    return texts | {name: method.title for name, method in METHODS.own.items()}


def _best_null_f1(methods: MethodTable, results: Results) -> float | None:
    null = best_null(methods, results.is_null)
    return None if null is None else f1_mean(methods[null])


def _methods_at(points: Mapping[str, Scored], protocol: str) -> list[str]:
    """Return every method that has figures at one of the points of a sweep, or in one task."""
    return list(dict.fromkeys(m for point in points.values() for m in point.protocols[protocol]))


def _heading(dataset: DatasetFacts) -> str:
    """Return the name of the dataset itself; its title is only the kind of dataset."""
    tasks = list(dataset.tasks)
    return tasks[0] if len(tasks) == 1 else dataset.root or dataset.name


def _breakable(name: str) -> Markup:
    """Let a long name break after an underscore, a dot or a slash.

    >>> _breakable("fit_<the>_rim")
    Markup('fit_<wbr>&lt;the&gt;_<wbr>rim')
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_./])(?=[^_./])", name))


def _left_out(results: Results) -> LeftOut:
    scored = {name for task in results.dataset.tasks.values() for name in task.recordings}
    named = [(text.partition(": ")[0], text) for text in results.left_out]
    return LeftOut(
        names=list(dict.fromkeys(name for name, _ in named if name in scored)),
        parts=[text for name, text in named if name in scored],
        rest=[text for name, text in named if name not in scored],
    )


def _columns(results: Results) -> list[Column]:
    """Put protocols for all recordings together first, and strict ones first in each group."""
    known = [protocol for name, protocol in PROTOCOLS.items() if name in results.protocols]
    return [
        _column(protocol, results)
        for protocol in sorted(known, key=lambda p: (p.each_recording, not p.strict))
    ]


def _column(protocol: Protocol, results: Results) -> Column:
    methods = results.protocols[protocol.name]
    verdict = judge(results, protocol.name)
    best = max(map(f1_mean, methods.values()), default=0.0)
    ceilings = [figures.ceiling.mean for figures in methods.values() if figures.ceiling is not None]
    return Column(
        protocol,
        ceiling=min(ceilings, default=100.0),
        null=verdict.null,
        null_f1=_best_null_f1(methods, results),
        cells={
            name: Cell(
                figures.f1,
                figures.iou,
                verdict.leads.get(name),
                is_best=round(f1_mean(figures), 1) == round(best, 1),
            )
            for name, figures in methods.items()
        },
    )


def _metric_table(name: str, metric: TaskMetric) -> MetricTable:
    methods = metric.methods
    columns = list(next(iter(methods.values())))
    digits = {c: digits_for([figures[c].mean for figures in methods.values()]) for c in columns}
    rows = [
        (method, [_figure_text(figures[column], digits[column]) for column in columns])
        for method, figures in methods.items()
    ]
    return MetricTable(name, metric.note, columns, rows)


def _figure_text(figure: MetricFigure, digits: int = 1) -> str:
    """Write a figure with its spread, and with a real minus sign."""
    return figure_text(figure, digits).replace("-", "−")
