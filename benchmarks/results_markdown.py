"""Cells, tables and blocks of code in Markdown, none wider than a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from stepreel.evaluation.figures import MetricFigure
from stepreel.evaluation.results import MethodFigures

PAGE_WIDTH = 110  # characters of a line
COLUMNS = 4  # of a table; more of "33.0 ± 2.2 / 23.5" do not fit


def f1_text(figures: MethodFigures) -> str:
    """Write F1 ± spread."""
    return figure_text(figures.f1, 1)


def cell(figures: MethodFigures | None, *, best: bool = False) -> str:
    """Write F1 ± spread / IoU."""
    if figures is None:
        return "–"
    text = f"{f1_text(figures)} / {figures.iou.mean:.1f}"
    return f"**{text}**" if best else text


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def narrow_tables(corner: str, columns: Mapping[str, Sequence[str]], names: Sequence[str]) -> str:
    """Write columns of cells under their titles, a few at a time, so that no table is too wide."""
    titles = list(columns)
    tables = []
    for start in range(0, len(titles), COLUMNS):
        here = titles[start : start + COLUMNS]
        rows = [[name, *(columns[title][n] for title in here)] for n, name in enumerate(names)]
        tables.append(markdown([corner, *here], rows))
    return "\n".join(tables)


def code_block(commands: Sequence[str]) -> str:
    """Write commands as a block of code, long ones over several lines."""
    lines: list[str] = []
    for command in commands:
        lines += continued(command)
    return "".join(f"    {line}\n" for line in lines)


def continued(command: str) -> Iterator[str]:
    """Break a command before an option where it is too long, as a shell reads it.

    >>> list(continued("stepreel score " + "--truth labels " * 7))[1]
    '    --truth labels'
    """
    line, *options = re.split(r" (?=-)", command.strip())
    width = PAGE_WIDTH - 4 - 2  # indented as code; " \\" at the end
    for option in options:
        if len(line) + 1 + len(option) > width:
            yield f"{line} \\"
            line = f"    {option}"
        else:
            line = f"{line} {option}"
    yield line


def figure_text(figure: MetricFigure, digits: int) -> str:
    """Write a mean ± its spread; without the spread if that would be written 0."""
    if figure.mean is None or figure.std is None:
        return "–"
    spread = f" ± {figure.std:.{digits}f}" if figure.std >= 0.5 * 10**-digits else ""
    return f"{figure.mean:.{digits}f}{spread}"
