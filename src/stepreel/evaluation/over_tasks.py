"""Figures over seeds and tasks, as results.json has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.figures import Figure

DIGITS = 4


def figure(values: Iterable[float]) -> Figure:
    """Return mean, standard deviation and the values themselves.

    >>> figure([1.0, 3.0])
    Figure(mean=2.0, std=1.0, seeds=[1.0, 3.0])
    """
    numbers = [float(value) for value in values]
    return Figure(
        mean=round(float(np.mean(numbers)), DIGITS),
        std=round(float(np.std(numbers)), DIGITS),
        seeds=[round(number, DIGITS) for number in numbers],
    )


def over_tasks(values: Sequence[Sequence[float]]) -> Figure:
    """Return the figure of means over tasks (rows), one per seed (columns)."""
    return figure(float(value) for value in np.mean(values, axis=0))


def methods_of_all(comparisons: Sequence[TaskComparison]) -> list[str]:
    """Return the methods that ran on all tasks: only these have means over tasks."""
    return [
        method
        for method in comparisons[0].predictions
        if all(method in comparison.predictions for comparison in comparisons)
    ]
