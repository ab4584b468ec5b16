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
from stepreel.report.wording import clock

REFERENCE = "equal-split"
UNITS = 4000  # across a recording: finer than a screen is wide
_NARROWEST_LETTER = 0.012
_LARGEST_SHARED_RATIO = 4
_PUT_AWAY = frozenset({"concatenated-split"})  # hardly cuts inside a recording: nothing to see
_TICK_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
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
class Tick:
    """A labelled time at `x` percent of the width; narrow windows show only the major ones."""

    x: float
    text: str
    is_major: bool


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
    longest = max(lengths, default=0.0)
    # As in the index of storyboards: one scale, unless short recordings would become unreadable.
    same_scale = bool(lengths) and 0 < longest <= _LARGEST_SHARED_RATIO * min(lengths)
    takes = [
        RecordingRow(
            barcode=barcode,
            share=round(100 * barcode.seconds / longest, 2) if same_scale else 100,
            lanes=_lanes(barcode, methods, steps),
        )
        for barcode in pictures.barcodes
    ]
    confusions = {one.method: one for one in pictures.confusions}
    null = best_null(figures)
    return TaskView(
        name=pictures.task,
        steps=steps,
        methods=methods,
        put_away=[m for m in methods if m in _PUT_AWAY and not _PUT_AWAY.issuperset(methods)],
        takes=takes,
        ticks=_ticks(longest) if same_scale else [],
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


def _ticks(seconds: float) -> list[Tick]:
    """Label the start, round moments, and the end; none so near the end that they would touch.

    >>> [tick.text for tick in _ticks(188.0)]
    ['0:00', '0:30', '1:00', '1:30', '2:00', '2:30', '3:08']
    """
    gap = next((gap for gap in _TICK_SECONDS if seconds / gap <= _MOST_TICKS), seconds)
    shares = [gap * number / seconds for number in range(_MOST_TICKS)]
    ticks = [
        Tick(round(100 * share, 2), clock(share * seconds), number % 2 == 0 and share < 0.8)
        for number, share in enumerate(shares)
        if share < 0.92
    ]
    return [*ticks, Tick(100, clock(seconds), is_major=True)]


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
    matched = {step.id: step for step in steps if step.kind}
    names = {UNMATCHED: "–", BACKGROUND: "no step"} | {id: s.name for id, s in matched.items()}
    return Heat(confusion, [(names[id], matched.get(id)) for id in confusion.clusters])
