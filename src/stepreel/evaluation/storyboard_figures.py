"""The field `storyboard` of results.json: what the storyboards of every method are worth."""

from __future__ import annotations

from pydantic import Field

from stepreel.evaluation.figures import Figure
from stepreel.system.contracts import Contract

RATES = ("f1", "precision", "recall")


class RateFigures(Contract):
    """Precision, recall and F1 of storyboards, in percent; means over recordings."""

    f1: Figure
    precision: Figure
    recall: Figure


class MeasureFigures(RateFigures):
    """One measure of a method's storyboards, and what chance reaches with the same number."""

    n_shown: Figure = Field(description="Shown steps, or predicted borders, per recording.")
    n_true: Figure = Field(description="True segments, or true borders, per recording.")
    nulls: dict[str, RateFigures] = Field(
        description="matched-split: as many moments or borders at equal distances; "
        "matched-random: as many anywhere, mean of 100 draws; equal-split: K equal parts."
    )

    def figures(self) -> dict[str, Figure]:
        """Return all figures by name; those of null baselines as `matched_split_f1` and so on."""
        own = {name: getattr(self, name) for name in (*RATES, "n_shown", "n_true")}
        return own | {
            f"{null.replace('-', '_')}_{name}": getattr(rates, name)
            for null, rates in self.nulls.items()
            for name in RATES
        }


class MeasureTables(Contract):
    """Both measures of what storyboards are worth."""

    coverage: dict[str, MeasureFigures] = Field(
        description="Is every true segment shown, once? By method."
    )
    borders: dict[str, dict[str, MeasureFigures]] = Field(
        description="Do steps begin and end where they do? By method, then by tolerance: 1s, 2s, "
        "5% of the recording."
    )

    def by_name(self) -> dict[str, dict[str, MeasureFigures]]:
        """Return the figures of all methods for coverage, and for borders by tolerance.

        Keys: `coverage`, `borders-1s`, `borders-2s`, `borders-5%`.
        """
        tolerances = next(iter(self.borders.values()), {})
        return {"coverage": self.coverage} | {
            f"borders-{tolerance}": {m: own[tolerance] for m, own in self.borders.items()}
            for tolerance in tolerances
        }


class StoryboardFigures(MeasureTables):
    """What storyboards are worth; see docs/evaluation.md."""

    recordings: int = Field(description="Recordings that are scored.")
    left_out: int = Field(description="Recordings without any true step, which are not scored.")
    alone: MeasureTables | None = Field(
        default=None,
        description="The same with every recording clustered by itself, where methods do cluster.",
    )
