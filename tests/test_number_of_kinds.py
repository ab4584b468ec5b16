"""benchmarks/number_of_kinds.py: it measures what was found, and keeps it."""

from __future__ import annotations

import numpy as np
import pytest
from test_benchmarks import BENCHMARKS, run


@pytest.fixture
def number_tables(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import number_tables

    return number_tables


def measured_numbers(number_tables):
    """Two sources with a task each; found 8 and 12 of 4 and 12, with 6 and none offered."""
    measured = number_tables.MeasuredNumbers()
    scored = {
        way: dict.fromkeys(number_tables.MEASURES, 10.0 + n)
        for n, way in enumerate(number_tables.WAYS)
    }
    cases = (
        (("Bimacs", "bimacs_zed"), 4, 8, [6]),
        (("CaptainCook4D", "captaincook4d/coffee"), 12, 12, []),
    )
    for task, true, found, offered in cases:
        facts = {"takes": 5, "seconds": 19.4, "true": true, "per take": true - 0.5}
        measured.facts[task] = {**facts, "given": 6, "usual": 5}
        measured.takes[task] = [{"number": found, "offered": offered, **scored}] * 2
        measured.alone[task[0]] = [
            {"found": found, "offered": offered, "true": true},
            {"found": true, "offered": [], "true": true},
        ]
    return measured


def test_the_number_of_kinds_is_measured_and_finished_figures_are_kept(tmp_path):
    folder = tmp_path / "data" / "bimacs_zed"
    folder.mkdir(parents=True)
    for number in range(5):
        rng = np.random.default_rng(number)
        labels = np.repeat([1, 2, 3, 2], rng.integers(20, 40, size=4))
        hands = 3 * np.eye(4)[labels] + rng.normal(size=(len(labels), 4))
        times = np.arange(len(labels)) / 5
        np.savez(folder / f"take{number}.npz", times=times, hands=hands, labels=labels)
    options = ("--work", tmp_path / "work", "--seeds", 1, "--only", "bimacs")
    first = run("number_of_kinds.py", tmp_path / "data", *options)
    assert first.returncode == 0, first.stderr
    lines = [line for line in first.stdout.splitlines() if line.startswith("| bimacs_zed *")]
    assert lines[0].split("|")[3].strip() == "3 (3.0)"  # kinds that are true
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}
    again = run("number_of_kinds.py", tmp_path / "data", *options)
    assert again.stdout == first.stdout
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}


def test_the_page_of_numbers_has_every_table(number_tables, tmp_path, monkeypatch):
    monkeypatch.setattr(number_tables, "PAGE", tmp_path / "number.md")
    text = number_tables.number_page(measured_numbers(number_tables)).read_text()
    assert "<<" not in text
    assert "| Bimacs | 8.0 | 4.0 | 3.5 | × 2.00 | × 2.00 | × 1.50 | × 1.75 | × 1.25 |" in text
    assert "| **mean of 2 sources** | 10.0 | 8.0 | 7.5 | × 1.41 | × 1.41 |" in text
    assert "| mean of 1 tasks not chosen on | 12.0 |" in text
    assert "| CaptainCook4D | 10.0 | 11.0 | 12.0 | 13.0 | 14.0 | 15.0 |" in text
    assert "| **mean of 2 sources** | 10.0 ± 0.0 | 11.0 ± 0.0 |" in text
    assert "| bimacs_zed * | 5 × 19 s | 4 (3.5) | 8 | 6 |" in text
    assert "| coffee | 5 × 19 s | 12 (11.5) | 12 | – |" in text


def test_the_nearest_of_found_and_offered_counts(number_tables):
    measured = measured_numbers(number_tables)
    (bimacs,) = measured.tasks("Bimacs")
    assert measured.logs(bimacs, "found") == pytest.approx([np.log(2)] * 2)
    assert measured.nearest_logs(bimacs) == pytest.approx(np.log(1.5))  # 6 was offered, 4 is true
    halves_and_doubles = [[0.5], [2.0]]  # 4 is right, 16 no better than 8
    assert measured.nearest_logs(bimacs, halves_and_doubles) == pytest.approx(np.log(2) / 2)


def test_the_spread_is_that_of_the_mean_over_sources(number_tables):
    measured = measured_numbers(number_tables)
    for task, added in zip(measured.takes, (4.0, -2.0), strict=True):
        row = measured.takes[task][1]
        measured.takes[task][1] = {**row, "found": {**row["found"], "strict": 10.0 + added}}
    assert measured.means("found", "strict") == pytest.approx([10.0, 11.0])
    assert "| 10.5 ± 0.7 | 11.0 ± 0.0 |" in number_tables.tables(measured)["strict"]


def test_offers_are_compared_with_those_of_other_recordings(number_tables):
    rows = [
        {"found": 10, "offered": [5], "true": 5},  # its own offer is right; a double is not
        {"found": 10, "offered": [20], "true": 10},  # right without an offer
        {"found": 10, "offered": [], "true": 20},  # lent a half and a double: right once in two
    ]
    found, offered, lent = number_tables.near_shares(rows)
    assert found == pytest.approx(1 / 3)
    assert offered == pytest.approx(2 / 3)
    assert lent == pytest.approx((0 + 1 + 0.5) / 3)


def test_with_nothing_to_lend_only_what_was_found_counts(number_tables):
    assert number_tables.near_shares([{"found": 10, "offered": [20], "true": 20}]) == (0, 1, 0)
