"""docs/results.md and the pages below docs/results/: figures put into the templates' places."""

from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path

from calibrate_tables import confidence_block
from paper_tables import TABLES, PaperTable, Published
from results_markdown import (
    PAGE_WIDTH,
    cell,
    code_block,
    f1_text,
    figure_text,
    markdown,
    narrow_tables,
)
from results_sets import ANNOTATIONS_ONLY, SETS, shown_command
from results_storyboards import storyboard_pieces

from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.report.figures import digits_for
from stepreel.evaluation.report.verdict import judge
from stepreel.evaluation.results import MethodTable, Results, Scored, TaskMetric
from stepreel.system.files import write_text
from stepreel.version import __version__

TEMPLATES = Path(__file__).parent / "results_templates"
ENTRY = "results"  # the page that links to all others
LEARNED = ("paper", "stepreel")
GROUPS = {
    "meccano": "MECCANO",
    "epic-tents": "EPIC-Tents",
    "egtea": "EGTEA",
    "cmu-mmac": "CMU*",
    "pc-assembly": "PC assembly",
    "pc-disassembly": "PC disassembly",
}
PUBLISHED = {
    "STEPs": ("36.4/18.0", "42.2/21.4", "30.8/12.4", "28.3/11.4", "–", "–"),
    "CnC": ("18.1/7.8", "17.2/8.3", "21.7/9.5", "22.7/11.1", "25.1/12.8", "27.0/14.8"),
}


def headline_table(measured: dict[str, Results]) -> str:
    """One row per set: `strict` F1 beside the null baselines and the ceiling."""
    rows = []
    for dataset in SETS:
        results = measured[dataset.name]
        methods = results.protocols["strict"]
        null = judge(results).null
        assert null is not None
        texts = {
            "equal-split": f1_text(methods["equal-split"]),
            null: f1_text(methods[null]),
            **{method: f1_text(methods[method]) for method in LEARNED},
        }
        highest = max(texts, key=lambda method: methods[method].f1.mean)
        texts[highest] = f"**{texts[highest]}**"
        rows.append(
            [
                dataset.title,
                str(results.n_recordings),
                texts["equal-split"],
                f"{texts[null]} (`{null}`)",
                *(texts[method] for method in LEARNED),
                f"{ceiling(methods):.1f}",
            ]
        )
    head = ["set", "takes", "equal split", "best null baseline", *LEARNED, "ceiling"]
    return markdown(head, rows)


def verdict(measured: dict[str, Results]) -> str:
    """Count the sets on which a learned method is clearly above the best null baseline."""
    verdicts = [judge(measured[dataset.name]) for dataset in SETS]

    def wins(method: str) -> int:
        leads = [verdict.leads[method] for verdict in verdicts]
        return sum(lead.is_clear and lead.points > 0 for lead in leads)

    return (
        f"By more than the spread over seeds, `stepreel` beats the best of seven null baselines on "
        f"{wins('stepreel')} of\n{len(SETS)} sets, and the paper's method beats it on "
        f"{wins('paper')}:"
    )


def protocol_table(protocol: str, measured: dict[str, Results]) -> str:
    """Methods down, sets across; the highest F1 of a set in bold."""
    tables = {dataset.title: measured[dataset.name].protocols[protocol] for dataset in SETS}
    names = [f"`{method}`" for method in METHODS.own]
    columns = {}
    for title, methods in tables.items():
        highest = max(methods, key=lambda method: methods[method].f1.mean)
        columns[title] = [cell(methods.get(m), best=m == highest) for m in METHODS.own]
        if PROTOCOLS[protocol].strict:
            columns[title].append(f"{ceiling(methods):.1f}")
    if PROTOCOLS[protocol].strict:
        names.append("F1 at most")
    return narrow_tables("F1 / IoU", columns, names)


def ceiling(methods: MethodTable) -> float:
    """Return the highest F1 that a strict protocol allows with this many clusters."""
    highest = next(iter(methods.values())).ceiling
    assert highest is not None
    return highest.mean


def uniform_table(results: Results) -> str:
    """Null rows on the true annotations beside what was published."""
    methods = ("random", "concatenated-split", "equal-split", "one-cluster")
    rows = []
    for number, (group, title) in enumerate(GROUPS.items()):
        own = results.groups[group].protocols["egoprocel"]
        published = [figures[number] for figures in PUBLISHED.values()]
        rows.append([title, *(cell(own[method]) for method in methods), *published])
    return markdown(["F1 / IoU", *(f"`{method}`" for method in methods), *PUBLISHED], rows)


def pooled_table(results: Results) -> str:
    """One cluster for everything against an equal split, protocol by protocol, on MECCANO."""
    table = results.groups["meccano"].protocols
    methods = ("equal-split", "one-cluster")
    rows = [[f"`{p}`", *(cell(table[p][m]) for m in methods)] for p in PROTOCOLS]
    return markdown(["protocol", *(f"`{m}`" for m in methods)], rows)


def sweep_table(points: dict[str, Scored], protocol: str, what: str) -> str:
    """Methods down, points of the sweep across."""
    scored = {point: results.protocols[protocol] for point, results in points.items()}
    methods = list(next(iter(scored.values())))
    columns = {point: [cell(table[m]) for m in methods] for point, table in scored.items()}
    return narrow_tables(what, columns, [f"`{method}`" for method in methods])


def metric_table(metric: TaskMetric) -> str:
    """Write one task metric: figures down, methods across."""
    methods = metric.methods
    rows = []
    for figure in next(iter(methods.values())):
        values = [methods[m][figure] for m in methods]
        digits = digits_for([v.mean for v in values])
        rows.append([figure, *(figure_text(v, digits) for v in values)])
    return markdown(["", *(f"`{m}`" for m in methods)], rows)


def commit() -> str:
    """Return the commit the figures are made with."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def cad_table(results: Results, protocol: str) -> str:
    """Methods down, activities across."""
    columns = {
        task: [cell(own.protocols[protocol].get(m)) for m in METHODS.own]
        for task, own in results.tasks.items()
    }
    return narrow_tables("F1 / IoU", columns, [f"`{m}`" for m in METHODS.own])


def paper_text(ego: Results) -> str:
    """Write the paper's tables; of ours, only null rows on annotations could be measured."""
    return "\n".join(_paper_table(table, ego) for table in TABLES)


def _paper_table(table: PaperTable, ego: Results) -> str:
    """One row per published figure; commands follow below, each once, by number."""
    commands = list(dict.fromkeys(row.command for row in table.rows))

    def ours(row: Published) -> str:
        if row.measured is None:
            return "–"
        group, method = row.measured
        return cell(ego.groups[group].protocols["egoprocel"][method])

    has_ours = any(row.measured for row in table.rows)
    rows = [
        [
            row.row,
            row.figures,
            *([ours(row)] if has_ours else []),
            str(1 + commands.index(row.command)),
        ]
        for row in table.rows
    ]
    head = ["row", "published", *(["ours"] if has_ours else []), "command"]
    note = f"{textwrap.fill(table.note, PAGE_WIDTH)}\n\n" if table.note else ""
    block = code_block([f"stepreel {c}  # {n}" for n, c in enumerate(commands, start=1)])
    return f"## {table.title}\n\n{note}{markdown(head, rows)}\n{block}"


def commands_text(measured: dict[str, Results], extras: dict[str, Results], seeds: int) -> str:
    """One row per evaluation, then the commands in the same order."""
    rows, commands = [], []
    for dataset in (*SETS, *ANNOTATIONS_ONLY):
        for results, extra in (
            (measured.get(dataset.name), False),
            (extras.get(dataset.name), True),
        ):
            if results is not None:
                command = shown_command(dataset, seeds=seeds, extra=extra)
                commands.append(f"stepreel evaluate {command}")
                fingerprint = f"`{results.data_fingerprint[:12]}`"
                output = f"`{command.split()[-1]}`"
                rows.append([dataset.title, str(results.n_recordings), fingerprint, output])
    table = markdown(["set", "recordings", "data", "results in"], rows)
    return f"{table}\n{code_block(commands)}"


def pages(measured: dict[str, Results], extras: dict[str, Results], seeds: int) -> dict[str, str]:
    """Return the text of every page by its name; `ENTRY` is the first to read."""
    ego = measured["egoprocel"]
    sweeps = extras["suturing"].sweeps
    pieces = {
        "version": f"{__version__}, commit {commit()}",
        "seeds": str(seeds),
        "verdict": verdict(measured),
        "headline": headline_table(measured),
        "confidence": confidence_block(),
        "commands": commands_text(measured, extras, seeds),
        "uniform": uniform_table(ego),
        "pooled": pooled_table(ego),
        **{
            f"clusters {name}": sweep_table(extras[name].sweeps["clusters"], "egoprocel", "K")
            for name in ("meccano", "epic-tents")
        },
        "clusters": sweep_table(sweeps["clusters"], "egoprocel", "K"),
        "clusters_strict": sweep_table(sweeps["clusters"], "strict", "K"),
        "cues": sweep_table(sweeps["cues"], "egoprocel", "cues at inference"),
        "recordings": sweep_table(sweeps["recordings"], "egoprocel", "trained on"),
        "cad": cad_table(measured["cad120"], "egoprocel"),
        "paper": paper_text(ego),
        **{f"protocol {name}": protocol_table(name, measured) for name in PROTOCOLS},
        **storyboard_pieces(measured),
    }
    for name in ("suturing", "openpack", "breakfast"):
        for metric, own in extras[name].task_metrics.items():
            pieces[f"{metric} {name}"] = metric_table(own)
            pieces[f"note {metric}"] = textwrap.fill(f"In the tables: {own.note}.", PAGE_WIDTH)
    return fill_templates(pieces)


def fill_templates(pieces: dict[str, str]) -> dict[str, str]:
    """Put every piece into the places that are named after it; none may be left over."""
    templates = {path.stem: path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.md")}
    everything = "".join(templates.values())
    if unknown := [name for name in pieces if f"<<{name}>>" not in everything]:
        raise SystemExit(f"{TEMPLATES.name}: no page has a place for {', '.join(unknown)}")
    if empty := set(re.findall(r"<<([^>]+)>>", everything)) - set(pieces):
        raise SystemExit(f"{TEMPLATES.name}: nothing to put into {', '.join(sorted(empty))}")
    for page, text in templates.items():
        for name, piece in pieces.items():
            text = text.replace(f"<<{name}>>", piece.rstrip("\n"))
        templates[page] = text
    return templates


def write_pages(entry: Path, texts: dict[str, str]) -> list[Path]:
    """Write the entry page, and all others into the folder beside it that is named like it."""
    files = []
    for page, text in texts.items():
        path = entry if page == ENTRY else entry.with_suffix("") / f"{page}.md"
        write_text(path, text)
        files.append(path)
    return sorted(files)
