"""`stepreel tune`: what it prints, and what it says to things that cannot be."""

from __future__ import annotations

import json
import shutil

import pytest
from videos import busy_task, steady, write_video

from cli.commands import stepreel


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    paths = [write_video(folder / f"take{n}.mp4", steady(150), busy_task(n)) for n in range(2)]
    done = stepreel(
        *("run", *paths, "-o", folder / "out", "--set", "extract.cues=motion"),
        *("--set", "key_steps.min_step_seconds=0.25"),
        cache=folder / "cache",
    )
    assert done.returncode == 0, done.stderr
    shutil.rmtree(folder / "cache")
    return folder / "out"


@pytest.fixture
def copied(output, tmp_path):
    return shutil.copytree(output, tmp_path / "out")


def tune(folder, *options):
    return stepreel("tune", folder, *options, cache=folder / "no-cache")


def steps_of(folder):
    return json.loads((folder / "storyboard.json").read_text())["steps"]


def test_steps_are_printed_and_nothing_is_extracted(copied):
    done = tune(copied, "--top", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("storyboard: ") == 2
    assert "extracting" not in done.stderr
    assert [len(steps_of(copied / name)) for name in ("take0", "take1")] == [2, 2]
    assert not (copied / "no-cache").exists()


def test_all_steps_come_back(copied):
    before = steps_of(copied / "take0")
    tune(copied, "--top", 1)
    tune(copied, "--all")
    assert steps_of(copied / "take0") == before


def test_other_kinds_in_one_take_are_other_kinds_in_all(copied):
    done = tune(copied / "take1", "--clusters", 3)
    assert "kinds of steps are shared: all 2 recordings of the task were written" in done.stdout


def test_another_folder_leaves_the_first_as_it_is(copied, tmp_path):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    done = tune(copied, "--gap", 5, "-o", tmp_path / "other")
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert (tmp_path / "other" / "take1" / "storyboard.html").exists()
    again = tune(tmp_path / "other", "--top", 1)
    assert again.returncode == 0, again.stderr


def test_one_recording_whose_store_is_gone_costs_no_other(copied):
    shutil.rmtree(copied / "take0" / "tuning")
    done = tune(copied, "--top", 1)
    assert done.returncode == 1
    assert "take0: there is no tuning/" in done.stderr
    assert "Run `stepreel run` on the recording again" in done.stderr
    assert len(steps_of(copied / "take1")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--steps", "12..5"), "the first number is the smaller"),
        (("--gap", "0"), "split_gap_seconds"),
        (("--top", "0"), "expected"),
        (("--set", "train.epochs=3"), "use `stepreel run`"),
        (("--decoder", "kmeans"), "needs a learned embedding"),
        (("--decoder", "hm"), "unknown decoder"),
    ],
)
def test_what_cannot_be_is_explained_and_nothing_changes(copied, options, message):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    done = tune(copied, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_of_something_else_is_refused(tmp_path):
    done = tune(tmp_path, "--top", 1)
    assert done.returncode == 2
    assert "contains no storyboards" in done.stderr
