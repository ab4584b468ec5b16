"""Results as plain text: methods down; protocols, figures, or points of a sweep across.

Written without rich: a table must stay the same in a pipe, in a file and in 80 columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.prediction_scores import FIGURES
from stepreel.evaluation.report.figures import digits_for, figure_text
from stepreel.evaluation.report.verdict import HEADLINE, judge, lead_over_split
from stepreel.evaluation.results import MethodFigures, Protocols, Results, Scored, TaskMetric
from stepreel.evaluation.storyboard_figures import (
    MeasureFigures,
    MeasureTables,
    StoryboardFigures,
)

TERMINAL_COLUMNS = 80
_STRICT_FIRST = sorted(PROTOCOLS.values(), key=lambda protocol: not protocol.strict)
TOGETHER = [protocol.name for protocol in _STRICT_FIRST if not protocol.each_recording]
ALONE = [protocol.name for protocol in _STRICT_FIRST if protocol.each_recording]
SHORT_NAMES = {
    "f1": "F1",
    "precision": "P",
    "recall": "R",
    "iou": "IoU",
    "mof": "MoF",
    "edit": "Edit",
    "f1_10": "F1@10",
    "f1_25": "F1@25",
    "f1_50": "F1@50",
}
MEASURE_TITLES = {
    "coverage": "coverage: is every true step shown, once?",
    "borders-1s": "borders: do steps begin and end where they do, to within 1 s?",
    "borders-2s": "borders, to within 2 s",
    "borders-5%": "borders, to within 5 % of the recording",
}
NULL_NAMES = ("matched-split", "matched-random", "equal-split")
MEASURE_COLUMNS = ("F1", "P", "R", "split", "random", "K", "shown", "true")
MEASURE_LEGEND = """\
  F1, P, R in percent. F1 without looking: split and random have as many moments
  or borders as the method, at equal distances or anywhere; K: K equal parts.
  shown, true: steps (coverage) or borders per recording
  in brackets below: points of F1 above split"""


def protocol_tables(protocols: Protocols) -> str:
    """Write all figures under each protocol; last, where it is seen, F1 and IoU under all.

    Lines fit a terminal of 80 columns.
    """
    lines: list[str] = []
    for name, methods in protocols.items():
        lines += [f"{name}, in percent", _row("", [SHORT_NAMES[f] for f in FIGURES], width=6)]
        for method, scores in methods.items():
            figures = scores.figures()
            means = [f"{figures[name].mean:.1f}" for name in FIGURES]
            lines.append(_row(method, means, width=6))
        lines.append("")
    blocks = [
        ("every recording clustered by itself", ALONE),
        ("all recordings of a task clustered together", TOGETHER),
    ]
    for title, all_names in blocks:
        names = [name for name in all_names if name in protocols]
        if not names:
            continue
        lines += [f"{title}: F1 / IoU in percent", _row("", names)]
        for method in protocols[names[0]]:
            lines.append(_row(method, [f1_and_iou(protocols[name][method]) for name in names]))
        lines += _ceilings(protocols, names)
        lines.append("")
    return "\n".join(lines)


def storyboard_tables(
    storyboard: StoryboardFigures, measures: Sequence[str] = ("coverage", "borders")
) -> str:
    """Write what storyboards are worth; last, F1 and its lead over as many equal parts."""
    lines: list[str] = []
    shown = _of_measures(storyboard, measures)
    for name, methods in shown.items():
        lines += [MEASURE_TITLES[name], _row("", MEASURE_COLUMNS, width=7)]
        for method, figures in methods.items():
            nulls = [figures.nulls[null].f1 for null in NULL_NAMES]
            values = [figures.f1, figures.precision, figures.recall, *nulls]
            numbers = [f"{value.mean:.1f}" for value in (*values, figures.n_shown, figures.n_true)]
            lines.append(_row(method, numbers, width=7))
        lines.append("")
    lines += [MEASURE_LEGEND, ""]
    tables = {"all recordings of a task clustered together": shown}
    if storyboard.alone is not None:
        alone = _of_measures(storyboard.alone, measures)
        tables = {"every recording clustered by itself": alone, **tables}
    for title, table in tables.items():
        lines += [f"{title}: storyboards, F1", _row("", list(table), width=14)]
        for method in next(iter(table.values())):
            cells = [f1_and_lead(methods[method]) for methods in table.values()]
            lines.append(_row(method, cells, width=14))
        lines.append("")
    lines.append(_what_was_left_out(storyboard))
    return "\n".join(lines)


def _of_measures(
    tables: MeasureTables, measures: Sequence[str]
) -> dict[str, dict[str, MeasureFigures]]:
    by_name = tables.by_name().items()
    return {name: methods for name, methods in by_name if name.partition("-")[0] in measures}


def f1_and_lead(figures: MeasureFigures) -> str:
    """Write F1, and its distance to the equal split with the same number: `50.7 (+3.2)`."""
    lead = lead_over_split(figures, n_seeds=1)
    return f"{figures.f1.mean:.1f} ({'0.0' if lead.is_level else f'{lead.points:+.1f}'})"


def _what_was_left_out(storyboard: StoryboardFigures) -> str:
    scored = f"storyboards scored: {storyboard.recordings}"
    left_out = f"; left out because no key step is labelled: {storyboard.left_out}"
    return scored + (left_out if storyboard.left_out else "") + "\n"


def f1_and_iou(figures: MethodFigures) -> str:
    """Write F1 with its spread over seeds, and IoU: `50.7 ±3.7 / 33.1`."""
    return f"{figure_text(figures.f1)} / {figures.iou.mean:.1f}"


def verdict_text(results: Results, protocol: str = HEADLINE) -> str:
    """Compare all methods with the best null baseline; empty if there is nothing to compare."""
    verdict = judge(results, protocol)
    if verdict.null is None or not verdict.leads:
        return ""
    methods = results.protocols[protocol]
    null_f1 = figure_text(methods[verdict.null].f1)
    lines = [f"{protocol} F1; the best null baseline, {verdict.null}, has {null_f1}"]
    for name, lead in verdict.leads.items():
        text = f"{name} {figure_text(methods[name].f1)}: {lead.distance}{lead.judgement}"
        lines += textwrap.wrap(
            text, TERMINAL_COLUMNS, initial_indent="  ", subsequent_indent="    "
        )
    return "\n".join(lines)


def more_tables(results: Results) -> list[str]:
    """Write groups of tasks, tasks, sweeps and task metrics, where there are any."""
    tables = [*_breakdown("groups", results.groups), *_breakdown("tasks", results.tasks)]
    for what, points in results.sweeps.items():
        tables += _breakdown(what, points)
    return [
        *tables,
        *(_metric_table(name, metric) for name, metric in results.task_metrics.items()),
    ]


def _breakdown(what: str, points: Mapping[str, Scored]) -> list[str]:
    """Write points down, methods across, and F1 only: there is no room for IoU."""
    if not points:
        return []
    tables = []
    for protocol in ("egoprocel", HEADLINE):
        tables_here = [point.protocols[protocol] for point in points.values()]
        methods = list(dict.fromkeys(method for table in tables_here for method in table))
        names = max(20, *(len(point) + 1 for point in points))
        lines = [f"{what}, protocol {protocol}: F1 in percent"]
        for columns in _fitting(methods, 19, names):
            lines.append(_row("", columns, 19, names))
            for point, table in zip(points, tables_here, strict=True):
                cells = [figure_text(table[m].f1) if m in table else "–" for m in columns]
                lines.append(_row(point, cells, 19, names))
        tables.append("\n".join(lines) + "\n")
    return tables


def _metric_table(name: str, metric: TaskMetric) -> str:
    methods = metric.methods
    figures = list(next(iter(methods.values())))
    names = max(len(figure) for figure in figures) + 1
    lines = textwrap.wrap(f"{name}: {metric.note}", TERMINAL_COLUMNS)
    for columns in _fitting(list(methods), 15, names):
        lines.append(_row("", columns, 15, names))
        for figure in figures:
            digits = digits_for([row[figure].mean for row in methods.values()])
            row = [figure_text(methods[method][figure], digits) for method in columns]
            lines.append(_row(figure, row, 15, names))
    return "\n".join(lines) + "\n"


def _row(name: str, cells: Sequence[str], width: int = 18, names: int = 20) -> str:
    cells = "".join(f"{text:>{width}}" if len(text) < width else f" {text}" for text in cells)
    return f"  {name:<{names}}{cells}"


def _fitting(columns: Sequence[str], width: int, names: int) -> Iterator[Sequence[str]]:
    """Split columns into tables that are no wider than a terminal."""
    n = max(1, (TERMINAL_COLUMNS - 2 - names) // width)
    for start in range(0, len(columns), n):
        yield columns[start : start + n]


def _ceilings(protocols: Protocols, names: Sequence[str]) -> list[str]:
    """Say how high F1 can be under a strict protocol with fewer clusters than steps."""
    lines = []
    for name in names:
        ceilings = [method.ceiling for method in protocols[name].values() if method.ceiling]
        ceiling = ceilings[0].mean if ceilings else None
        if ceiling is not None and ceiling < 100:
            lines.append(f"  ({name} cannot exceed {ceiling:.1f}: more steps than clusters)")
    return lines
