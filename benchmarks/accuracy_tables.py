"""The tables of benchmarks/accuracy.py, and the page docs/results/decoders.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_tasks import TASK_SOURCES
from results_document import TEMPLATES, commit
from results_markdown import markdown

from stepreel.evaluation.metrics.storyboard_worth import MEASURES
from stepreel.evaluation.results import read_results
from stepreel.system.files import write_text
from stepreel.version import __version__

PAGE = Path(__file__).parent.parent / "docs" / "results" / "decoders.md"
TEMPLATE = TEMPLATES / "decoders.txt"
FOLDER_OF = {  # of benchmarks/results.py, by source
    "Suturing": "suturing",
    "Knot_Tying": "knot-tying",
    "Knot_Tying video": "knot-tying-video",
    "Bimacs": "bimacs",
    "CAD-120": "cad120",
    "OpenPack": "openpack",
    "coffee": "breakfast",
    "CaptainCook4D": "captaincook4d",
}
CHOSEN_ON = {folder for source in TASK_SOURCES for folder in source.choosing}
DECODERS = ("equal-split", "context-kmeans", "hmm", "clock")  # that `auto` can be compared with
BORDERS = tuple(measure for measure in MEASURES if measure != "coverage")
UNSEEN = ("Knot_Tying", "Knot_Tying video", "OpenPack", "coffee", "CaptainCook4D")

Row = dict[str, Any]
Pair = tuple[float, float]  # F1 of `strict` and of `egoprocel`


@dataclass
class Measured:
    """Everything that was measured.

    takes    by source and task: for every method one row per seed
    few      by task and number of takes: how far `auto` is above the equal split, one per draw
    alone    by source: rows of every recording by itself, cut by `changes`
    trained  the same with an embedding learned from that recording
    paper    by source: F1 of the paper's method
    """

    methods: Sequence[str]
    numbers: Sequence[int]
    takes: dict[tuple[str, str], dict[str, list[Row]]] = field(default_factory=dict)
    few: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    alone: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)
    trained: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)
    paper: Mapping[str, Pair] = field(default_factory=dict)

    def rows(self, way: str, source: str) -> list[tuple[int, Row]]:
        """Return the rows of single recordings of a source, to add to."""
        rows: dict[str, list[tuple[int, Row]]] = getattr(self, way)
        return rows.setdefault(source, [])

    def mean(self, task: tuple[str, str], method: str) -> Pair:
        """Return the F1 of a method on a task, mean over seeds."""
        rows = self.takes[task][method]
        strict, egoprocel = (float(np.mean([r[p] for r in rows])) for p in ("strict", "egoprocel"))
        return strict, egoprocel

    def of_source(self, source: str, method: str, *, only_unseen: bool = False) -> Pair:
        """Return the F1 of a method on a source, mean over its tasks."""
        tasks = [
            task
            for task in self.takes
            if task[0] == source and not (only_unseen and task[1] in CHOSEN_ON)
        ]
        strict, egoprocel = np.mean([self.mean(task, method) for task in tasks], axis=0)
        return float(strict), float(egoprocel)

    def sources(self) -> list[str]:
        """Return the names of all sources, in order."""
        return list(dict.fromkeys(source for source, _ in self.takes))


def read_paper(folder: Path) -> dict[str, Pair]:
    """Read the paper's method from what benchmarks/results.py has measured so far."""
    found = {}
    for source, name in FOLDER_OF.items():
        path = folder / name / "results.json"
        if path.exists():
            protocols = read_results(path).protocols
            strict, egoprocel = (protocols[p]["paper"].f1.mean for p in ("strict", "egoprocel"))
            found[source] = strict, egoprocel
    return found


def tables(measured: Measured) -> dict[str, str]:
    """Return every table by its title."""
    halves = {"even recordings (chosen on)": 0, "odd recordings": 1}
    return {
        "by source": _by_source(measured),
        "gain": _gains(measured),
        "by task, strict": _by_task(measured, 0),
        "by task, egoprocel": _by_task(measured, 1),
        "decisions": _decisions(measured),
        "few takes": _few(measured),
        **{title: _alone(measured.alone, half) for title, half in halves.items()},
        **({"trained, odd recordings": _alone(measured.trained, 1)} if measured.trained else {}),
    }


def decoders_page(measured: Measured) -> Path:
    """Put the tables into the page, and return where it is."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for title, table in tables(measured).items():
        text = text.replace(f"<<{title}>>", table.rstrip("\n"))
    text = text.replace("<<version>>", f"{__version__}, commit {commit()}")
    if "<<" in text:
        raise SystemExit(f"not measured, so no page was written: {text.split('<<')[1][:40]}…")
    write_text(PAGE, text)
    return PAGE


def _pair(values: Sequence[float], *, signed: bool = False) -> str:
    form = "+.1f" if signed else ".1f"
    return " / ".join(f"{value:{form}}".replace("-", "−") for value in values)


def _by_source(measured: Measured) -> str:
    methods = ("equal-split", "context-kmeans", "auto")
    rows = [
        [
            source,
            *(_pair(measured.of_source(source, method)) for method in methods),
            _pair(measured.paper[source]) if source in measured.paper else "–",
        ]
        for source in measured.sources()
    ]
    head = ["source", *(f"`{method}`" for method in methods), "`paper`"]
    return markdown(head, rows)


def _gains(measured: Measured) -> str:
    """How far `auto` is above the equal split, and above the best of the other two."""
    rows, gains, unseen = [], [], []
    for source in measured.sources():
        own = np.array(measured.of_source(source, "auto"))
        gains.append(own - measured.of_source(source, "equal-split"))
        cells = [gains[-1], own - measured.of_source(source, "context-kmeans")]
        texts = [_pair(cell, signed=True) for cell in cells]
        paper = measured.paper.get(source)
        texts.append("–" if paper is None else _pair(own - np.array(paper), signed=True))
        rows.append([source, *texts])
        if source in UNSEEN:
            auto, split = (
                np.array(measured.of_source(source, method, only_unseen=True))
                for method in ("auto", "equal-split")
            )
            unseen.append(auto - split)
    rows.append([f"mean of {len(gains)}", _pair(np.mean(gains, axis=0), signed=True), "", ""])
    if unseen:
        text = _pair(np.mean(unseen, axis=0), signed=True)
        rows.append([f"mean of {len(unseen)} not chosen on", text, "", ""])
    head = ["`auto` above …", "`equal-split`", "`context-kmeans`", "`paper`"]
    return markdown(head, rows)


def _by_task(measured: Measured, protocol: int) -> str:
    """F1 of every method on every task, by one of the two protocols; the highest in bold."""
    rows = []
    for task in measured.takes:
        values = [measured.mean(task, method)[protocol] for method in measured.methods]
        best = max(values)
        cells = [f"**{value:.1f}**" if value == best else f"{value:.1f}" for value in values]
        rows.append([_short(task[1]), *cells])
    return markdown(["task", *(f"`{method}`" for method in measured.methods)], rows)


def _decisions(measured: Measured) -> str:
    """Tell what `auto` says about every task, and which decoder would have been best."""
    rows = []
    for task, methods in measured.takes.items():
        best = max(DECODERS, key=lambda method: measured.mean(task, method)[0])
        sentences = {seed["sentence"].split(":")[0] for seed in methods["auto"]}
        said = sorted(sentence.replace(" in all takes", "") for sentence in sentences)
        rows.append([_short(task[1]), f"`{best}`", "; ".join(said)])
    return markdown(["task", "best `strict`", "`auto` says"], rows)


def _short(folder: str) -> str:
    """Name a task by its own folder; a star marks those that defaults were chosen on."""
    return f"{folder.split('/')[-1]}{' *' if folder in CHOSEN_ON else ''}"


def _few(measured: Measured) -> str:
    rows = []
    for folder, by_number in measured.few.items():
        cells = [
            f"{np.mean(by_number[n]):+.1f} ({min(by_number[n]):+.1f})".replace("-", "−")
            if n in by_number
            else "–"
            for n in measured.numbers
        ]
        rows.append([_short(folder), *cells])
    head = ["`strict` above the equal split", *(f"{n} takes" for n in measured.numbers)]
    return markdown(head, rows)


def _alone(singles: Mapping[str, list[tuple[int, Row]]], half: int) -> str:
    """F1 of single recordings, and its lead over as many equal parts; one row per source."""
    counts, borders = [], []
    for source, every in singles.items():
        own = [row for position, row in every if position % 2 == half]
        if not own:
            continue
        error = np.exp(np.abs(np.log([row["found"] / row["true"] for row in own])).mean())
        found, true = (np.mean([row[key] for row in own]) for key in ("found", "true"))
        leads = {measure: _lead(own, measure) for measure in (*MEASURES, "strict")}
        numbers = [str(len(own)), f"{found:.1f} / {true:.1f}", f"× {error:.2f}"]
        counts.append([source, *numbers, leads["coverage"], leads["strict"]])
        borders.append([source, *(leads[measure] for measure in BORDERS)])
    head = ["source", "n", "found / true", "count error", "`coverage`", "`strict-per-video`"]
    names = [f"`borders`, {name.replace('s', ' s').replace('%', ' %')}" for name in BORDERS]
    return f"{markdown(head, counts)}\n{markdown(['source', *names], borders)}"


def _lead(rows: Sequence[Row], measure: str) -> str:
    lead = np.array([row[measure] - row[f"{measure} null"] for row in rows])
    error = lead.std(ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else float("nan")
    text = f"{np.mean([row[measure] for row in rows]):.1f} ({lead.mean():+.1f} ± {error:.1f})"
    return text.replace("-", "−")
