"""One task as the report draws it: bars of true and found steps as SVG paths, and confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepreel.evaluation.baselines import BASELINES
from stepreel.evaluation.methods import LEARNED_METHODS, NULL_METHODS
from stepreel.evaluation.pictures import UNMATCHED, Bar, Barcode, Confusion, TaskPictures
from stepreel.report.palette import Kind, kind_of

UNITS = 4000  # across a recording: finer than a screen is wide
_NARROWEST_LETTER = 0.012
_LARGEST_SHARED_RATIO = 4

Figures = Mapping[str, Any]
"""One method under one protocol, as in results.json"""


@dataclass(frozen=True)
class Group:
    """Methods of one kind: `learned`, `raw` features clustered, `blind` to them, or `other`."""

    kind: str
    methods: list[str]


@dataclass(frozen=True)
class Step:
    """A true step; background has no `kind`."""

    id: int
    name: str
    kind: Kind | None


@dataclass(frozen=True)
class Letter:
    """What is written on a bar of the truth; in percent of the width."""

    x: float
    room: float
    kind: Kind


@dataclass(frozen=True)
class Lane:
    """The truth (`method` is None) or a method's bars: one path per step, of height 1."""

    method: str | None
    paths: list[tuple[Step, str]]
    letters: list[Letter]
    n_bars: int
    is_hatched: bool


@dataclass(frozen=True)
class Take:
    """One recording; `share` is percent of the full width."""

    barcode: Barcode
    share: float
    lanes: list[Lane]


@dataclass(frozen=True)
class Heat:
    """A confusion, its clusters paired with the steps they are matched with."""

    confusion: Confusion
    columns: list[tuple[str, Step | None]]


@dataclass(frozen=True)
class TaskView:
    """Everything the page draws of one task; `figures` are under the headline protocol."""

    name: str
    steps: list[Step]
    methods: list[str]
    takes: list[Take]
    heats: list[Heat]
    figures: Mapping[str, Figures]
    same_scale: bool


def group_methods(methods: Sequence[str]) -> list[Group]:
    """Sort methods into kinds, learned ones first; empty kinds are left out."""

    def kind(method: str) -> str:
        if method in LEARNED_METHODS:
            return "learned"
        if method in BASELINES:
            return "blind"
        return "raw" if method in NULL_METHODS else "other"

    kinds = ("learned", "other", "raw", "blind")
    grouped = [Group(name, [m for m in methods if kind(m) == name]) for name in kinds]
    return [group for group in grouped if group.methods]


def in_order(methods: Sequence[str]) -> list[str]:
    """Return methods in the order the report has them everywhere.

    >>> in_order(["random", "raw-kmeans", "paper"])
    ['paper', 'raw-kmeans', 'random']
    """
    return [method for group in group_methods(methods) for method in group.methods]


def lay_out(pictures: TaskPictures, figures: Mapping[str, Figures]) -> TaskView:
    """Lay out a task; `figures` are its methods' under the headline protocol."""
    numbers = iter(range(len(pictures.steps)))
    steps = [
        Step(step, name, kind_of(next(numbers)) if step else None)
        for step, name in sorted(pictures.steps.items())
    ]
    drawn = {method: None for barcode in pictures.barcodes for method in barcode.found}
    methods = in_order(list(drawn))
    lengths = [barcode.seconds for barcode in pictures.barcodes]
    longest = max(lengths, default=0.0)
    # As in the index of storyboards: one scale, unless short recordings would become unreadable.
    same_scale = bool(lengths) and 0 < longest <= _LARGEST_SHARED_RATIO * min(lengths)
    takes = [
        Take(
            barcode=barcode,
            share=round(100 * barcode.seconds / longest, 2) if same_scale else 100,
            lanes=_lanes(barcode, methods, steps),
        )
        for barcode in pictures.barcodes
    ]
    confusions = {one.method: one for one in pictures.confusions}
    heats = [_heat(confusions[method], steps) for method in methods if method in confusions]
    return TaskView(pictures.task, steps, methods, takes, heats, figures, same_scale)


def _lanes(barcode: Barcode, methods: Sequence[str], steps: Sequence[Step]) -> list[Lane]:
    found = [(method, barcode.found[method]) for method in methods if method in barcode.found]
    return [_lane(None, barcode.truth, steps), *(_lane(*one, steps) for one in found)]


def _lane(method: str | None, bars: Sequence[Bar], steps: Sequence[Step]) -> Lane:
    runs: dict[int, list[str]] = {}
    for bar in bars:
        start = round(UNITS * bar.start)
        width = round(UNITS * bar.end) - start
        if width > 0:
            runs.setdefault(bar.step, []).append(f"M{start} 0h{width}v1h-{width}")
    kinds = {step.id: step.kind for step in steps}
    letters = [
        Letter(round(50 * (bar.start + bar.end), 2), round(100 * (bar.end - bar.start), 2), kind)
        for bar in bars
        if method is None and bar.end - bar.start > _NARROWEST_LETTER
        if (kind := kinds.get(bar.step))
    ]
    paths = [(step, "".join(runs[step.id])) for step in steps if step.id in runs]
    return Lane(method, paths, letters, len(bars), is_hatched=UNMATCHED in runs)


def _heat(confusion: Confusion, steps: Sequence[Step]) -> Heat:
    """Find the steps of the columns; of steps that share a name, each is taken once, in order."""
    left = [step for step in steps if step.kind]
    columns: list[tuple[str, Step | None]] = []
    for name in confusion.clusters:
        step = next((step for step in left if step.name == name), None)
        if step:
            left.remove(step)
        columns.append((name, step))
    return Heat(confusion, columns)
