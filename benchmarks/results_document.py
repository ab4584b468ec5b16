"""docs/results.md from figures: tables in Markdown, put into the places of its template."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper_tables import TABLES, Published
from results_sets import LABELS_ALONE, SETS, shown

from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.report.text import digits_for
from stepreel.version import __version__

Results = dict[str, Any]
TEMPLATE = Path(__file__).parent / "results_template.md"
GROUPS = {
    "meccano": "MECCANO",
    "epic-tents": "EPIC-Tents",
    "egtea": "EGTEA",
    "cmu-mmac": "CMU*",
    "pc-assembly": "PC assembly",
    "pc-disassembly": "PC disassembly",
}
PUBLISHED = {
    "STEPs, as published": ("36.4/18.0", "42.2/21.4", "30.8/12.4", "28.3/11.4", "–", "–"),
    "CnC, as published": (
        "18.1/7.8",
        "17.2/8.3",
        "21.7/9.5",
        "22.7/11.1",
        "25.1/12.8",
        "27.0/14.8",
    ),
}


def cell(figures: dict[str, Any] | None, *, best: bool = False) -> str:
    """Write F1 ± spread / IoU."""
    if figures is None:
        return "–"
    f1, iou = figures["f1"], figures["iou"]
    spread = f" ± {f1['std']:.1f}" if f1["std"] >= 0.05 else ""
    text = f"{f1['mean']:.1f}{spread} / {iou['mean']:.1f}"
    return f"**{text}**" if best else text


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def protocol_table(protocol: str, found: dict[str, Results]) -> str:
    """Methods down, sets across; the highest F1 of a set in bold."""
    columns = [one for one in SETS if one.name in found]
    tables = {one.name: found[one.name]["protocols"][protocol] for one in columns}
    highest = {name: max(t, key=lambda m: t[m]["f1"]["mean"]) for name, t in tables.items()}
    rows = [
        [f"`{m}`", *(cell(tables[c.name].get(m), best=highest[c.name] == m) for c in columns)]
        for m in METHODS
    ]
    if PROTOCOLS[protocol].strict:
        rows.append(["F1 at most", *(f"{ceiling(tables[c.name]):.1f}" for c in columns)])
    return markdown(["F1 / IoU", *(one.title for one in columns)], rows)


def ceiling(methods: dict[str, Any]) -> float:
    """Return what a strict protocol allows with so many clusters."""
    highest: float = next(iter(methods.values()))["ceiling"]["mean"]
    return highest


def uniform_table(results: Results) -> str:
    """Null rows on the true annotations beside what was published."""
    rows = []
    for method in ("random", "concatenated-split", "equal-split", "one-cluster"):
        own = [results["groups"][group]["protocols"]["egoprocel"][method] for group in GROUPS]
        rows.append([f"`{method}`", *(cell(figures) for figures in own)])
    rows += [[name, *figures] for name, figures in PUBLISHED.items()]
    return markdown(["F1 / IoU", *GROUPS.values()], rows)


def pooled_table(results: Results) -> str:
    """One cluster for everything against an equal split, protocol by protocol, on MECCANO."""
    table = results["groups"]["meccano"]["protocols"]
    rows = [
        [f"`{m}`", *(cell(table[p][m]) for p in PROTOCOLS)] for m in ("equal-split", "one-cluster")
    ]
    return markdown(["MECCANO, F1 / IoU", *(f"`{p}`" for p in PROTOCOLS)], rows)


def sweep_table(points: dict[str, Any], protocol: str, what: str) -> str:
    methods = list(next(iter(points.values()))["protocols"][protocol])
    rows = [
        [point, *(cell(found["protocols"][protocol][m]) for m in methods)]
        for point, found in points.items()
    ]
    return markdown([what, *(f"`{m}`" for m in methods)], rows)


def metric_table(metric: dict[str, Any]) -> str:
    """Write one task metric: how to read it, then figures down, methods across."""
    methods = metric["methods"]
    rows = []
    for figure in next(iter(methods.values())):
        values = [methods[m][figure] for m in methods]
        digits = digits_for([v["mean"] for v in values])
        rows.append([figure, *(spread_text(v, digits) for v in values)])
    return f"({metric['note']})\n\n" + markdown(["", *(f"`{m}`" for m in methods)], rows)


def spread_text(figure: dict[str, Any], digits: int) -> str:
    if figure["mean"] is None:
        return "–"
    spread = f" ± {figure['std']:.{digits}f}" if figure["std"] >= 0.5 * 10**-digits else ""
    return f"{figure['mean']:.{digits}f}{spread}"


def commit() -> str:
    """Return the commit the figures are made with."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def cad_table(results: Results, protocol: str) -> str:
    rows = [
        [task, *(cell(own["protocols"][protocol].get(m)) for m in METHODS)]
        for task, own in results["tasks"].items()
    ]
    return markdown([f"`{protocol}`, F1 / IoU", *(f"`{m}`" for m in METHODS)], rows)


def paper_text(ego: Results) -> str:
    """Write the paper's tables; of ours, only null rows on annotations could be measured."""

    def ours(row: Published) -> str:
        if row.measured is None:
            return "data not available here"
        group, method = row.measured
        return cell(ego["groups"][group]["protocols"]["egoprocel"][method])

    parts = []
    for table in TABLES:
        rows = [[r.row, r.figures, f"`{r.command}`", ours(r)] for r in table.rows]
        note = f"{table.note}\n\n" if table.note else ""
        parts.append(
            f"### {table.title}\n\n{note}"
            + markdown(["row", "published", "`stepreel …`", "ours"], rows)
        )
    return "\n".join(parts)


def commands_text(found: dict[str, Results], extras: dict[str, Results], seeds: int) -> str:
    rows = []
    for one in (*SETS, *LABELS_ALONE):
        for results, extra in ((found.get(one.name), False), (extras.get(one.name), True)):
            if results is not None:
                tasks = results["dataset"]["tasks"].values()
                rows.append(
                    [
                        one.title,
                        f"`{shown(one, seeds=seeds, extra=extra)}`",
                        str(sum(len(task["recordings"]) for task in tasks)),
                        f"`{results['data_fingerprint'][:12]}`",
                    ]
                )
    return markdown(["set", "`stepreel evaluate …`", "recordings", "data"], rows)


def document(found: dict[str, Results], extras: dict[str, Results], seeds: int) -> str:
    text = TEMPLATE.read_text(encoding="utf-8")
    ego = found["egoprocel"]
    sweeps = extras["suturing"]["sweeps"]
    pieces = {
        "version": f"{__version__}, commit {commit()}",
        "seeds": str(seeds),
        "commands": commands_text(found, extras, seeds),
        "uniform": uniform_table(ego),
        "pooled": pooled_table(ego),
        **{
            f"clusters {name}": sweep_table(extras[name]["sweeps"]["clusters"], "egoprocel", "K")
            for name in ("meccano", "epic-tents")
        },
        "clusters": sweep_table(sweeps["clusters"], "egoprocel", "K"),
        "clusters_strict": sweep_table(sweeps["clusters"], "strict", "K"),
        "cues": sweep_table(sweeps["cues"], "egoprocel", "cues at inference"),
        "recordings": sweep_table(sweeps["recordings"], "egoprocel", "trained on"),
        "cad": cad_table(found["cad120"], "egoprocel"),
        "paper": paper_text(ego),
        **{f"protocol {name}": protocol_table(name, found) for name in PROTOCOLS},
    }
    for name in ("suturing", "openpack", "breakfast"):
        for metric, own in extras[name]["task_metrics"].items():
            pieces[f"{metric} {name}"] = metric_table(own)
    if unknown := [name for name in pieces if f"<<{name}>>" not in text]:
        raise SystemExit(f"{TEMPLATE.name}: has no place for {', '.join(unknown)}")
    for name, piece in pieces.items():
        text = text.replace(f"<<{name}>>", piece.rstrip("\n"))
    if empty := re.findall(r"<<[^>]+>>", text):
        raise SystemExit(f"{TEMPLATE.name}: nothing to put into {', '.join(empty)}")
    return text
