"""One task as the report draws it: bars of true and found steps as SVG paths, and confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepreel.evaluation.methods.baselines import BASELINES
from stepreel.evaluation.methods.catalog import LEARNED_METHODS, NULL_METHODS
from stepreel.evaluation.report.pictures import UNMATCHED, Bar, Barcode, Confusion, TaskPictures
from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.report.palette import Kind, kind_of
from stepreel.report.scale import Tick, lay_out_extent, lay_out_ticks, shared_scale

REFERENCE = "equal-split"
UNITS = 4000  # across a recording: finer than a screen is wide
_NARROWEST_LETTER = 0.012
_PUT_AWAY = frozenset({"concatenated-split"})  # hardly cuts inside a recording: nothing to see
_MOST_TICKS = 8

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
class RecordingRow:
    """One recording; `share` is percent of the full width."""

    barcode: Barcode
    share: float
    lanes: list[Lane]


@dataclass(frozen=True)
class Heat:
    """A confusion, and the names and steps of its columns."""

    confusion: Confusion
    columns: list[tuple[str, Step | None]]


@dataclass(frozen=True)
class TaskView:
    """Everything the page draws of one task; `figures` are under the headline protocol.

    methods   those with bars; of these, `put_away` are drawn when asked for
    compared  those whose steps are shown: what is not null, the best null, and an equal split
    ticks     of the scale that all recordings share; empty if every one has its own
    """

    name: str
    steps: list[Step]
    methods: list[str]
    put_away: list[str]
    takes: list[RecordingRow]
    ticks: list[Tick]
    heats: list[Heat]
    figures: Mapping[str, Figures]
    null: str | None
    compared: list[str]


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


def best_null(figures: Mapping[str, Figures]) -> str | None:
    """Return the null baseline with the highest F1, the first of equals."""
    nulls = [method for method in figures if method in NULL_METHODS]
    return max(nulls, key=lambda method: float(figures[method]["f1"]["mean"]), default=None)


def lay_out_task(pictures: TaskPictures, figures: Mapping[str, Figures]) -> TaskView:
    """Lay out a task; `figures` are its methods' under the headline protocol."""
    numbers = iter(range(len(pictures.steps)))
    steps = [
        Step(step, _title(step, name), kind_of(next(numbers)) if step != BACKGROUND else None)
        for step, name in sorted(pictures.steps.items())
    ]
    drawn = {method: None for barcode in pictures.barcodes for method in barcode.found}
    methods = in_order(list(drawn))
    lengths = [barcode.seconds for barcode in pictures.barcodes]
    shares = shared_scale(lengths)
    takes = [
        RecordingRow(
            barcode=barcode,
            share=shares[number] if shares else 100,
            lanes=_lanes(barcode, methods, steps),
        )
        for number, barcode in enumerate(pictures.barcodes)
    ]
    confusions = {one.method: one for one in pictures.confusions}
    null = best_null(figures)
    return TaskView(
        name=pictures.task,
        steps=steps,
        methods=methods,
        put_away=[m for m in methods if m in _PUT_AWAY and not _PUT_AWAY.issuperset(methods)],
        takes=takes,
        ticks=lay_out_ticks(max(lengths), most=_MOST_TICKS, label_end=True) if shares else [],
        heats=[_heat(confusions[method], steps) for method in methods if method in confusions],
        figures=figures,
        null=null,
        compared=[m for m in in_order(list(figures)) if m not in NULL_METHODS]
        + [m for m in in_order(list(figures)) if m in (null, REFERENCE)],
    )


def _title(step: int, name: str) -> str:
    """Keep a bare number apart from the letter that stands beside it.

    >>> _title(8, "8"), _title(8, "pour")
    ('step 8', 'pour')
    """
    return f"step {step}" if name == str(step) else name


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
        _letter(bar, kind)
        for bar in bars
        if method is None and bar.end - bar.start > _NARROWEST_LETTER
        if (kind := kinds.get(bar.step))
    ]
    paths = [(step, "".join(runs[step.id])) for step in steps if step.id in runs]
    return Lane(method, paths, letters, len(bars), is_hatched=UNMATCHED in runs)


def _letter(bar: Bar, kind: Kind) -> Letter:
    extent = lay_out_extent(bar.start, bar.end, 1)
    return Letter(extent.middle, extent.width, kind)


def _heat(confusion: Confusion, steps: Sequence[Step]) -> Heat:
    matched = {step.id: step for step in steps if step.kind}
    names = {UNMATCHED: "–", BACKGROUND: "no step"} | {id: s.name for id, s in matched.items()}
    return Heat(confusion, [(names[id], matched.get(id)) for id in confusion.clusters])
