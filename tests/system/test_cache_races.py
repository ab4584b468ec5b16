"""Several processes fill, read and trim one small cache; nothing vanishes beneath any of them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from limits import HANG_SECONDS

from stepreel.system import cache
from stepreel.system.cache import cached_files, clear, set_limit, trim
from stepreel.system.checked_arrays import CheckedArrays
from stepreel.system.locks import try_lock
from stepreel.system.sessions import in_use, removal, running
from stepreel.system.store import Store, mark_as_used

SOURCES = [f"{number:032x}" for number in range(6)]
# Each round: open the cache, use some files, read from one of them again at the end.
WORK = """
import random, sys, time
from pathlib import Path
import numpy as np
from stepreel.system.cache import open_cache
from stepreel.system.store import read_facts, write_facts

root, seed, until = Path(sys.argv[1]), int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
choose, rounds = random.Random(seed), 0
while time.monotonic() < until:
    with open_cache(root) as store:
        kept = []
        for number in choose.sample(range(6), 3):
            entry = store.recording_entry(f"{number:032x}", "motion", {})
            file = entry.opened()
            if file is None:
                with store.lock_recording(f"{number:032x}", "it is being made"):
                    entry.write({"times": np.full(1000, number)})
                    write_facts(entry, {"n": number})
                file = entry.opened()
                assert file is not None, "what was just written is gone"
            kept.append((number, file))
        time.sleep(choose.random() / 50)
        for number, file in kept:
            assert (file.read("times") == number).all()
    rounds += 1
print(rounds)
"""


def entry(root, number):
    return Store(root).recording_entry(SOURCES[number], "motion", {})


def write(root, number, age_seconds):
    entry(root, number).write({"times": np.full(1000, number)})
    used = time.time() - age_seconds
    os.utime(entry(root, number).path, (used, used))


def test_processes_that_share_a_small_cache_keep_what_they_use(tmp_path):
    set_limit(tmp_path, "20KB")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(tmp_path), str(seed), "6"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    done = [
        (process.communicate(timeout=HANG_SECONDS), process.returncode) for process in processes
    ]
    for (output, errors), status in done:
        others = [line for line in errors.splitlines() if not line.endswith("; waiting")]
        assert (status, others) == (0, [])
        assert int(output) > 0
    assert sum(file.size for file in cached_files(tmp_path)) <= 20_000
    assert not list(tmp_path.rglob("*.lock"))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "content", ["", "{", '{"pid": 1, "host": "far", "since": 1e300}', "[" * 100_000, "\0" * 50]
)
def test_a_session_that_cannot_be_read_counts_as_one_that_uses_everything(tmp_path, content):
    write(tmp_path, 0, age_seconds=86400)
    path = tmp_path / "sessions" / "1-abcd.lock"
    path.parent.mkdir()
    session = try_lock(path)
    path.write_text(content)
    assert [str(holder) for holder in running(tmp_path)] == ["an unknown process (1-abcd.lock)"]
    set_limit(tmp_path, "0B")
    assert (trim(tmp_path).n_files, clear(tmp_path).n_files) == (0, 0)
    session.release()  # the process ended: what it left blocks nobody
    assert clear(tmp_path).n_files == 1
    assert running(tmp_path) == []


def test_a_new_session_that_others_take_for_an_abandoned_one_is_begun_again(tmp_path, monkeypatch):
    attempts = []

    def taken_once(path):
        attempts.append(path)
        return None if len(attempts) == 1 else try_lock(path)

    monkeypatch.setattr("stepreel.system.sessions.try_lock", taken_once)
    with in_use(tmp_path):
        monkeypatch.undo()
        assert [holder.pid for holder in running(tmp_path)] == [os.getpid()]


def test_a_process_does_not_begin_while_files_are_being_removed(tmp_path):
    begun = threading.Event()

    def begin():
        with in_use(tmp_path):
            begun.set()

    with removal(tmp_path):
        thread = threading.Thread(target=begin)
        thread.start()
        assert not begun.wait(0.3)
    assert begun.wait(60)
    thread.join()


def test_two_processes_that_trim_at_once_do_not_remove_twice_as_much(tmp_path, monkeypatch):
    for number in range(4):
        write(tmp_path, number, age_seconds=86400 * (4 - number))
    set_limit(tmp_path, "20KB")
    listed = cache.cached_files

    def trimmed_meanwhile(root):
        files = listed(root)
        monkeypatch.undo()
        trim(root)
        return files

    monkeypatch.setattr(cache, "cached_files", trimmed_meanwhile)
    trim(tmp_path)
    assert len(cached_files(tmp_path)) == 2


def test_a_file_that_is_used_while_it_is_being_removed_is_kept(tmp_path, monkeypatch):
    write(tmp_path, 0, age_seconds=86400)
    path = entry(tmp_path, 0).path
    rename = Path.rename

    def used_first(self, target):
        monkeypatch.undo()
        mark_as_used(self)
        return rename(self, target)

    with in_use(tmp_path):
        monkeypatch.setattr(Path, "rename", used_first)
        assert clear(tmp_path).n_files == 0
        assert entry(tmp_path, 0).load() is not None
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_another_process_made_again_is_not_removed_as_damaged(tmp_path, monkeypatch):
    damaged = entry(tmp_path, 0)
    write(tmp_path, 0, age_seconds=0)
    damaged.path.write_bytes(damaged.path.read_bytes()[:-8] + b"damaged!")
    read_all = CheckedArrays.read_all

    def made_again_meanwhile(file):
        try:
            return read_all(file)
        finally:
            monkeypatch.undo()
            write(tmp_path, 0, age_seconds=0)

    monkeypatch.setattr(CheckedArrays, "read_all", made_again_meanwhile)
    assert damaged.load() is None
    assert damaged.load() is not None
