"""The tables of benchmarks/number_of_kinds.py, and the page docs/results/number.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_tasks import COOKING_OTHERS
from results_document import TEMPLATES, commit
from results_markdown import markdown

from stepreel.config import USUAL_CLUSTERS
from stepreel.system.files import write_text
from stepreel.version import __version__

PAGE = Path(__file__).parent.parent / "docs" / "results" / "number.md"
TEMPLATE = TEMPLATES / "number.txt"
MEASURES = ("strict", "egoprocel", "coverage")
WAYS = {  # of choosing a number, and what they are called in a table
    "found": "found",
    "given": "K",
    "true": "true",
    "usual": "usual",
    "seven": "7",
    "parts": "equal parts",
}
OF_TASKS = ("found", "given", "true", "seven", "parts")  # of them, in the table of tasks
NEAR = 1.25  # a number is near another if neither is larger by a greater factor
NOT_CHOSEN_ON = {f"captaincook4d/{name}" for name in COOKING_OTHERS}

Row = dict[str, Any]
Task = tuple[str, str]


@dataclass
class MeasuredNumbers:
    """Everything that was measured; tasks are a source and a folder.

    facts  what is true of a task
    takes  by task: one row per seed, with the number found and the scores of all WAYS
    alone  by source: rows of every recording by itself
    """

    facts: dict[Task, Row] = field(default_factory=dict)
    takes: dict[Task, list[Row]] = field(default_factory=dict)
    alone: dict[str, list[Row]] = field(default_factory=dict)

    def sources(self) -> list[str]:
        """Return the names of all sources, in order."""
        return list(dict.fromkeys(source for source, _ in self.takes))

    def tasks(self, source: str) -> list[Task]:
        """Return the tasks of a source."""
        return [task for task in self.takes if task[0] == source]

    def f1(self, task: Task, way: str, measure: str) -> float:
        """Return the F1 of a task, mean over seeds."""
        return float(np.mean([row[way][measure] for row in self.takes[task]]))

    @property
    def n_seeds(self) -> int:
        """How many seeds there are."""
        return len(next(iter(self.takes.values())))

    def means(self, way: str, measure: str) -> list[float]:
        """Return the F1 of every seed, mean over tasks and then over sources."""
        of_sources = [
            np.mean([[row[way][measure] for row in self.takes[task]] for task in tasks], axis=0)
            for tasks in map(self.tasks, self.sources())
        ]
        means: list[float] = np.mean(of_sources, axis=0).tolist()
        return means

    def numbers(self, task: Task, way: str) -> list[float]:
        """Return the number of kinds of every seed."""
        if way == "found":
            return [row["number"] for row in self.takes[task]]
        return [USUAL_CLUSTERS if way == "seven" else self.facts[task][way]]

    def logs(self, task: Task, way: str) -> list[float]:
        """Return the logarithms of number / true number of every seed."""
        return [float(np.log(n / self.facts[task]["true"])) for n in self.numbers(task, way)]

    def nearest_logs(self, task: Task, ratios: Sequence[Sequence[float]] | None = None) -> float:
        """Return how far the nearest of the number found and those offered is from the true one.

        ratios  offer these multiples of the number found instead; mean over all of them
        """
        true, errors = self.facts[task]["true"], []
        for row in self.takes[task]:
            own = row["number"]
            offers = [row["offered"]] if ratios is None else [[own * r for r in x] for x in ratios]
            errors += [min(abs(np.log(n / true)) for n in (own, *offer)) for offer in offers]
        return float(np.mean(errors))


def is_near(number: float, true: float) -> bool:
    """Tell whether two numbers differ by at most a factor of NEAR.

    >>> is_near(8, 10), is_near(13, 10)
    (True, False)
    """
    return max(number, true) <= NEAR * min(number, true) + 1e-9


def tables(measured: MeasuredNumbers) -> dict[str, str]:
    """Return every table by its title."""
    return {
        "error": _errors(measured),
        **{measure: _scores(measured, measure) for measure in MEASURES},
        "by task": _by_task(measured),
        "offered": _offered(measured),
        "alone": _alone(measured),
    }


def number_page(measured: MeasuredNumbers) -> Path:
    """Put the tables into the page, and return where it is."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for title, table in tables(measured).items():
        text = text.replace(f"<<{title}>>", table.rstrip("\n"))
    text = text.replace("<<version>>", f"{__version__}, commit {commit()}")
    text = text.replace("<<seeds>>", str(measured.n_seeds))
    write_text(PAGE, text)
    return PAGE


def _over(
    measured: MeasuredNumbers, value: Callable[[Task], Sequence[float]]
) -> list[tuple[str, list[float]]]:
    """Return means of some values of tasks, by source, over sources, and of unseen tasks."""
    rows = [
        (source, np.mean([value(task) for task in measured.tasks(source)], axis=0).tolist())
        for source in measured.sources()
    ]
    mean = np.mean([values for _, values in rows], axis=0).tolist()
    groups = [(f"**mean of {len(rows)} sources**", mean)]
    for name, is_wanted in (("tasks chosen on", False), ("tasks not chosen on", True)):
        tasks = [task for task in measured.takes if (task[1] in NOT_CHOSEN_ON) == is_wanted]
        if tasks:
            values = np.mean([value(task) for task in tasks], axis=0).tolist()
            groups.append((f"mean of {len(tasks)} {name}", values))
    return rows + groups


def _errors(measured: MeasuredNumbers) -> str:
    """How far the number found is from the true one, beside other numbers."""
    ways = ("found", "given", "seven", "usual")

    def value(task: Task) -> list[float]:
        known = measured.facts[task]
        logs = {way: measured.logs(task, way) for way in ways}
        return [
            float(np.mean(measured.numbers(task, "found"))),
            known["true"],
            known["per take"],
            float(np.mean(logs["found"])),
            *(float(np.mean(np.abs(own))) for own in logs.values()),
        ]

    rows = [
        [name, *(f"{n:.1f}" for n in values[:3]), *(f"× {np.exp(x):.2f}" for x in values[3:])]
        for name, values in _over(measured, value)
    ]
    head = ["source", "found", "true", "in a take", "bias", "error", "of K", "of 7", "of usual"]
    return markdown(head, rows)


def _scores(measured: MeasuredNumbers, measure: str) -> str:
    """F1 with every number; the mean over sources ± its standard deviation over seeds."""

    def value(task: Task) -> list[float]:
        return [measured.f1(task, way, measure) for way in WAYS]

    rows = [[name, *(f"{x:.1f}" for x in values)] for name, values in _over(measured, value)]
    n_sources = len(measured.sources())
    rows[n_sources][1:] = [
        f"{mean} ± {np.std(measured.means(way, measure), ddof=1):.1f}"
        if measured.n_seeds > 1
        else mean
        for mean, way in zip(rows[n_sources][1:], WAYS, strict=True)
    ]
    return markdown([f"`{measure}`", *WAYS.values()], rows)


def _by_task(measured: MeasuredNumbers) -> str:
    rows = []
    for task, seeds in measured.takes.items():
        known = measured.facts[task]
        found = sorted({row["number"] for row in seeds})
        offered = sorted({number for row in seeds for number in row["offered"]})
        f1 = (f"{measured.f1(task, way, 'strict'):.1f}" for way in OF_TASKS)
        rows.append(
            [
                f"{task[1].split('/')[-1]}{'' if task[1] in NOT_CHOSEN_ON else ' *'}",
                f"{known['takes']} × {known['seconds']:.0f} s",
                f"{known['true']} ({known['per take']:.1f})",
                ", ".join(map(str, found)),
                ", ".join(map(str, offered)) or "–",
                " / ".join(f1),
            ]
        )
    return markdown(["task", "takes", "true", "found", "offered", "`strict`"], rows)


def _offered(measured: MeasuredNumbers) -> str:
    """How near the best of found and offered is, for tasks where any number is offered."""
    tasks = [task for task, rows in measured.takes.items() if any(row["offered"] for row in rows)]
    ratios = {
        task: [[n / row["number"] for n in row["offered"]] for row in measured.takes[task]]
        for task in tasks
    }
    rows, every = [], []
    for task in tasks:
        others = [own for other in tasks if other != task for own in ratios[other]]
        alone = float(np.mean(np.abs(measured.logs(task, "found"))))
        errors = [alone, measured.nearest_logs(task)]
        errors.append(measured.nearest_logs(task, others) if others else alone)
        every.append(errors)
        rows.append([task[1].split("/")[-1], *(f"× {np.exp(x):.2f}" for x in errors)])
    if every:
        mean = [f"× {np.exp(x):.2f}" for x in np.mean(every, axis=0)]
        rows.append([f"mean of {len(every)}", *mean])
    head = ["error of the number", "found", "nearest of found and offered", "multiples of others"]
    return markdown(head, rows)


def _alone(measured: MeasuredNumbers) -> str:
    """How often the true number of steps of a recording is near the one found, or one offered."""
    rows, every = [], []
    for source, own in measured.alone.items():
        numbers = [float(np.mean([row[key] for row in own])) for key in ("found", "true")]
        logs = [np.log(row["found"] / row["true"]) for row in own]
        values = [
            float(np.mean(np.abs(logs))),
            float(np.mean([len(row["offered"]) for row in own])),
            *(100 * share for share in near_shares(own)),
        ]
        every.append(values)
        rows.append(
            [source, str(len(own)), " / ".join(f"{n:.1f}" for n in numbers), *_cells(values)]
        )
    rows.append([f"**mean of {len(every)}**", "", "", *_cells(np.mean(every, axis=0).tolist())])
    head = ["source", "n", "found / true", "error", "offered"]
    return markdown([*head, "found is near", "or one offered is", "multiples of others"], rows)


def _cells(values: Sequence[float]) -> list[str]:
    error, offered, *shares = values
    return [f"× {np.exp(error):.2f}", f"{offered:.1f}", *(f"{share:.0f} %" for share in shares)]


def near_shares(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the share of recordings whose true number is near: what was found, or offered.

    The third share is what offers are worth that do not look at the recording: every other
    recording lends the multiples of the number found that were offered there.
    """
    ratios = [[number / row["found"] for number in row["offered"]] for row in rows]
    found, offered, lent = [], [], []
    for position, row in enumerate(rows):
        is_found = is_near(row["found"], row["true"])
        found.append(is_found)
        offered.append(is_found or any(is_near(n, row["true"]) for n in row["offered"]))
        others = [own for other, own in enumerate(ratios) if other != position] or [[]]
        lent.append(
            np.mean(
                [
                    is_found or any(is_near(row["found"] * r, row["true"]) for r in own)
                    for own in others
                ]
            )
        )
    return float(np.mean(found)), float(np.mean(offered)), float(np.mean(lent))
