from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from stepreel.cues.appearance import WEIGHTS
from stepreel.errors import SettingsError
from stepreel.system.cache import (
    DEFAULT_LIMIT,
    cached_files,
    clear,
    open_cache,
    parse_size,
    read_limit,
    set_limit,
    trim,
)
from stepreel.system.sessions import hold, in_use, running
from stepreel.system.store import Store, read_facts, write_facts

SOURCE = "0123456789abcdef" * 2
DAY = 86400.0
USE = """
import sys, time
from pathlib import Path
from stepreel.system.cache import open_cache
with open_cache(Path(sys.argv[1])) as store:
    assert store.recording_entry(sys.argv[2], "old", {}).load() is not None
    print("loaded", flush=True)
    time.sleep(600)
"""


def entry(root, name):
    return Store(root).recording_entry(SOURCE, name, {})


def write(root, name, n=1000, age_seconds=0.0):
    """Write a file of about 8 n bytes that was last used some time ago."""
    entry(root, name).write({"times": np.arange(n) / 4})
    used = time.time() - age_seconds
    os.utime(entry(root, name).path, (used, used))


def names(root):
    return {file.path.name.partition("-")[0] for file in cached_files(root)}


@pytest.fixture
def root(tmp_path):
    """Return a cache with three files of 8 kB, last used three, two and one days ago."""
    for age, name in enumerate(["new", "mid", "old"], start=1):
        write(tmp_path, name, age_seconds=age * DAY)
    return tmp_path


def test_what_was_not_used_for_longest_is_removed_first(root):
    assert trim(root).n_files == 0
    set_limit(root, "20KB")
    assert trim(root).n_files == 1
    assert names(root) == {"mid", "new"}
    entry(root, "mid").load()  # used now
    set_limit(root, "10KB")
    assert trim(root).n_files == 1
    assert names(root) == {"mid"}


def test_facts_count_as_used_when_they_are_read(root):
    facts = entry(root, "facts")
    write_facts(facts, {"n": 1})
    os.utime(facts.path.with_suffix(".json"), (0, 0))
    assert cached_files(root)[0].path.name.startswith("facts")
    read_facts(facts)
    assert cached_files(root)[-1].path.name.startswith("facts")


def test_the_limit_is_kept_at_the_end_of_a_command(root):
    set_limit(root, "10KB")
    with open_cache(root) as store:
        assert store.recording_entry(SOURCE, "old", {}).load() is not None
        assert trim(root).n_files == 2  # not the one in use
    assert names(root) == {"old"}


def test_what_a_running_process_uses_is_not_removed(root):
    process = subprocess.Popen(
        [sys.executable, "-c", USE, str(root), SOURCE], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "loaded\n"
        assert [holder.pid for holder in running(root)] == [process.pid]
        removal = clear(root)
        assert (removal.n_files, names(root)) == (2, {"old"})
        assert removal.kept_bytes > 8000
    finally:
        process.kill()
        process.communicate()
    assert len(list(root.glob("sessions/*"))) == 1
    trim(root)
    assert list(root.glob("sessions/*")) == running(root) == []  # a killed process uses nothing
    assert clear(root).n_files == 1
    assert names(root) == set()


def test_a_process_can_hold_on_to_what_it_used(root):
    hold(root)
    with open_cache(root, hold=True) as store:
        store.recording_entry(SOURCE, "mid", {}).load()
    assert clear(root).n_files == 2
    assert names(root) == {"mid"}


def test_clearing_removes_nothing_but_own_files(root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "mine-0123456789abcdef.safetensors"
    elsewhere.write_text("mine")
    foreign = [
        "notes.txt",
        "recordings/notes.txt",
        f"recordings/{SOURCE}/thesis.safetensors",
        "recordings/my-videos/a-0123456789abcdef.safetensors",
        "models/model.safetensors",
        "models/sub/model-0123456789abcdef.safetensors",
        "models/mine-0123456789abcdef.safetensors",
        "models/.mine.part",
        "models/uv.lock",
        "rows/0123456789abcdef.json",
        "a-0123456789abcdef.safetensors",
    ]
    for name in foreign:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")
    (root / "models" / "model-0123456789abcdef.safetensors").symlink_to(elsewhere)
    (root / "backbones").symlink_to(elsewhere.parent)
    own = [
        f"recordings/{SOURCE}/motion-0123456789abcdef.parts-16/0000.safetensors",
        f"recordings/{SOURCE}@5/embedding-0123456789abcdef.safetensors",
        f"recordings/{SOURCE}/.tmpabc_1.part",
        f"recordings/{SOURCE}/extraction.lock",
        "measures/kendall-0123456789abcdef.json",
    ]
    for name in own:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    clear(root)
    left = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert left == {*foreign, "models/model-0123456789abcdef.safetensors"}
    assert (root / "backbones").is_symlink()
    assert elsewhere.read_text() == "mine"


def test_files_of_plugins_and_users_among_the_networks_are_left_alone(tmp_path):
    folder = tmp_path / "backbones"
    folder.mkdir()
    foreign = {"hands.onnx", "hands-0123456789abcdef.safetensors", "hands.lock", ".hands.part"}
    own = {
        f"{WEIGHTS}-0123456789abcdef.safetensors",
        f"{WEIGHTS}-0123456789abcdef.lock",
        f"{WEIGHTS}-v1.onnx",
    }
    for name in foreign | own:
        (folder / name).write_bytes(bytes(1000))
    assert sum(file.size for file in cached_files(tmp_path)) == 2000
    set_limit(tmp_path, "0B")
    trim(tmp_path)
    clear(tmp_path)
    assert {path.name for path in folder.iterdir()} == foreign


def test_without_keeping_a_new_folder_is_used_and_removed(root):
    with open_cache(False) as store:
        assert store.root != root
        write(store.root, "new")
        assert store.root.is_dir()
    assert not store.root.exists()
    assert names(root) == {"old", "mid", "new"}


def test_a_new_folder_can_be_held_for_as_long_as_its_store():
    with open_cache(False, hold=True) as store:
        write(store.root, "new")
    folder = store.root
    assert names(folder) == {"new"}
    del store
    assert not folder.exists()
    with pytest.raises(ValueError, match="stop"), open_cache(False, hold=True) as store:
        raise ValueError("stop")
    assert not store.root.exists()


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("5GB", 5e9), ("1.5 gb", 1.5e9), ("500 MB", 5e8), ("2GiB", 2**31), ("0B", 0), ("none", None)],
)
def test_sizes_are_read(text, n_bytes):
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize(
    "text", ["", "5", "GB", "-1GB", "1e9B", "5 apples", "9" * 99 + "GB", "nan"]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(SettingsError, match="expected one such as 5GB"):
        parse_size(text)


def test_the_environment_overrides_the_stored_limit(tmp_path, monkeypatch, caplog):
    assert read_limit(tmp_path).n_bytes == DEFAULT_LIMIT
    set_limit(tmp_path, "1GB")
    assert read_limit(tmp_path).n_bytes == 10**9
    monkeypatch.setenv("STEPREEL_CACHE_LIMIT", "none")
    assert (read_limit(tmp_path).n_bytes, str(read_limit(tmp_path))) == (None, "no limit")
    monkeypatch.setenv("STEPREEL_CACHE_LIMIT", "much")
    with pytest.raises(SettingsError, match="STEPREEL_CACHE_LIMIT: 'much' is not a size"):
        read_limit(tmp_path)
    monkeypatch.delenv("STEPREEL_CACHE_LIMIT")
    for damaged in ("{", "[]", '{"limit": 5}'):
        (tmp_path / "cache.json").write_text(damaged)
        assert read_limit(tmp_path).n_bytes == DEFAULT_LIMIT
    assert caplog.text.count("is damaged") == 3


@pytest.mark.parametrize(
    ("n_damaged", "others"),
    [(0, []), (1, []), (2, ["1 more file was"]), (3, ["2 more files were"])],
)
def test_of_many_damaged_files_one_is_named_and_the_others_are_counted(
    root, caplog, n_damaged, others
):
    damaged = ["old", "mid", "new"][:n_damaged]
    for name in damaged:
        entry(root, name).path.write_bytes(bytes(100))
    with open_cache(root):
        assert [entry(root, name).load() for name in damaged] == [None] * n_damaged
    named = [f"{entry(root, 'old').path} is damaged (its header is wrong); making it again"]
    counted = [f"{root}: {these} damaged; made again where needed" for these in others]
    assert caplog.messages == (named if damaged else []) + counted


def test_a_cache_that_cannot_be_written_can_be_opened(tmp_path):
    (tmp_path / "cache").write_text("in the way")
    with open_cache(tmp_path / "cache"), in_use(tmp_path / "cache"):
        pass
