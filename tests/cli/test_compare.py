"""`stepreel compare`: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json

import pytest
from boards import pictures_of
from compared_takes import board_of
from videos import ordered_task, steady, write_video

from cli.commands import FAST, stepreel
from stepreel.comparison.schema import Comparison
from stepreel.report import write_index, write_report
from stepreel.storyboard.schema import read_storyboard

ORDERS = {"take1": "ABCD", "take2": "ABCD", "take3": "ACBD", "take4": "ABCD", "take5": "ABD"}


@pytest.fixture
def task(tmp_path):
    boards = [(name, board_of(order, title=name)) for name, order in ORDERS.items()]
    for name, board in boards:
        write_report(board, tmp_path / "out" / name, pictures=pictures_of(board), strip=None)
    write_index(tmp_path / "out", boards, failed=[])
    return tmp_path / "out"


def test_it_says_what_differs_and_writes_page_and_data(task):
    done = stepreel("compare", "out", cwd=task.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "5 takes, 4 kinds of step",
        "usual order: A, B, C, D",
        "  take3 does C before B; the others with both do B first.",
        "  take5 skips C; the others do it.",
        "data: out/compare.json, out/compare.csv",
        "comparison: out/compare.html",
    ]
    comparison = Comparison.model_validate_json((task / "compare.json").read_text())
    assert [d.type for d in comparison.departures] == ["swapped", "skipped"]
    rows = list(csv.DictReader((task / "compare.csv").open(encoding="utf-8")))
    assert len(rows) == 4 * 4 + 3 + 1
    assert [row["kind"] for row in rows if row["take"] == "take3"] == list("ACBD")
    assert [row["role"] for row in rows if row["take"] == "take3"].count("moved") == 1
    (skipped,) = [row for row in rows if row["role"] == "skipped"]
    assert (skipped["take"], skipped["kind"], skipped["place"]) == ("take5", "C", "")
    before = {path.name: path.read_bytes() for path in task.glob("compare.*")}
    assert stepreel("compare", task).returncode == 0
    assert {path.name: path.read_bytes() for path in task.glob("compare.*")} == before


def test_another_folder_gets_the_files_if_asked_to(task):
    done = stepreel("compare", task, "-o", task.parent / "elsewhere")
    assert done.returncode == 0, done.stderr
    page = (task.parent / "elsewhere" / "compare.html").read_text()
    assert 'href="../out/take1/storyboard.html"' in page
    assert not (task / "compare.html").exists()


def test_what_is_left_out_shows_in_the_exit_status(task):
    (task / "take2" / "storyboard.json").write_text("{}")
    done = stepreel("compare", task)
    assert done.returncode == 1
    assert "left out: " in done.stderr
    assert "4 takes" in done.stdout


def test_what_cannot_be_compared_is_refused_in_one_line(task):
    for given in (task / "take1", task / "nowhere"):
        done = stepreel("compare", given)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "Traceback" not in done.stderr
    assert not list(task.glob("compare.*"))


def test_the_published_schema_describes_what_is_written(task):
    schema = json.loads(stepreel("schema", "comparison").stdout)
    assert stepreel("compare", task).returncode == 0
    written = json.loads((task / "compare.json").read_text())
    assert set(written) == set(schema["properties"])
    assert schema["properties"]["version"]["const"] == written["version"] == 1


def test_takes_cut_into_equal_parts_seem_alike_and_the_comparison_says_why(tmp_path):
    """From videos on: with three short takes nothing shows that one has another order."""
    orders = {"take1": "ABCD", "take2": "ABCD", "take3": "ACBD"}
    for seed, (name, order) in enumerate(orders.items()):
        paint, n_frames = ordered_task(order, seed=seed, frames_each=20)
        write_video(tmp_path / f"{name}.mp4", steady(n_frames, fps=10), paint)
    videos = [tmp_path / f"{name}.mp4" for name in orders]
    done = stepreel("run", *videos, "-o", tmp_path / "out", "-k", 4, *FAST)
    assert done.returncode == 0, done.stderr
    done = stepreel("compare", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "note: No clear structure was found in any of these takes" in done.stdout
    comparison = Comparison.model_validate_json((tmp_path / "out" / "compare.json").read_text())
    assert comparison.departures == []  # not because there is none
    for take in comparison.takes:
        board = read_storyboard(tmp_path / "out" / take.folder / "storyboard.json")
        assert [(v.cluster, v.start, v.end) for v in take.visits] == [
            (step.cluster, step.start, step.end) for step in board.steps
        ]
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "No departures found" in page
    assert page.count("data:image/jpeg") == sum(len(take.visits) for take in comparison.takes)
