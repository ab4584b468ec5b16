"""Draw how long takes spend on each kind of step: a dot per take, the median and the quartiles."""

from __future__ import annotations

from dataclasses import dataclass

from stepreel.comparison.schema import Comparison, Durations, TakeSeconds
from stepreel.report.palette import Kind, kind_of
from stepreel.report.scale import Extent, lay_out_extent, percent

_ROOM = 0.96  # of the width, so that the last dot is drawn whole


@dataclass(frozen=True)
class Dot:
    """One take."""

    x: float
    entry: TakeSeconds


@dataclass(frozen=True)
class Spread:
    """One kind of step; `kind` is None for whole recordings."""

    kind: Kind | None
    title: str
    durations: Durations
    median: float
    quartiles: Extent
    dots: list[Dot]

    @property
    def unusual(self) -> list[TakeSeconds]:
        """The takes that are slow or quick."""
        return [e for e in self.durations.takes if e.pace in ("slow", "quick")]


def lay_out_spreads(comparison: Comparison) -> list[Spread]:
    """Place all kinds on one scale, and whole recordings on a scale of their own."""
    titles = {kind.cluster: kind.title for kind in comparison.kinds}
    of_kinds = [row for row in comparison.durations if row.cluster is not None]
    longest = max((entry.seconds for row in of_kinds for entry in row.takes), default=0.0)
    spreads = []
    for row in comparison.durations:
        seconds = longest
        if row.cluster is None:
            seconds = max(entry.seconds for entry in row.takes)
        spreads.append(_spread(row, seconds / _ROOM, titles))
    return spreads


def _spread(row: Durations, seconds: float, titles: dict[int, str]) -> Spread:
    return Spread(
        None if row.cluster is None else kind_of(row.cluster),
        "" if row.cluster is None else titles[row.cluster],
        row,
        percent(row.median, seconds),
        lay_out_extent(*row.quartiles, seconds),
        [Dot(percent(entry.seconds, seconds), entry) for entry in row.takes],
    )
