"""Tables that say how far the confidence of steps can be trusted."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from calibrate_cases import LATER, NOISE, Case
from results_markdown import PAGE_WIDTH, markdown

from stepreel.evaluation.truth.annotation import BACKGROUND
from stepreel.steps.confidence import Calibration, has_clear_structure

TABLES = Path(__file__).parent / "results_templates" / "confidence.txt"
START, END = "<!-- confidence: benchmarks/calibrate.py -->", "<!-- end of confidence -->"
LATER_TAKES = (
    "With `--model`; the model was learned from the first half of the takes, and these are the "
    "others:\n"
)
BINS = (0.0, 0.05, 0.15, 0.25, 0.4, 1.0)


def tables(cases: Sequence[Case], stated: Sequence[np.ndarray], fitted: Calibration) -> str:
    """Write all tables; `stated` are confidences from models that never saw the source."""
    rows = list(zip(cases, stated, strict=True))
    real = [row for row in rows if not row[0].is_noise and row[0].variant != LATER]
    later = [row for row in rows if row[0].variant == LATER]
    noise = [row for row in rows if row[0].is_noise]
    evidence = ", ".join(f"{name} {w.weight:+.2f}" for name, w in fitted.lift.weights.items())
    return "\n".join(
        [
            _reliability(real),
            _by_source(real, fitted.clear),
            *([LATER_TAKES, _by_source(later, fitted.clear)] if later else []),
            _of_noise(noise, fitted.clear),
            f"Taken for white noise: {sum(c.is_white for c, _ in real)} recordings.\n",
            f"{_repeats(real, fitted.repeat)}\n",
            f"Evidence in use, with its standardised weight: {evidence or 'none'}.",
        ]
    )


def confidence_block() -> str:
    """Return the tables as they stand in docs/results.md, between two marks."""
    return f"{START}\n\n{TABLES.read_text(encoding='utf-8')}\n{END}\n"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def realised(right: np.ndarray, chance: np.ndarray) -> float:
    """Return what the confidence of these steps should have been, on average."""
    return float((right.mean() - chance.mean()) / (1 - chance.mean()))


def _joined(rows: Sequence[tuple[Case, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = np.concatenate([values for _, values in rows])
    right = np.concatenate([case.right for case, _ in rows])
    chance = np.concatenate([np.full(len(c.right), c.chance_rate) for c, _ in rows])
    return values, right, chance


def _reliability(rows: Sequence[tuple[Case, np.ndarray]]) -> str:
    values, right, chance = _joined(rows)
    lines = []
    for low, high in zip((-1.0, *BINS[:-1]), BINS, strict=True):
        inside = (values > low) & (values <= high)
        title = "0 %" if low < 0 else f"{_percent(low)} to {_percent(high)}"
        if not inside.any():
            lines.append([title, "0", "–", "–", "–", "–"])
            continue
        lines.append(
            [
                title,
                f"{inside.sum()}",
                _percent(values[inside].mean()),
                _percent(right[inside].mean()),
                _percent(chance[inside].mean()),
                _percent(realised(right[inside], chance[inside])),
            ]
        )
    head = ["confidence", "steps", "stated, mean", "right", "equal parts right", "realised"]
    return markdown(head, lines)


def _by_source(rows: Sequence[tuple[Case, np.ndarray]], clear: float) -> str:
    lines = []
    for source in dict.fromkeys(case.source for case, _ in rows):
        values, right, chance = _joined([row for row in rows if row[0].source == source])
        lines.append(
            [
                source,
                f"{len(values)}",
                _percent(values.mean()),
                _percent(right.mean()),
                _percent(chance.mean()),
                _percent(realised(right, chance)),
                _clear_recordings([row for row in rows if row[0].source == source], clear),
            ]
        )
    head = ["left out", "steps", "stated, mean", "right", "equal parts right", "realised"]
    return markdown([*head, "clear recordings"], lines)


def _clear_recordings(rows: Sequence[tuple[Case, np.ndarray]], clear: float) -> str:
    n_clear = sum(
        has_clear_structure(values.tolist(), clear, found=case.found) for case, values in rows
    )
    return f"{n_clear} of {len(rows)}"


def _of_noise(rows: Sequence[tuple[Case, np.ndarray]], clear: float) -> str:
    lines = []
    for kind in NOISE:
        here = [row for row in rows if row[0].variant == kind]
        if not here:
            continue
        values = np.concatenate([own for _, own in here])
        unclear = sum(
            not has_clear_structure(own.tolist(), clear, found=case.found) for case, own in here
        )
        lines.append(
            [
                kind,
                f"{len(here)}",
                f"{len(values)}",
                _percent(float(np.median(values))),
                _percent(float(np.quantile(values, 0.9))),
                f"{unclear}",
            ]
        )
    head = ["noise", "recordings", "steps", "median confidence", "90th percentile"]
    return markdown([*head, "no clear structure"], lines)


def count_repeats(rows: Sequence[tuple[Case, np.ndarray]], level: float) -> tuple[int, int]:
    """Count steps that would be called repeats, and those that do show the same true step.

    A repeat is a step that looks like an earlier one, both with at least `level` of confidence.
    """
    claimed = correct = 0
    for case, values in rows:
        for step in np.flatnonzero(values >= level):
            looks_alike = case.cluster[:step] == case.cluster[step]
            earlier = np.flatnonzero(looks_alike & (values[:step] >= level))
            if len(earlier):
                claimed += 1
                is_same = case.true_step[earlier] == case.true_step[step]
                correct += bool(case.true_step[step] != BACKGROUND and is_same.any())
    return claimed, correct


def _repeats(rows: Sequence[tuple[Case, np.ndarray]], level: float | None) -> str:
    counts = {at: count_repeats(rows, at) for at in (0.0, 0.25, 0.5)}
    seen = ", ".join(
        f"{_percent(correct / max(1, claimed))} of {claimed} from {_percent(at)} on"
        for at, (claimed, correct) in counts.items()
    )
    rule = (
        "So no step is called done again"
        if level is None
        else f"A step is called done again from {_percent(level)} on"
    )
    return textwrap.fill(
        f"Repeats: of steps that look like an earlier one, these show the same true step: {seen}. "
        f"{rule}.",
        PAGE_WIDTH,
    )
