"""Make report.html: how methods score under every protocol, beside null baselines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from stepreel.evaluation.drawing import UNITS, Figures, group_methods, in_order, lay_out
from stepreel.evaluation.localization import PROTOCOLS, Protocol
from stepreel.evaluation.methods import LEARNED_METHODS, NULL_METHODS
from stepreel.evaluation.pictures import TaskPictures
from stepreel.evaluation.tables import digits_for
from stepreel.report.page import environment, inlined_style, sha256_source, template_text
from stepreel.report.palette import kind_of

HEADLINE = "strict"
REFERENCE = "equal-split"
_STYLES = ("shared.css", "evaluation.css")
_SCRIPTS = ("index.js", "evaluation.js")


@dataclass(frozen=True)
class Column:
    """A protocol in the headline table, with the most it allows and what an equal split gets."""

    protocol: Protocol
    ceiling: float
    reference: float | None
    best: float


@dataclass(frozen=True)
class Cell:
    """A method's F1 under a protocol.

    spread    over seeds; None where there is none
    lead      over an equal split; null baselines have none
    is_clear  the lead, or the lag, is larger than the spread
    """

    f1: float
    spread: float | None
    iou: float
    lead: float | None
    is_clear: bool
    is_best: bool


@dataclass(frozen=True)
class Verdict:
    """The best method that looks, or was given, and the best null baseline; headline protocol."""

    learned: str | None
    null: str | None
    lead: float
    spread: float


@dataclass(frozen=True)
class Metric:
    """A score other than localization: one row per method."""

    name: str
    note: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


def render_evaluation(results: dict[str, Any], pictures: Sequence[TaskPictures]) -> str:
    """Return the one-file page of `results`, which have the form of results.json."""
    protocols, n_seeds = results["protocols"], len(results["settings"]["seeds"])
    groups = group_methods(list(protocols[HEADLINE]))
    columns = _columns(protocols)
    views = [lay_out(one, _protocols_of(results, one.task)[HEADLINE]) for one in pictures]
    n_kinds = max((sum(s.kind is not None for s in view.steps) for view in views), default=0)
    style = inlined_style(_STYLES, kinds=[kind_of(number) for number in range(n_kinds)])
    theme_script = Markup(template_text("theme.js"))
    script = Markup("\n".join(template_text(name) for name in _SCRIPTS))
    return (
        environment()
        .get_template("evaluation.html.j2")
        .render(
            cells=_cells(protocols, columns, n_seeds),
            columns=columns,
            content_policy=_content_policy(style, theme_script, script),
            groups=groups,
            headline=HEADLINE,
            json=lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str),
            is_trained=any(method in LEARNED_METHODS for method in protocols[HEADLINE]),
            learned=[method for method in protocols[HEADLINE] if method not in NULL_METHODS],
            methods=in_order(list(protocols[HEADLINE])),
            methods_at=_methods_at,
            metrics=[_metric(*one) for one in results.get("task_metrics", {}).items()],
            n_seeds=n_seeds,
            in_order=in_order,
            reference=REFERENCE,
            results=results,
            script=script,
            style=style,
            theme_script=theme_script,
            units=UNITS,
            verdict=_verdict(protocols[HEADLINE]),
            views=views,
        )
    )


def _content_policy(style: str, *scripts: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            "img-src data:",
            f"style-src {sha256_source(style)}",
            f"script-src {' '.join(map(sha256_source, scripts))}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _protocols_of(results: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """Return a task's own figures; where it is the only one, they are everybody's."""
    own: Mapping[str, Any] = results.get("tasks", {}).get(task, results)["protocols"]
    return own


def _methods_at(points: Mapping[str, Mapping[str, Any]], protocol: str) -> list[str]:
    """Return every method that has figures at one of the points of a sweep, or in one task."""
    there = {m: None for point in points.values() for m in point["protocols"][protocol]}
    return in_order(list(there))


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
                reference=methods[REFERENCE]["f1"]["mean"] if REFERENCE in methods else None,
                best=max((figures["f1"]["mean"] for figures in methods.values()), default=0.0),
            )
        )
    return columns


def _cells(
    protocols: Mapping[str, Mapping[str, Figures]], columns: Sequence[Column], n_seeds: int
) -> dict[str, dict[str, Cell]]:
    def cell(method: str, column: Column) -> Cell:
        figures = protocols[column.protocol.name][method]
        f1, std = figures["f1"]["mean"], figures["f1"]["std"]
        is_compared = method not in NULL_METHODS and column.reference is not None
        lead = f1 - (column.reference or 0.0)
        return Cell(
            f1=f1,
            spread=std if n_seeds > 1 and std >= 0.05 else None,
            iou=figures["iou"]["mean"],
            lead=lead if is_compared else None,
            is_clear=abs(lead) > std,
            is_best=round(f1, 1) == round(column.best, 1),
        )

    return {
        column.protocol.name: {m: cell(m, column) for m in protocols[column.protocol.name]}
        for column in columns
    }


def _verdict(methods: Mapping[str, Figures]) -> Verdict:
    def best(names: Sequence[str]) -> str | None:
        return max(names, key=lambda name: methods[name]["f1"]["mean"], default=None)

    learned = best([method for method in methods if method not in NULL_METHODS])
    null = best([method for method in methods if method in NULL_METHODS])
    if learned is None or null is None:
        return Verdict(learned, null, 0.0, 0.0)
    one, other = methods[learned]["f1"], methods[null]["f1"]
    return Verdict(learned, null, one["mean"] - other["mean"], max(one["std"], other["std"]))


def _metric(name: str, content: Mapping[str, Any]) -> Metric:
    note = content.get("note", "")
    methods = content.get("methods") or {key: v for key, v in content.items() if key != "note"}
    leaves = {method: dict(_leaves(figures)) for method, figures in methods.items()}
    columns = list(dict.fromkeys(path for row in leaves.values() for path in row))
    digits = {
        path: digits_for([_mean(row[path]) for row in leaves.values() if path in row])
        for path in columns
    }
    rows = [
        (method, [_figure(row.get(path), digits[path]) for path in columns])
        for method, row in leaves.items()
    ]
    return Metric(name, str(note), columns, rows)


def _leaves(figures: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield "a · b": leaf for nested figures; a leaf is a spread, a number or a text."""
    if not isinstance(figures, Mapping) or "mean" in figures:
        yield path or "value", figures
        return
    for name, inner in figures.items():
        yield from _leaves(inner, f"{path} · {name}" if path else str(name))


def _mean(leaf: Any) -> Any:
    return leaf["mean"] if isinstance(leaf, Mapping) else leaf


def _figure(leaf: Any, digits: int) -> str:
    """Write a leaf as text.

    >>> _figure({"mean": 50.68, "std": 3.7, "seeds": [47.0, 54.4]}, 1), _figure(None, 1)
    ('50.7 ±3.7', '–')
    """
    mean = _mean(leaf)
    if not isinstance(mean, int | float):
        return "–" if mean is None else str(mean)
    std = leaf.get("std") if isinstance(leaf, Mapping) else None
    spread = f" ±{std:.{digits or 1}f}" if std else ""
    return f"{mean:.{digits}f}{spread}".replace("-", "−")
