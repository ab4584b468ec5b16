"""Write figures as text, for the terminal and the page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from stepreel.evaluation.figures import MetricFigure


def figure_text(figure: MetricFigure | None, digits: int = 1) -> str:
    """Write a figure, and its spread over seeds unless that would be written 0.

    >>> figure_text(MetricFigure(mean=50.68, std=3.7, seeds=[]))
    '50.7 ±3.7'
    >>> figure_text(MetricFigure(mean=-0.5, std=0.0002, seeds=[]), 3), figure_text(None)
    ('-0.500', '–')
    """
    if figure is None or figure.mean is None:
        return "–"
    spread = spread_text(figure, digits)
    return f"{figure.mean:.{digits}f}{' ' if spread else ''}{spread}"


def spread_text(figure: MetricFigure, digits: int = 1) -> str:
    """Write the spread over seeds; empty if it would be written 0.

    >>> spread_text(MetricFigure(mean=3.0, std=0.5, seeds=[]), 0)
    '±0.5'
    """
    std = f"{figure.std or 0:.{digits or 1}f}"
    return f"±{std}" if float(std) else ""


def digits_for(means: Sequence[float | None]) -> int:
    """Write counts in full, percentages with one digit, and figures of the size of 1 with three.

    >>> digits_for([2.0, 0.0]), digits_for([50.68, None]), digits_for([1.0, -0.25])
    (0, 1, 3)
    """
    numbers = [float(mean) for mean in means if mean is not None]
    if all(number.is_integer() for number in numbers):
        return 0
    return 1 if max(map(abs, numbers)) > 2 else 3


def merge_notes(notes: Sequence[str]) -> list[str]:
    """Write a note that is the same for several recordings ("NAME: text") once.

    >>> merge_notes(["a: is short", "b: is short", "c: is long"])
    ['2 recordings (a, b): is short', 'c: is long']
    """
    names_by_text: dict[str, list[str]] = {}
    for note in notes:
        name, colon, text = note.partition(": ")
        names_by_text.setdefault(text if colon else note, []).append(name if colon else "")
    return [
        ": ".join(filter(None, [names[0], text]))
        if len(names) == 1
        else f"{len(names)} recordings ({textwrap.shorten(', '.join(names), 60)}): {text}"
        for text, names in names_by_text.items()
    ]
