"""Titles of kinds of steps, as far as a person gave their steps one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stepreel.report.wording import one_line
from stepreel.storyboard.schema import KeyStep
from stepreel.storyboard.titles import default_title


def given_title(step: KeyStep) -> str:
    """Return the title that a person gave a step; empty if it is only named by kind or number."""
    title = one_line(step.title)
    default = default_title(step.cluster, step.occurrence, is_repeat=step.is_repeat)
    return "" if title in (default, f"Step {step.index}") else title


def kind_titles(steps: Iterable[KeyStep]) -> dict[int, str]:
    """Return the title that more than half of the steps of a kind have, by kind."""
    titles: dict[int, Counter[str]] = {}
    for step in steps:
        titles.setdefault(step.cluster, Counter())[given_title(step)] += 1
    most = {cluster: counts.most_common(1)[0] for cluster, counts in titles.items()}
    return {
        cluster: title
        for cluster, (title, count) in most.items()
        if title and 2 * count > titles[cluster].total()
    }
