"""Fit the confidence of steps to labelled recordings, and say how far it can be trusted.

    python benchmarks/calibrate.py DATA [--work build/calibration] [--write]

Steps are found in all sources of calibrate_cases.py as `stepreel run` finds them, also in noise of
the same length. Every figure below is of a source that was left out when the model was fitted. With
--write, the model fitted to all sources is written to the package, and the tables to
docs/results.md. Finished work is kept, and the same command continues.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from calibrate_cases import LATER, SOURCES, Case, ChanceCase, cases_of, chance_cases, samples
from calibrate_tables import END, START, TABLES, confidence_block, count_repeats, tables
from scipy.optimize import minimize

from stepreel.steps.confidence import Calibration, LogisticModel, Weight, probability, state
from stepreel.steps.evidence import EVIDENCE
from stepreel.system.files import write_text
from stepreel.system.store import Store

ROOT = Path(__file__).parent.parent
CALIBRATION = ROOT / "src" / "stepreel" / "steps" / "calibration.json"
DOCUMENT = ROOT / "docs" / "results.md"
RIDGE = 0.01  # of standardised weights, against the mean log-loss
CLEAR = 0.25
FEWEST_CLAIMS = 20
# Chosen by the log-loss on sources left out (docs/research.md). Choosing inside the fit is less
# stable: what is chosen changes with every source, and so does what a confidence means.
EVIDENCE_IN_USE = ("length", "departure")
NOISE_WEIGHT = 0.25  # of a source's noise, compared with its recordings


class Rows:
    """The steps of several cases, one row each, and how much each counts.

    Every source counts the same, and so do its recordings; noise counts less.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.evidence = {name: self._join([c.evidence[name] for c in cases]) for name in EVIDENCE}
        self.counts = self._join([np.full(len(c.right), len(c.right)) for c in cases])
        self.right = self._join([case.right for case in cases]).astype(float)
        self.chance_rate = self._join([np.full(len(c.right), c.chance_rate) for c in cases])
        groups = [(case.source, case.is_noise) for case in cases]
        sizes = [len(case.right) * groups.count(g) for case, g in zip(cases, groups, strict=True)]
        weight = self._join(
            [
                np.full(len(c.right), (NOISE_WEIGHT if c.is_noise else 1.0) / size)
                for c, size in zip(cases, sizes, strict=True)
            ]
        )
        self.weight = weight / weight.mean() if len(weight) else weight

    @staticmethod
    def _join(parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts) if parts else np.zeros(0)


def fit_logistic(
    inputs: dict[str, np.ndarray], outcome: np.ndarray, weight: np.ndarray, offset: np.ndarray
) -> LogisticModel:
    """Fit log-odds = offset + intercept + weights of standardised inputs, with a ridge."""
    means = {name: float(np.average(x, weights=weight)) for name, x in inputs.items()}
    scales = {
        name: float(np.sqrt(np.average((x - means[name]) ** 2, weights=weight))) + 1e-6
        for name, x in inputs.items()
    }
    columns = [(x - means[name]) / scales[name] for name, x in inputs.items()]
    design = np.stack([np.ones(len(outcome)), *columns], axis=1)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        log_odds = offset + design @ parameters
        value = np.average(np.logaddexp(0, log_odds) - outcome * log_odds, weights=weight)
        gradient = design.T @ (weight * (probability(log_odds) - outcome)) / weight.sum()
        penalty = np.concatenate([[0.0], parameters[1:]])
        return value + RIDGE * float(penalty @ penalty), gradient + 2 * RIDGE * penalty

    fitted = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x
    return LogisticModel(
        intercept=float(fitted[0]),
        weights={
            name: Weight(mean=means[name], scale=scales[name], weight=float(value))
            for name, value in zip(inputs, fitted[1:], strict=True)
        },
    )


def log_odds_of_chance(rows: Rows) -> np.ndarray:
    """Return the log-odds of the equal parts' rate, which is known here; away from 0 and 1."""
    rate = (rows.chance_rate * rows.counts + 0.5) / (rows.counts + 1)
    return np.log(rate / (1 - rate))


def fit_lift(rows: Rows, evidence: Sequence[str]) -> LogisticModel:
    inputs = {name: rows.evidence[name] for name in evidence}
    return fit_logistic(inputs, rows.right, rows.weight, log_odds_of_chance(rows))


def fit_chance(cases: Sequence[ChanceCase]) -> LogisticModel:
    """Fit the rate of equal parts; every source counts the same."""
    names = [case.source for case in cases]
    weight = np.array([1 / names.count(name) for name in names])
    inputs = {name: np.array([case.inputs[name] for case in cases]) for name in cases[0].inputs}
    rates = np.array([case.rate for case in cases])
    return fit_logistic(inputs, rates, weight / weight.mean(), np.zeros(len(cases)))


def fit(cases: Sequence[Case], equal_parts: Sequence[ChanceCase]) -> Calibration:
    """Fit the calibration.

    Cases that are recognised as noise get no confidence anyway. Later takes show whether the fit
    holds with `--model`, too.
    """
    usable = [case for case in cases if not case.is_white and case.variant != LATER]
    rows = Rows(usable)
    return Calibration(
        chance=fit_chance(equal_parts),
        lift=fit_lift(rows, EVIDENCE_IN_USE),
        clear=CLEAR,
        repeat=None,
        sources={
            source: sum(len(c.right) for c in usable if c.source == source and not c.is_noise)
            for source in dict.fromkeys(case.source for case in cases)
        },
    )


def stated(case: Case, fitted: Calibration) -> np.ndarray:
    """Return the confidence of the steps of a case, as `stepreel run` states it."""
    count = len(case.right)
    if case.is_white:
        return np.zeros(count)
    return state(fitted, case.chance, case.evidence, count)


def repeat_level(cases: Sequence[Case], confidence: Sequence[np.ndarray]) -> float | None:
    """Return the lowest confidence from which most claims of a repeat are right, if there is one.

    The confidences are those of sources left out, noise included, and without later takes, as in
    the fit. A level needs enough claims to be judged by, and higher levels must do as well.
    """
    pairs = zip(cases, confidence, strict=True)
    rows = [(case, values) for case, values in pairs if case.variant != LATER]
    lowest = None
    for percent in range(95, 0, -5):
        claimed, correct = count_repeats(rows, percent / 100)
        if claimed >= FEWEST_CLAIMS and correct < claimed / 2:
            break
        if claimed >= FEWEST_CLAIMS:
            lowest = percent / 100
    return lowest


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of all sources")
    parser.add_argument("--work", type=Path, default=Path("build/calibration"))
    parser.add_argument("--write", action="store_true", help="write the package's calibration")
    parser.add_argument("--quick", action="store_true", help="few recordings, to try the command")
    options = parser.parse_args()
    store = Store(options.work / "cache")
    cases: list[Case] = []
    for source in SOURCES:
        if missing := [f for f in source.folders if not (options.data / f).is_dir()]:
            print(f"{source.name}: {missing[0]} not found in {options.data}, skipped", flush=True)
            continue
        cases += cases_of(source, options.data, store, quick=options.quick)
        print(f"{source.name}: {len(cases)} recordings so far", file=sys.stderr, flush=True)
    cases += samples(options.work, store)
    names = list(dict.fromkeys(case.source for case in cases))
    if len(names) < 3:
        raise SystemExit(f"{len(names)} sources found; at least 3 are needed to leave one out")
    equal_parts = list(chance_cases(options.data))
    left_out = {
        name: fit(
            [case for case in cases if case.source != name],
            [case for case in equal_parts if case.source != name],
        )
        for name in names
    }
    confidence = [stated(case, left_out[case.source]) for case in cases]
    fitted = fit(cases, equal_parts).model_copy(update={"repeat": repeat_level(cases, confidence)})
    text = tables(cases, confidence, fitted)
    print(text)
    if options.write:
        if len(names) < len(SOURCES) + 1:
            raise SystemExit("nothing was written: sources are missing")
        write_text(CALIBRATION, json.dumps(fitted.model_dump(), indent=2) + "\n")
        write_text(TABLES, text)
        document = DOCUMENT.read_text(encoding="utf-8")
        before, rest = document.split(f"{START}\n", 1)
        write_text(DOCUMENT, before + confidence_block() + rest.split(f"{END}\n", 1)[1])


if __name__ == "__main__":
    main()
