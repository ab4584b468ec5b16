"""One figure of results.json: its mean and spread over seeds."""

from __future__ import annotations

from pydantic import Field

from stepreel.system.contracts import Contract


class MetricFigure(Contract):
    """One figure of a task metric, over seeds; null if it does not exist for any task."""

    mean: float | None = Field(description="Mean over seeds.")
    std: float | None = Field(description="Standard deviation of the population, over seeds.")
    seeds: list[float] = Field(description="The figure of every seed, in the order of the seeds.")


class Figure(MetricFigure):
    """One figure, over seeds."""

    mean: float = Field(description="Mean over seeds.")
    std: float = Field(description="Standard deviation of the population, over seeds.")
