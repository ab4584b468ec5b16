"""One verdict: terminal and page judge the same lead alike."""

from __future__ import annotations

import html
import re

import pytest
from evaluations import make_evaluation, render

from stepreel.evaluation.report.text import verdict_text
from stepreel.evaluation.report.verdict import judge
from stepreel.evaluation.results import Results


def results_with(n_seeds=2, methods=("equal-split", "raw-kmeans", "paper", "stepreel"), **f1):
    """Return results whose F1 under `strict` are (mean, std)."""
    results, barcodes = make_evaluation(methods=methods, seeds=range(n_seeds))
    for method, (mean, std) in f1.items():
        figure = {"mean": mean, "std": std, "seeds": [mean] * n_seeds}
        results["protocols"]["strict"][method.replace("_", "-")]["f1"] = figure
    return results, barcodes


NULLS = {"equal_split": (20.0, 0.0), "raw_kmeans": (30.0, 1.0)}


@pytest.mark.parametrize(
    ("paper", "n_seeds", "distance", "judgement", "css"),
    [
        (
            (31.0, 3.0),
            2,
            "1.0 points above",
            "no more than the spread over seeds (±3.0)",
            "unclear",
        ),
        ((28.0, 0.0), 2, "2.0 points below", "the spread over seeds is ±1.0", "loss"),
        ((42.5, 2.0), 2, "12.5 points above", "the spread over seeds is ±2.0", "gain"),
        ((31.0, 0.0), 1, "1.0 points above", "with one seed, the spread is unknown", "gain"),
        ((30.0, 0.0), 2, "level with it", "the spread over seeds is ±1.0", "unclear"),
    ],
)
def test_terminal_and_page_say_the_same(paper, n_seeds, distance, judgement, css):
    nulls = NULLS if n_seeds > 1 else {name: (mean, 0.0) for name, (mean, _) in NULLS.items()}
    values, barcodes = results_with(n_seeds, paper=paper, stepreel=(5.0, 0.0), **nulls)
    results = Results.model_validate(values)
    verdict = judge(results)
    assert (verdict.best, verdict.null) == ("paper", "raw-kmeans")
    lead = verdict.leads["paper"]
    assert lead.distance == distance
    assert judgement in lead.judgement

    terminal = " ".join(verdict_text(results).split())
    assert f": {distance}{lead.judgement}" in terminal
    page = " ".join(html.unescape(re.sub("<[^>]+>", "", render(values, barcodes))).split())
    assert verdict.sentence in page
    assert distance.removesuffix(" it") in verdict.sentence
    assert verdict.sentence.endswith(f"the best null baseline, raw-kmeans{lead.judgement}.")
    assert f'class="lead-over {css}"' in render(values, barcodes)


def test_methods_are_listed_below_the_best_null_baseline():
    values, _ = results_with(
        equal_split=(30.0, 0.0), raw_kmeans=(10.0, 0.0), paper=(28.0, 0.0), stepreel=(41.5, 0.0)
    )
    first, paper, ours = verdict_text(Results.model_validate(values)).splitlines()
    assert "equal-split, has 30.0" in first
    assert paper == "  paper 28.0: 2.0 points below"
    assert ours == "  stepreel 41.5: 11.5 points above"


@pytest.mark.parametrize("methods", [("random",), ("paper",)])
def test_nothing_is_said_where_there_is_nothing_to_compare(methods):
    values, _ = results_with(methods=methods)
    results = Results.model_validate(values)
    assert verdict_text(results) == ""
    assert judge(results).sentence == ""


def test_the_verdict_fits_a_terminal():
    values, _ = results_with(paper=(31.0, 13.0), stepreel=(29.0, 13.0), **NULLS)
    lines = verdict_text(Results.model_validate(values)).splitlines()
    assert max(map(len, lines)) <= 80
