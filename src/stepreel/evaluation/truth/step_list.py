"""The steps of a task: their ids and names, and which labels mean background."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.system.names import natural_order

BACKGROUND_NAMES = frozenset({"", "0", "background", "bg", "sil", "na", "none", "null", "idle"})
MOST_STEPS = 10_000  # of a task; no list of labels has a tenth of it
MAX_DIGITS = 18  # of a step's number; more do not fit into 64 bits


@dataclass
class StepList:
    """The ids and names of a task's steps.

    fixed  true if the dataset lists its steps: any other label is an error. Otherwise a step's id
           is the number its label begins with ("3 cut"), or the next free one.
    """

    ids: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    fixed: bool = False

    @classmethod
    def of(cls, ids: Mapping[str, int], names: Mapping[int, str] | None = None) -> StepList:
        """Return a list that allows these labels only."""
        return cls(dict(ids), dict(names or {i: label for label, i in ids.items()}), fixed=True)

    def id_of(self, label: str) -> int | None:
        """Return a step's id, 0 for background; None if there is no such step."""
        if is_background(label):
            return BACKGROUND
        if label in self.ids:
            return self.ids[label]
        number, name = split_number(label)
        if number == BACKGROUND:
            return None  # the id 0 is reserved for background
        if self.fixed:
            return number if number in self.names else None
        if number is None:
            number = max(self.names, default=0) + 1
            self.ids[label] = number
        self.names.setdefault(number, name)
        return number


def is_background(label: str) -> bool:
    """Return whether a label means that no step is done."""
    return label.strip().lower() in BACKGROUND_NAMES


def split_number(label: str) -> tuple[int | None, str]:
    """Split a label into the number and the name of a step.

    >>> split_number("10 align and screw"), split_number("G3"), split_number("7")
    ((10, 'align and screw'), (None, 'G3'), (7, '7'))
    """
    label = label.strip()
    match = re.fullmatch(rf"([0-9]{{1,{MAX_DIGITS}}})[.:]?(?:\s+(\S.*))?", label)
    if match is None:
        return None, label
    return int(match[1]), match[2] or match[1]


def is_other_number(label: str) -> bool:
    """Return whether a label is a number that no step can have: nan, inf, 1e300 or 2.5.

    >>> [is_other_number(label) for label in ("nan", "2.5", "1e300", "7", "-1", "2.5 V", "cut")]
    [True, True, True, False, False, False, False]
    """
    try:
        number = float(label)
    except ValueError:
        return False
    return not number.is_integer() or abs(number) >= 10.0**MAX_DIGITS


def parse_step_number(text: str) -> int | None:
    """Return a step's number; None if the text is not a whole number or has too many digits.

    >>> [parse_step_number(text) for text in ("017", "-1", "²", "9" * 19)]
    [17, None, None, None]
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None


def number_by_name(labels: Iterable[str], *, numbers_decide: bool = False) -> StepList:
    """Give steps their own numbers if all labels have one and no two have the same.

    Otherwise number them in the order of their names, so that the order of files does not matter
    and "2 eggs" and "2 pans" stay two steps.

    numbers_decide  labels with the same number are the same step, however it is spelled

    >>> number_by_name(["sew", "SIL", "cut"]).names, number_by_name(["7 sew", "3"]).names
    ({1: 'cut', 2: 'sew'}, {3: '3', 7: 'sew'})
    """
    steps = sorted({label for label in labels if not is_background(label)}, key=natural_order)
    if len(steps) > MOST_STEPS:
        raise DatasetError(
            f"the labels name {len(steps):,} different steps; at most {MOST_STEPS:,} can be scored"
        )
    numbers = [split_number(label)[0] for label in steps]
    known = [number for number in numbers if number]
    if len(known if numbers_decide else set(known)) == len(steps):
        named: dict[int, str] = {}
        for number, label in zip(known, steps, strict=True):
            named.setdefault(number, split_number(label)[1])
        return StepList.of(dict(zip(steps, known, strict=True)), dict(sorted(named.items())))
    return StepList.of({label: number for number, label in enumerate(steps, start=1)})
