"""The cache as users see it: its size and limit, clearing it, and doing without."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from videos import busy_task, steady, write_video

from cli.commands import FAST, TRAINED, stepreel

LEARN = [*FAST, *TRAINED]  # models and embeddings are cached, too


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    write_video(folder / "take.mp4", steady(90), busy_task())
    done = stepreel("run", "take.mp4", *LEARN, cwd=folder, cache=folder / "cache")
    assert done.returncode == 0, done.stderr
    return folder


def contents(cache):
    """Return the content of every file."""
    return {
        path.relative_to(cache): path.read_bytes() for path in cache.rglob("*") if path.is_file()
    }


def board(output):
    return json.loads((output / "take" / "storyboard.json").read_text())


def test_without_the_cache_the_result_is_the_same_and_nothing_is_read_or_kept(folder, tmp_path):
    cache = folder / "cache"
    for file in cache.rglob("*.safetensors"):  # would give a warning if they were read
        file.write_bytes(bytes(100))
    before = contents(cache)
    done = stepreel(
        "run", "take.mp4", "-o", "anew", "--no-cache", "-q", *LEARN, cwd=folder, cache=cache,
        TMPDIR=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert board(folder / "anew") == board(folder / "out")
    assert contents(cache) == before
    assert not list(tmp_path.glob("stepreel-*"))
    again = stepreel("run", "take.mp4", "-o", "again", "-q", *LEARN, cwd=folder, cache=cache)
    assert again.returncode == 0, again.stderr
    first, others = again.stderr.splitlines()  # however many there are
    assert first.endswith(".safetensors is damaged (its header is wrong); making it again")
    assert re.search(rf"{cache}: \d more files were damaged, in 2 folders in all; made", others)
    assert board(folder / "again") == board(folder / "out")


@pytest.mark.parametrize("command", ["run", "train", "embed", "evaluate", "demo"])
def test_every_command_with_a_cache_can_do_without(command):
    text = stepreel(command, "--help", COLUMNS="200").stdout
    assert "--cache" in text
    assert "--no-cache" in text


def test_a_cache_folder_and_no_cache_exclude_each_other(folder, tmp_path):
    done = stepreel("run", folder / "take.mp4", "--cache", tmp_path, "--no-cache")
    assert done.returncode == 2
    assert "leave one out" in done.stderr


def test_the_command_shows_limits_and_clears(folder, tmp_path):
    cache = tmp_path / "cache"
    stepreel("run", folder / "take.mp4", "-o", tmp_path / "out", *LEARN, cache=cache)
    shown = stepreel("cache", cache=cache)
    assert shown.returncode == 0, shown.stderr
    assert str(cache) in shown.stdout
    assert "at most 20 GB (default)" in shown.stdout
    assert "features, pictures and embeddings" in shown.stdout
    limited = stepreel("cache", "--limit", "20KB", cache=cache)
    assert "removed: " in limited.stdout
    assert sum(map(len, contents(cache).values())) < 25_000
    info = " ".join(stepreel("info", cache=cache).stdout.split())  # lines are wrapped
    assert "at most 0.02 MB" in info
    # Whatever the limit, a run has what it needs; afterwards the limit holds.
    done = stepreel("run", folder / "take.mp4", "-o", tmp_path / "again", *LEARN, cache=cache)
    assert done.returncode == 0, done.stderr
    assert board(tmp_path / "again") == board(tmp_path / "out")
    assert sum(map(len, contents(cache).values())) < 25_000
    (cache / "models").mkdir(exist_ok=True)
    (cache / "models" / "notes.txt").write_text("mine")
    stepreel("cache", "--limit", "none", cache=cache)
    stepreel("run", folder / "take.mp4", "-o", tmp_path / "again", *LEARN, cache=cache)
    cleared = stepreel("cache", "--clear", cache=cache)
    assert cleared.returncode == 0
    left = {path.as_posix() for path in contents(cache)}
    assert left == {"models/notes.txt", "cache.json"}


@pytest.mark.parametrize("arguments", [["--limit", "much"], ["--limit", "5"]])
def test_a_limit_that_is_none_is_refused(tmp_path, arguments):
    done = stepreel("cache", *arguments, cache=tmp_path)
    assert done.returncode == 2
    assert "expected one such as 5GB or 500MB, or none" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_limit_in_the_environment_is_reported_before_any_work(folder, tmp_path):
    done = stepreel(
        "run", folder / "take.mp4", "-o", tmp_path / "out", cache=tmp_path, STEPREEL_CACHE_LIMIT="1"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("stepreel: STEPREEL_CACHE_LIMIT: '1' is not a size")


def test_a_folder_in_place_of_an_embedding_is_replaced_when_the_model_is_gone(tmp_path):
    features = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    np.savez(tmp_path / "take.npz", hands=features, times=np.arange(60) / 4)
    cache = tmp_path / "cache"
    run = ("run", tmp_path / "take.npz", "-o", tmp_path / "out", *TRAINED)
    assert stepreel(*run, cache=cache).returncode == 0
    for file in (cache / "models").iterdir():
        file.unlink()
    (embedding,) = (cache / "recordings").glob("*/embedding-*.safetensors")
    embedding.unlink()
    embedding.mkdir()
    assert stepreel(*run, cache=cache).returncode == 0
    assert embedding.is_file()
