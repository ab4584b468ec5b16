"""What the page shows of storyboards: every measure of every method, next to the same number."""

from __future__ import annotations

from dataclasses import dataclass

from stepreel.evaluation.report.verdict import Lead, lead_over_split
from stepreel.evaluation.results import Results
from stepreel.evaluation.storyboard_figures import MeasureFigures, MeasureTables

MEASURE_NAMES = {
    "coverage": "coverage",
    "borders-1s": "borders, 1 s",
    "borders-2s": "borders, 2 s",
    "borders-5%": "borders, 5 %",
}


@dataclass(frozen=True)
class MeasureCell:
    """A method's figures, and how far its F1 is above as many equal parts."""

    figures: MeasureFigures
    lead: Lead
    is_best: bool


@dataclass(frozen=True)
class MeasureColumn:
    """One measure: F1 of the equal split into K, and the cell of every method."""

    name: str
    split_into_k: float
    cells: dict[str, MeasureCell]


@dataclass(frozen=True)
class StoryboardTable:
    """Measures across; `is_alone` if every recording was clustered by itself."""

    is_alone: bool
    columns: list[MeasureColumn]


def storyboard_views(results: Results) -> list[StoryboardTable]:
    """Return a table for recordings clustered together, and one for each alone, if there is one."""
    storyboard = results.storyboard
    if storyboard is None:
        return []
    n_seeds = len(results.settings.seeds)
    tables = [StoryboardTable(False, _columns(storyboard, n_seeds))]
    if storyboard.alone is not None:
        tables.append(StoryboardTable(True, _columns(storyboard.alone, n_seeds)))
    return tables


def _columns(tables: MeasureTables, n_seeds: int) -> list[MeasureColumn]:
    columns = []
    for name, methods in tables.by_name().items():
        if not methods:
            continue
        best = max(figures.f1.mean for figures in methods.values())
        columns.append(
            MeasureColumn(
                MEASURE_NAMES[name],
                next(iter(methods.values())).nulls["equal-split"].f1.mean,
                {
                    method: MeasureCell(
                        figures,
                        lead_over_split(figures, n_seeds),
                        is_best=round(figures.f1.mean, 1) == round(best, 1),
                    )
                    for method, figures in methods.items()
                },
            )
        )
    return columns
