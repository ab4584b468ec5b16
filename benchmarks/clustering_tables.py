"""The tables of benchmarks/clusterings.py, and the page docs/results/clusterings.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from accuracy_tables import UNSEEN, Measured, Row
from results_document import TEMPLATES, commit
from results_markdown import markdown

from stepreel.system.files import write_text
from stepreel.version import __version__

PAGE = Path(__file__).parent.parent / "docs" / "results" / "clusterings.md"
TEMPLATE = TEMPLATES / "clusterings.txt"
FIND_NUMBER = ("finch", "tw-finch")  # clusterers that find the number of kinds themselves
CLUSTERERS = (*FIND_NUMBER, "ward", "procut")
METHODS = ("equal-split", "context-kmeans", "hmm", "auto", *CLUSTERERS)
PROTOCOLS = ("strict", "egoprocel")
SAMPLERS = ("algorithm-1", "nearest", "ils")
WAYS = (*SAMPLERS, "random", "equally spaced")  # of choosing moments
DIGITS = {"representation": 1, "diversity": 2, "coverage": 1}  # of what moments are judged by

Task = tuple[str, str]


@dataclass
class MeasuredClusterings:
    """Everything that was measured; tasks are a source and a folder.

    together  of takes together: for every task and method one row per seed
    alone     by source: rows of every odd recording by itself
    numbers   by task: numbers of kinds, true, given and found
    shown     by source: rows of every odd recording of which not all steps can be shown, with how
              many were found
    """

    together: Measured = field(default_factory=lambda: Measured(METHODS, ()))
    alone: dict[str, list[Row]] = field(default_factory=dict)
    numbers: dict[Task, dict[str, int]] = field(default_factory=dict)
    shown: dict[str, list[Row]] = field(default_factory=dict)


def tables(measured: MeasuredClusterings) -> dict[str, str]:
    """Return every table by its title."""
    return {
        **{name: _together(measured.together, n) for n, name in enumerate(PROTOCOLS)},
        "alone": _alone(measured.alone),
        "numbers": _numbers(measured.numbers),
        **{name: _shown(measured.shown, name) for name in DIGITS},
        "ils": _leads(measured.shown, "ils"),
    }


def clusterings_page(measured: MeasuredClusterings) -> Path:
    """Put the tables into the page, and return where it is."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for title, table in tables(measured).items():
        text = text.replace(f"<<{title}>>", table.rstrip("\n"))
    text = text.replace("<<version>>", f"{__version__}, commit {commit()}")
    n_seeds = len(next(iter(measured.together.takes.values()))[METHODS[0]])
    write_text(PAGE, text.replace("<<seeds>>", str(n_seeds)))
    return PAGE


def _together(measured: Measured, protocol: int) -> str:
    """F1 of takes together by one of the two protocols; the highest of a row in bold."""
    sources = measured.sources()
    values = {
        source: [measured.of_source(source, method)[protocol] for method in METHODS]
        for source in sources
    }
    unseen = [
        [measured.of_source(s, method, only_unseen=True)[protocol] for method in METHODS]
        for s in sources
        if s in UNSEEN
    ]
    values[f"**mean of {len(sources)}**"] = np.mean(list(values.values()), axis=0).tolist()
    rows = [[name, *_best_in_bold(own)] for name, own in values.items()]
    rows.append(["± over seeds", *_spreads(measured, PROTOCOLS[protocol])])
    if unseen:
        name = f"mean of {len(unseen)} not chosen on"
        rows.append([name, *_best_in_bold(np.mean(unseen, axis=0).tolist())])
    return markdown([f"`{PROTOCOLS[protocol]}`", *(f"`{name}`" for name in METHODS)], rows)


def _spreads(measured: Measured, protocol: str) -> list[str]:
    """Return the standard deviation over seeds of the mean over sources, of every method."""
    texts = []
    for method in METHODS:
        of_sources = [
            np.mean(
                [
                    [row[protocol] for row in methods[method]]
                    for task, methods in measured.takes.items()
                    if task[0] == source
                ],
                axis=0,
            )
            for source in measured.sources()
        ]
        of_seeds = np.mean(of_sources, axis=0)
        texts.append(f"{np.std(of_seeds, ddof=1):.1f}" if len(of_seeds) > 1 else "–")
    return texts


def _alone(alone: Mapping[str, Sequence[Row]]) -> str:
    values = {
        source: [float(np.mean([row[method] for row in rows])) for method in METHODS]
        for source, rows in alone.items()
    }
    rows = [[s, str(len(alone[s])), *_best_in_bold(own)] for s, own in values.items()]
    mean = np.mean(list(values.values()), axis=0).tolist()
    rows.append([f"**mean of {len(values)}**", "", *_best_in_bold(mean)])
    return markdown(["source", "n", *(f"`{name}`" for name in METHODS)], rows)


def _numbers(numbers: Mapping[Task, Mapping[str, int]]) -> str:
    """Numbers of kinds of every task, and how far they typically are from the true one."""
    names = ("true", "K", *FIND_NUMBER)
    rows = [
        [task[1].split("/")[-1], *(str(own[name]) for name in names)]
        for task, own in numbers.items()
    ]
    errors, biases = [], []
    for name in names[1:]:
        logs = _over_sources(
            {task: float(np.log(own[name] / own["true"])) for task, own in numbers.items()}
        )
        errors.append(f"× {np.exp(logs[0]):.2f}")
        biases.append(f"× {np.exp(logs[1]):.2f}")
    rows += [["**error**", "", *errors], ["bias", "", *biases]]
    return markdown(["task", "true", "K", *(f"`{name}`" for name in FIND_NUMBER)], rows)


def _over_sources(logs: Mapping[Task, float]) -> tuple[float, float]:
    """Return means over tasks and then over sources: of sizes, and of values."""
    sources = dict.fromkeys(source for source, _ in logs)
    own = [[log for task, log in logs.items() if task[0] == source] for source in sources]
    sizes = [np.mean(np.abs(values)) for values in own]
    return float(np.mean(sizes)), float(np.mean([np.mean(values) for values in own]))


def _shown(shown: Mapping[str, Sequence[Row]], measure: str) -> str:
    """Mean of one measure over the recordings of every source, for every way."""
    values = {
        source: [float(np.mean([row[way][measure] for row in rows])) for way in WAYS]
        for source, rows in shown.items()
    }
    digits = DIGITS[measure]
    rows = []
    for source, own in values.items():
        found = float(np.mean([row["found"] for row in shown[source]]))
        numbers = [str(len(shown[source])), f"{found:.1f}"]
        rows.append([source, *numbers, *_best_in_bold(own, digits)])
    if values:
        mean = np.mean(list(values.values()), axis=0).tolist()
        rows.append([f"**mean of {len(values)}**", "", "", *_best_in_bold(mean, digits)])
    return markdown([measure, "n", "found", *_titles(WAYS)], rows)


def _leads(shown: Mapping[str, Sequence[Row]], sampler: str) -> str:
    """How far one sampler is above every other way, over all recordings ± standard error."""
    every = [row for rows in shown.values() for row in rows]
    if len(every) < 2:
        return markdown(["too few recordings"], [])
    others = [way for way in WAYS if way != sampler]
    rows = []
    for measure, digits in DIGITS.items():
        cells = []
        for way in others:
            leads = np.array([row[sampler][measure] - row[way][measure] for row in every])
            error = leads.std(ddof=1) / np.sqrt(len(leads))
            cells.append(f"{leads.mean():+.{digits}f} ± {error:.{digits}f}".replace("-", "−"))
        rows.append([measure, *cells])
    return markdown([f"`{sampler}` above", *_titles(others)], rows)


def _titles(ways: Sequence[str]) -> list[str]:
    return [f"`{way}`" if way in SAMPLERS else way for way in ways]


def _best_in_bold(values: Sequence[float], digits: int = 1) -> list[str]:
    texts = [f"{value:.{digits}f}" for value in values]
    best = texts[int(np.argmax(values))]
    return [f"**{text}**" if text == best else text for text in texts]
