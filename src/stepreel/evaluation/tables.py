"""Results as plain text: methods down, protocols across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepreel.evaluation.localization import PROTOCOLS

TOGETHER = [name for name, one in PROTOCOLS.items() if not one.each_recording]
ALONE = [name for name, one in PROTOCOLS.items() if one.each_recording]


def cell(figures: Mapping[str, Any], n_seeds: int) -> str:
    """Write F1, its spread where there are several seeds, and IoU.

    >>> cell({"f1": {"mean": 50.68, "std": 3.7}, "iou": {"mean": 33.1, "std": 3.0}}, 3)
    '50.7 ±3.7 / 33.1'
    """
    f1, iou = figures["f1"], figures["iou"]
    spread = f" ±{f1['std']:.1f}" if n_seeds > 1 and f1["std"] > 0 else ""
    return f"{f1['mean']:.1f}{spread} / {iou['mean']:.1f}"


def text_table(protocols: Mapping[str, Any], n_seeds: int) -> str:
    """Write one block for recordings clustered together, and one for each by itself."""
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
        ceilings = _ceilings(protocols, names)
        if ceilings:
            lines.append(ceilings)
        lines.append("")
    return "\n".join(lines)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"  {name:<20}" + "".join(f"{text:>24}" for text in cells)


def _ceilings(protocols: Mapping[str, Any], names: Sequence[str]) -> str:
    """Say how much F1 a strict protocol allows with so few clusters, where that is not all."""
    said = []
    for name in names:
        methods = protocols[name]
        if not PROTOCOLS[name].strict or not methods:
            continue
        ceiling = next(iter(methods.values()))["ceiling"]["mean"]
        if ceiling < 100:
            said.append(f"{name} cannot exceed {ceiling:.1f}: there are more steps than clusters")
    return "".join(f"  ({text})" for text in said)


def extra_tables(results: Mapping[str, Any], n_seeds: int) -> list[str]:
    """Write sweeps (F1 / IoU; points down, methods across) and task metrics, if any."""
    texts = []
    for what, points in results.get("sweeps", {}).items():
        for protocol in ("egoprocel", "strict"):
            methods = list(next(iter(points.values()))["protocols"][protocol])
            lines = [f"{what}, protocol {protocol}: F1 / IoU in percent", _row("", methods)]
            for point, found in points.items():
                figures = found["protocols"][protocol]
                lines.append(_row(point, [cell(figures[m], n_seeds) for m in methods]))
            texts.append("\n".join(lines) + "\n")
    for what, found in results.get("task_metrics", {}).items():
        names = list(next(iter(found["methods"].values())))
        lines = [f"{what}: {found['note']}"]
        for name in names:
            row = [f"{m} {_value(figures[name])}" for m, figures in found["methods"].items()]
            lines.append(f"  {name:<24}" + "   ".join(row))
        texts.append("\n".join(lines) + "\n")
    return texts


def _value(figure: Mapping[str, Any]) -> str:
    small = abs(figure["mean"]) < 2
    digits = 3 if small else 1
    spread = f" ±{figure['std']:.{digits}f}" if figure["std"] > 0 else ""
    return f"{figure['mean']:.{digits}f}{spread}"
