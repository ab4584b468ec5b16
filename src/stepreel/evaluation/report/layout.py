"""Lay out one task for the page: bars of true and predicted steps as SVG paths, and confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepreel.evaluation.methods.base import NULL_KINDS, MethodKind
from stepreel.evaluation.report.barcodes import (
    UNMATCHED,
    Barcode,
    BarcodeSpan,
    Confusion,
    TaskBarcodes,
)
from stepreel.evaluation.report.verdict import best_null
from stepreel.evaluation.results import MethodFigures
from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.report.palette import Kind, kind_of
from stepreel.report.scale import Tick, lay_out_extent, lay_out_ticks, shared_scale

REFERENCE = "equal-split"
UNITS = 4000  # across a recording: finer than a screen is wide
_NARROWEST_LETTER = 0.012
_HIDDEN_AT_FIRST = frozenset({"concatenated-split"})  # hardly cuts inside a recording
_MOST_TICKS = 8

MethodKinds = Mapping[str, MethodKind]
_KINDS_IN_ORDER: tuple[MethodKind, ...] = ("learned", "other", "clustered", "blind")


@dataclass(frozen=True)
class Group:
    """Methods of one kind."""

    kind: MethodKind
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
class ConfusionTable:
    """A confusion, and the names and steps of its columns."""

    confusion: Confusion
    columns: list[tuple[str, Step | None]]


@dataclass(frozen=True)
class TaskView:
    """Everything the page draws of one task; `figures` are under the headline protocol.

    methods          those with bars; `hidden_at_first` are shown when their box is checked
    compared         those whose steps are shown: all but null baselines, the best null
                     baseline, and an equal split
    ticks            of the scale that all recordings share; empty if each has its own
    """

    name: str
    steps: list[Step]
    methods: list[str]
    hidden_at_first: list[str]
    takes: list[RecordingRow]
    ticks: list[Tick]
    confusions: list[ConfusionTable]
    figures: Mapping[str, MethodFigures]
    null: str | None
    compared: list[str]


def group_methods(methods: Sequence[str], kinds: MethodKinds) -> list[Group]:
    """Sort methods by kind, learned ones first; empty kinds are left out."""
    groups = [
        Group(kind, [method for method in methods if kinds.get(method, "other") == kind])
        for kind in _KINDS_IN_ORDER
    ]
    return [group for group in groups if group.methods]


def in_order(methods: Sequence[str], kinds: MethodKinds) -> list[str]:
    """Return methods in the order the report has them everywhere.

    >>> in_order(["random", "paper"], {"random": "blind", "paper": "learned"})
    ['paper', 'random']
    """
    return [method for group in group_methods(methods, kinds) for method in group.methods]


def lay_out_task(
    task: TaskBarcodes, figures: Mapping[str, MethodFigures], kinds: MethodKinds
) -> TaskView:
    """Lay out a task; `figures` are its methods' under the headline protocol."""

    def is_null(method: str) -> bool:
        return kinds.get(method, "other") in NULL_KINDS

    numbers = iter(range(len(task.steps)))
    steps = [
        Step(step, _title(step, name), kind_of(next(numbers)) if step != BACKGROUND else None)
        for step, name in sorted(task.steps.items())
    ]
    drawn = {method: None for barcode in task.barcodes for method in barcode.predicted}
    methods = in_order(list(drawn), kinds)
    lengths = [barcode.seconds for barcode in task.barcodes]
    shares = shared_scale(lengths)
    takes = [
        RecordingRow(
            barcode=barcode,
            share=shares[number] if shares else 100,
            lanes=_lanes(barcode, methods, steps),
        )
        for number, barcode in enumerate(task.barcodes)
    ]
    confusions = {confusion.method: confusion for confusion in task.confusions}
    null = best_null(figures, is_null)
    scored = in_order(list(figures), kinds)
    return TaskView(
        name=task.task,
        steps=steps,
        methods=methods,
        hidden_at_first=[]
        if _HIDDEN_AT_FIRST.issuperset(methods)
        else [method for method in methods if method in _HIDDEN_AT_FIRST],
        takes=takes,
        ticks=lay_out_ticks(max(lengths), most=_MOST_TICKS, label_end=True) if shares else [],
        confusions=[
            _confusion_table(confusions[method], steps)
            for method in methods
            if method in confusions
        ],
        figures=figures,
        null=null,
        compared=[method for method in scored if not is_null(method)]
        + [method for method in scored if method in (null, REFERENCE)],
    )


def _title(step: int, name: str) -> str:
    """Call a step without a name by its number: a bare number next to its letter would confuse.

    >>> _title(8, "8"), _title(8, "pour")
    ('step 8', 'pour')
    """
    return f"step {step}" if name == str(step) else name


def _lanes(barcode: Barcode, methods: Sequence[str], steps: Sequence[Step]) -> list[Lane]:
    predicted = [
        _lane(method, barcode.predicted[method], steps)
        for method in methods
        if method in barcode.predicted
    ]
    return [_lane(None, barcode.truth, steps), *predicted]


def _lane(method: str | None, spans: Sequence[BarcodeSpan], steps: Sequence[Step]) -> Lane:
    runs: dict[int, list[str]] = {}
    for span in spans:
        start = round(UNITS * span.start)
        width = round(UNITS * span.end) - start
        if width > 0:
            runs.setdefault(span.step, []).append(f"M{start} 0h{width}v1h-{width}")
    kinds = {step.id: step.kind for step in steps}
    letters = [
        _letter(span, kind)
        for span in spans
        if method is None and span.end - span.start > _NARROWEST_LETTER
        if (kind := kinds.get(span.step))
    ]
    paths = [(step, "".join(runs[step.id])) for step in steps if step.id in runs]
    return Lane(method, paths, letters, len(spans), is_hatched=UNMATCHED in runs)


def _letter(span: BarcodeSpan, kind: Kind) -> Letter:
    extent = lay_out_extent(span.start, span.end, 1)
    return Letter(extent.middle, extent.width, kind)


def _confusion_table(confusion: Confusion, steps: Sequence[Step]) -> ConfusionTable:
    matched = {step.id: step for step in steps if step.kind}
    names = {UNMATCHED: "–", BACKGROUND: "no step"} | {id: s.name for id, s in matched.items()}
    return ConfusionTable(confusion, [(names[id], matched.get(id)) for id in confusion.clusters])
