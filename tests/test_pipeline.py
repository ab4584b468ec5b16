from __future__ import annotations

import pytest
from videos import busy_task, steady, write_video

from stepreel.config import load_settings
from stepreel.pipeline import run_task
from stepreel.system.store import Store

SETTINGS = load_settings(
    "quick", {"train.epochs": 3, "extract.cues": ["motion"], "key_steps.n_clusters": 3}
)


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    return [write_video(folder / f"take{n}.mp4", steady(100 + n), busy_task(n)) for n in range(3)]


def test_a_folder_that_cannot_be_written_costs_that_recording_alone(takes, tmp_path):
    (tmp_path / "take1").mkdir()
    (tmp_path / "take1" / "pictures").write_text("in the way")
    result = run_task(takes, SETTINGS, Store(tmp_path / "cache"), output=tmp_path)
    assert list(result.boards) == [takes[0], takes[2]]
    assert "in the way" in result.failures[takes[1]]
    assert "take2/storyboard.html" in (tmp_path / "index.html").read_text()


def test_without_an_output_folder_no_pictures_are_promised(takes, tmp_path):
    board = run_task(takes[:1], SETTINGS, Store(tmp_path)).boards[takes[0]]
    assert board.strip is None
    assert {step.picture for step in board.steps} == {None}


def test_recordings_of_a_task_are_clustered_together(takes, tmp_path):
    boards = run_task(takes, SETTINGS, Store(tmp_path)).boards.values()
    assert {step.cluster for board in boards for step in board.steps} <= {0, 1, 2}


def test_the_same_run_twice_is_the_same_storyboard(takes, tmp_path):
    first = run_task(takes[:2], SETTINGS, Store(tmp_path / "a"))
    second = run_task(takes[:2], SETTINGS, Store(tmp_path / "b"))
    assert list(first.boards.values()) == list(second.boards.values())
