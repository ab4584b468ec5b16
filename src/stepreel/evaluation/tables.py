"""Results as plain text: methods down; protocols, figures, or points of a sweep across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepreel.evaluation.localization import PROTOCOLS
from stepreel.evaluation.scores import FIGURES

TOGETHER = [name for name, one in PROTOCOLS.items() if not one.each_recording]
ALONE = [name for name, one in PROTOCOLS.items() if one.each_recording]
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
    """Write F1 and IoU under every protocol, then all figures under each."""
    blocks = [
        ("all recordings of a task clustered together", TOGETHER),
        ("every recording clustered by itself", ALONE),
    ]
    lines: list[str] = []
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
    for name, methods in protocols.items():
        lines += [f"{name}, in percent", _row("", [SHORT[f] for f in FIGURES], width=8)]
        for method, figures in methods.items():
            means = [f"{figures[figure]['mean']:.1f}" for figure in FIGURES]
            lines.append(_row(method, means, width=8))
        lines.append("")
    return "\n".join(lines)


def _row(name: str, cells: Sequence[str], width: int = 24, names: int = 20) -> str:
    return f"  {name:<{names}}" + "".join(f"{text:>{width}}" for text in cells)


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
    """Write points down, methods across, F1 alone: IoU would make it too wide for a terminal."""
    texts = []
    for protocol in ("egoprocel", "strict"):
        there = [point["protocols"][protocol] for point in points.values()]
        methods = list(dict.fromkeys(method for own in there for method in own))
        names = max(20, *(len(point) + 1 for point in points))
        lines = [f"{what}, protocol {protocol}: F1 in percent"]
        for start in range(0, len(methods), 4):
            shown = methods[start : start + 4]
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
    width = max(len(name) for name in figures_of) + 1
    lines = [f"{what}: {found['note']}", _row("", list(methods), 15, width)]
    for name in figures_of:
        digits = digits_for([own[name]["mean"] for own in methods.values()])
        row = [_value(figures[name], digits) for figures in methods.values()]
        lines.append(_row(name, row, 15, width))
    return "\n".join(lines) + "\n"


def _value(figure: Mapping[str, Any], digits: int) -> str:
    if figure["mean"] is None:
        return "–"
    spread = f" ±{figure['std']:.{digits}f}"
    shown = spread if any(letter in "123456789" for letter in spread) else ""
    return f"{figure['mean']:.{digits}f}{shown}"
