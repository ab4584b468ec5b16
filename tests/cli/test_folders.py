"""A folder instead of files, as users type it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from videos import busy_task, steady, write_video

from cli.commands import FAST, stepreel


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    for number in (2, 10):
        hands = np.random.default_rng(number).normal(size=(40, 4))
        np.savez(folder / f"take{number}.npz", times=np.arange(40) / 4, hands=hands)
    (folder / "notes.txt").write_text("mine")
    return folder


def test_run_takes_a_folder_and_says_what_it_took(tmp_path):
    takes = tmp_path / "takes"
    takes.mkdir()
    for number in (2, 10):
        write_video(takes / f"take{number}.mp4", steady(180), busy_task(number))
    (takes / "empty.mp4").write_bytes(b"")
    (takes / "take2.gaze.csv").write_text("t,x,y")
    done = stepreel("run", takes, "https://youtu.be/a", "-o", tmp_path / "out", *FAST)
    assert done.returncode == 1, done.stderr
    first = done.stdout.splitlines()[0]
    assert first == (
        f"{takes}: 3 videos: empty.mp4, take2.mp4, take10.mp4; ignored: take2.gaze.csv"
    )
    assert done.stdout.index("take2.mp4: ") < done.stdout.index("take10.mp4: ")
    assert "2 done, 2 failed" in done.stdout
    assert "empty.mp4: is empty" in done.stderr
    assert "https://youtu.be/a: is a web address" in done.stderr
    assert (tmp_path / "out" / "take10" / "storyboard.html").exists()


def test_train_and_embed_take_a_folder_also_one_that_they_write_to(features):
    brief = ["--set", "train.epochs=2", "--set", "train.n_chunks=16", "-k", 2]
    for _ in range(2):
        done = stepreel("train", features, "-o", features, *brief)
        assert done.returncode == 0, done.stderr
        trained_on = json.loads((features / "model.json").read_text())["recordings"]
        assert trained_on == ["take2", "take10"]
        done = stepreel("embed", features, "--model", features, "-o", features)
        assert done.returncode == 0, done.stderr
        assert "2 feature files: take2.npz, take10.npz; ignored: " in done.stdout
    assert len(list(features.glob("*.embedding.npz"))) == 2


@pytest.mark.parametrize("name", ["none", "*.mp4", "http://example.org/a.mp4"])
def test_nothing_to_do_is_one_clear_message(tmp_path, name):
    (tmp_path / "none").mkdir()
    done = stepreel("run", name, "-o", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"stepreel: {name}: ")
    assert not (tmp_path / "out").exists()
