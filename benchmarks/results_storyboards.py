"""Tables of docs/results/storyboards.md: what storyboards are worth, set by set."""

from __future__ import annotations

from results_markdown import figure_text, narrow_tables
from results_sets import SETS

from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.report.verdict import lead_over_split
from stepreel.evaluation.results import Results
from stepreel.evaluation.storyboard_figures import MeasureFigures


def storyboard_pieces(measured: dict[str, Results]) -> dict[str, str]:
    """Tables of both measures, and of how many steps are shown; sets across."""
    together, alone = {}, {}
    for dataset in SETS:
        own = measured[dataset.name].storyboard
        assert own is not None, dataset.title
        assert own.alone is not None, dataset.title
        together[dataset.title], alone[dataset.title] = own.by_name(), own.alone.by_name()
    return {
        f"storyboard {name}{suffix}": table
        for suffix, sets in (("", together), ("-per-video", alone))
        for name, table in _storyboard_tables(sets).items()
    }


def _storyboard_tables(sets: dict[str, dict[str, dict[str, MeasureFigures]]]) -> dict[str, str]:
    names = [f"`{method}`" for method in METHODS.own]
    tables = {}
    for measure in next(iter(sets.values())):
        columns = {}
        for title, measures in sets.items():
            methods = measures[measure]
            highest = max(methods, key=lambda method: methods[method].f1.mean)
            columns[title] = [worth_cell(methods.get(m), best=m == highest) for m in METHODS.own]
        tables[measure] = narrow_tables("F1", columns, names)
    numbers = {}
    for title, measures in sets.items():
        methods = measures["coverage"]
        shown = [figure_text(methods[m].n_shown, 1) if m in methods else "–" for m in METHODS.own]
        numbers[title] = [*shown, f"{next(iter(methods.values())).n_true.mean:.1f}"]
    return tables | {"numbers": narrow_tables("steps shown", numbers, [*names, "true steps"])}


def worth_cell(figures: MeasureFigures | None, *, best: bool = False) -> str:
    """Write F1 ± spread of storyboards, and its lead over as many equal parts."""
    if figures is None:
        return "–"
    lead = lead_over_split(figures, len(figures.f1.seeds))
    points = "0.0" if lead.is_level else f"{lead.points:+.1f}".replace("-", "−")
    text = f"{figure_text(figures.f1, 1)} ({points})"
    return f"**{text}**" if best else text
