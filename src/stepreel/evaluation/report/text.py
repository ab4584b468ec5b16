"""Results as plain text: methods down; protocols, figures, or points of a sweep across.

Written without rich: a table must stay the same in a pipe, in a file and in 80 columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.prediction_scores import FIGURES
from stepreel.evaluation.report.figures import digits_for, figure_text
from stepreel.evaluation.report.verdict import HEADLINE, judge
from stepreel.evaluation.results import MethodFigures, Protocols, Results, Scored, TaskMetric

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
    return f"  {name:<{names}}" + "".join(f"{text:>{width}}" for text in cells)


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
