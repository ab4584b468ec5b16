"""The verdict on results: how far methods are above or below the best null baseline.

The terminal and the page both take it from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stepreel.evaluation.results import MethodFigures, Results
from stepreel.evaluation.storyboard_figures import MeasureFigures

HEADLINE = "strict"
SMALLEST_SHOWN = 0.05  # less would be written as 0.0


@dataclass(frozen=True)
class Lead:
    """How many points of F1 a method is above the best null baseline; negative if below.

    spread  the larger one of both standard deviations over seeds
    """

    points: float
    spread: float
    n_seeds: int

    @property
    def is_clear(self) -> bool:
        """Whether it is larger than the spread, and would not be written as 0.0."""
        return abs(self.points) > max(self.spread, SMALLEST_SHOWN)

    @property
    def is_level(self) -> bool:
        """Whether it would be written as 0.0 points."""
        return abs(self.points) < SMALLEST_SHOWN

    @property
    def distance(self) -> str:
        """How far above or below the baseline: `1.0 points above`."""
        if self.is_level:
            return "level with it"
        return f"{abs(self.points):.1f} points {'above' if self.points > 0 else 'below'}"

    @property
    def judgement(self) -> str:
        """What the spread over seeds says about it, to go on with after `distance`."""
        if self.n_seeds == 1:
            return "; with one seed, the spread is unknown"
        if self.spread < SMALLEST_SHOWN:
            return ""
        if self.is_clear or self.is_level:
            return f"; the spread over seeds is ±{self.spread:.1f}"
        return f", no more than the spread over seeds (±{self.spread:.1f})"


@dataclass(frozen=True)
class Verdict:
    """Methods under one protocol, compared with the best null baseline.

    null   the best null baseline; None if none was run
    leads  of all methods that are not null baselines; empty without one
    best   the best of these methods; None if there is none
    """

    protocol: str
    null: str | None
    leads: dict[str, Lead]
    best: str | None

    @property
    def sentence(self) -> str:
        """The verdict on the best method; empty if there is nothing to compare."""
        if self.best is None or self.null is None:
            return ""
        lead = self.leads[self.best]
        claim = "level with" if lead.is_level else lead.distance
        return f"{self.best} is {claim} the best null baseline, {self.null}{lead.judgement}."


def judge(results: Results, protocol: str = HEADLINE) -> Verdict:
    """Compare all methods with the best null baseline under a protocol."""
    methods = results.protocols[protocol]
    others = {name: figures for name, figures in methods.items() if not results.is_null(name)}
    null = best_null(methods, results.is_null)
    leads = {}
    if null is not None:
        for name, figures in others.items():
            spread = max(figures.f1.std, methods[null].f1.std)
            points = f1_mean(figures) - f1_mean(methods[null])
            leads[name] = Lead(points, spread, len(results.settings.seeds))
    return Verdict(protocol, null, leads, _highest(others))


def lead_over_split(figures: MeasureFigures, n_seeds: int) -> Lead:
    """Compare the F1 of storyboards with the equal split that shows as many steps or borders."""
    split = figures.nulls["matched-split"].f1
    return Lead(figures.f1.mean - split.mean, max(figures.f1.std, split.std), n_seeds)


def best_null(methods: Mapping[str, MethodFigures], is_null: Callable[[str], bool]) -> str | None:
    """Return the null baseline with the highest F1, the first of equals; None without any."""
    return _highest({name: figures for name, figures in methods.items() if is_null(name)})


def f1_mean(figures: MethodFigures) -> float:
    """Return a method's F1, which always exists."""
    return figures.f1.mean


def _highest(methods: Mapping[str, MethodFigures]) -> str | None:
    return max(methods, key=lambda name: f1_mean(methods[name]), default=None)
