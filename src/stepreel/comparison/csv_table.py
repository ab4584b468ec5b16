"""A comparison as a table: one row per step of a take, and one per step that a take lacks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from stepreel.comparison.schema import ComparedTake, Comparison, Visit
from stepreel.report.exports.csv_table import as_plain_text

COLUMNS = (
    "take",
    "folder",
    "place",
    "kind",
    "title",
    "role",
    "usual_place",
    "start_s",
    "end_s",
    "seconds",
    "median_s",
    "steps",
    "confidence",
)


def to_csv(comparison: Comparison) -> str:
    """Write the takes one after another, each in its own order; missing steps at its end."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for take in comparison.takes:
        rows.writerows(_rows(comparison, take))
    return text.getvalue()


def _rows(comparison: Comparison, take: ComparedTake) -> Iterator[list[str | int]]:
    medians = {row.cluster: row.visit_median for row in comparison.durations}
    kinds = {kind.cluster: kind for kind in comparison.kinds}

    def row(place: int | str, cluster: int, *rest: str | int) -> list[str | int]:
        kind = kinds[cluster]
        names = [as_plain_text(text) for text in (take.name, take.folder)]
        return [*names, place, kind.letter, as_plain_text(kind.title), *rest]

    for place, visit in enumerate(take.visits, start=1):
        median = f"{medians[visit.cluster]:.3f}"
        yield row(place, visit.cluster, *_of_visit(visit, median))
    for one in comparison.departures:
        if one.take == take.folder and one.type in ("skipped", "fewer"):
            median = f"{medians[one.cluster]:.3f}"
            expected = one.usual_place or ""
            yield row("", one.cluster, one.type, expected, "", "", "", median, "", "")


def _of_visit(visit: Visit, median: str) -> list[str | int]:
    times = [f"{value:.3f}" for value in (visit.start, visit.end, visit.seconds)]
    steps = " ".join(map(str, visit.steps))
    return [visit.role, visit.usual_place or "", *times, median, steps, f"{visit.confidence:.4f}"]
