"""Results as plain text: methods down; protocols, figures, or points of a sweep across."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stepreel.evaluation.methods.catalog import NULL_METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.scores import FIGURES
from stepreel.evaluation.report.layout import best_null

TERMINAL = 80  # columns
_STRICT_FIRST = sorted(PROTOCOLS.values(), key=lambda one: not one.strict)
TOGETHER = [one.name for one in _STRICT_FIRST if not one.each_recording]
ALONE = [one.name for one in _STRICT_FIRST if one.each_recording]
SHORT = {
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


def cell(figures: Mapping[str, Any], n_seeds: int) -> str:
    """Write F1, its spread where there are several seeds, and IoU.

    >>> cell({"f1": {"mean": 50.68, "std": 3.7}, "iou": {"mean": 33.1, "std": 3.0}}, 3)
    '50.7 ±3.7 / 33.1'
    """
    f1, iou = figures["f1"], figures["iou"]
    spread = f" ±{f1['std']:.1f}" if n_seeds > 1 and f1["std"] >= 0.05 else ""
    return f"{f1['mean']:.1f}{spread} / {iou['mean']:.1f}"


def digits_for(means: Sequence[object]) -> int:
    """Write counts in full, percentages with one digit, and figures of the size of 1 with three.

    >>> digits_for([2.0, 0.0]), digits_for([50.68, None]), digits_for([1.0, -0.25])
    (0, 1, 3)
    """
    numbers = [float(mean) for mean in means if isinstance(mean, int | float)]
    if all(number.is_integer() for number in numbers):
        return 0
    return 1 if max(map(abs, numbers)) > 2 else 3


def text_table(protocols: Mapping[str, Any], n_seeds: int) -> str:
    """Write all figures under each protocol, then F1 and IoU under all: what comes last is seen."""
    lines: list[str] = []
    for name, methods in protocols.items():
        lines += [f"{name}, in percent", _row("", [SHORT[f] for f in FIGURES], width=6)]
        for method, figures in methods.items():
            means = [f"{figures[figure]['mean']:.1f}" for figure in FIGURES]
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
            cells = [cell(protocols[name][method], n_seeds) for name in names]
            lines.append(_row(method, cells))
        lines += _ceilings(protocols, names)
        lines.append("")
    return "\n".join(lines)


def verdict(methods: Mapping[str, Any], protocol: str, n_seeds: int) -> str:
    """Say what was gained over the best null baseline; empty if there is nothing to compare."""
    best = best_null(methods)
    others = [name for name in methods if name not in NULL_METHODS]
    if best is None or not others:
        return ""
    lines = [f"{protocol} F1; the best null baseline, {best}, has {_f1(methods[best], n_seeds)}"]
    for name in others:
        gain = methods[name]["f1"]["mean"] - methods[best]["f1"]["mean"]
        than = "more" if gain >= 0 else "less"
        lines.append(_row(name, [_f1(methods[name], n_seeds), f"{abs(gain):.1f} {than}"], 12))
    return "\n".join(lines)


def folded(notes: Sequence[str]) -> list[str]:
    """Say what is the same of several recordings ("NAME: what it is") once.

    >>> folded(["a: is short", "b: is short", "c: is long"])
    ['2 recordings (a, b): is short', 'c: is long']
    """
    of: dict[str, list[str]] = {}
    for note in notes:
        name, colon, what = note.partition(": ")
        of.setdefault(what if colon else note, []).append(name if colon else "")
    return [
        ": ".join(filter(None, [names[0], what]))
        if len(names) == 1
        else f"{len(names)} recordings ({textwrap.shorten(', '.join(names), 60)}): {what}"
        for what, names in of.items()
    ]


def _row(name: str, cells: Sequence[str], width: int = 18, names: int = 20) -> str:
    return f"  {name:<{names}}" + "".join(f"{text:>{width}}" for text in cells)


def _fitting(items: Sequence[str], width: int, names: int) -> Iterator[Sequence[str]]:
    """Part items so that a row of them is no wider than a terminal."""
    n = max(1, (TERMINAL - 2 - names) // width)
    for start in range(0, len(items), n):
        yield items[start : start + n]


def _ceilings(protocols: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Say how much F1 a strict protocol allows with so few clusters, where that is not all."""
    said = []
    for name in names:
        methods = protocols[name]
        if not PROTOCOLS[name].strict or not methods:
            continue
        ceiling = next(iter(methods.values()))["ceiling"]["mean"]
        if ceiling < 100:
            said.append(f"  ({name} cannot exceed {ceiling:.1f}: more steps than clusters)")
    return said


def extra_tables(results: Mapping[str, Any], n_seeds: int) -> list[str]:
    """Write tasks and groups of tasks, sweeps, and task metrics, where there are any."""
    texts = []
    for what in ("groups", "tasks"):
        if what in results:
            texts += _across(what, results[what], n_seeds)
    for what, points in results.get("sweeps", {}).items():
        texts += _across(what, points, n_seeds)
    for what, found in results.get("task_metrics", {}).items():
        texts.append(_metric(what, found))
    return texts


def _across(what: str, points: Mapping[str, Any], n_seeds: int) -> list[str]:
    """Write points down, methods across, F1 alone: IoU would leave no room."""
    texts = []
    for protocol in ("egoprocel", "strict"):
        there = [point["protocols"][protocol] for point in points.values()]
        methods = list(dict.fromkeys(method for own in there for method in own))
        names = max(20, *(len(point) + 1 for point in points))
        lines = [f"{what}, protocol {protocol}: F1 in percent"]
        for shown in _fitting(methods, 19, names):
            lines.append(_row("", shown, 19, names))
            for point, found in points.items():
                figures = [found["protocols"][protocol].get(method) for method in shown]
                lines.append(_row(point, [_f1(one, n_seeds) for one in figures], 19, names))
        texts.append("\n".join(lines) + "\n")
    return texts


def _f1(figures: Mapping[str, Any] | None, n_seeds: int) -> str:
    return "–" if figures is None else cell(figures, n_seeds).partition(" /")[0]


def _metric(what: str, found: Mapping[str, Any]) -> str:
    methods = found["methods"]
    figures_of = list(next(iter(methods.values())))
    names = max(len(name) for name in figures_of) + 1
    lines = textwrap.wrap(f"{what}: {found['note']}", TERMINAL)
    for shown in _fitting(list(methods), 15, names):
        lines.append(_row("", shown, 15, names))
        for name in figures_of:
            digits = digits_for([own[name]["mean"] for own in methods.values()])
            row = [_value(methods[method][name], digits) for method in shown]
            lines.append(_row(name, row, 15, names))
    return "\n".join(lines) + "\n"


def _value(figure: Mapping[str, Any], digits: int) -> str:
    if figure["mean"] is None:
        return "–"
    spread = f" ±{figure['std']:.{digits}f}"
    shown = spread if any(letter in "123456789" for letter in spread) else ""
    return f"{figure['mean']:.{digits}f}{shown}"
