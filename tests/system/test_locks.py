from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from stepreel.system import locks
from stepreel.system.locks import lock_output, locked, read_holder

HOLD = """
import sys, time
from pathlib import Path
from stepreel.system.locks import locked
with locked(Path(sys.argv[1]), "it is held"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def hold(tmp_path):
    """Return a function that starts a process which holds the lock."""
    started = []

    def start(seconds):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "a.lock"), str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_second_process_waits_and_shows_for_whom(tmp_path, hold, caplog):
    process = hold(2)
    shown = []
    began = time.monotonic()
    with locked(tmp_path / "a.lock", "it is held", progress=lambda *report: shown.append(report)):
        assert time.monotonic() - began > 1
        assert read_holder(tmp_path / "a.lock").pid == os.getpid()
    assert (shown[0], shown[-1]) == (("waiting", 0, 0), ("waiting", 1, 1))
    assert f"it is held by process {process.pid} on {socket.gethostname()}, since 2" in caplog.text
    assert not (tmp_path / "a.lock").exists()


def test_a_killed_process_blocks_nobody(tmp_path, hold):
    hold(600).kill()
    began = time.monotonic()
    with locked(tmp_path / "a.lock", "it is held"):
        assert time.monotonic() - began < 5


def test_waiting_can_be_interrupted(tmp_path, hold):
    hold(600)
    code = HOLD.replace("import sys", "import signal, sys", 1)
    code = code.replace("with", "signal.signal(signal.SIGINT, signal.default_int_handler)\nwith", 1)
    waiting = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a.lock"), "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "; waiting" in waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    _, errors = waiting.communicate(timeout=600)
    assert "KeyboardInterrupt" in errors


def test_without_locks_in_the_file_system_there_is_a_warning_and_work_goes_on(
    tmp_path, monkeypatch, caplog
):
    def no_locks(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    for _ in range(2):
        with lock_output(tmp_path / "out"):
            pass
    assert caplog.text.count("has no locks; run only one command at a time") == 1


def test_where_nothing_can_be_written_work_goes_on(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING), lock_output(tmp_path / "file" / "out"):
        pass
    assert caplog.text == ""


def test_a_lock_file_of_unknown_content_names_nobody(tmp_path):
    for content in ("", "{", "[]", '{"pid": "x", "host": 1, "since": 0}'):
        (tmp_path / "a.lock").write_text(content)
        assert read_holder(tmp_path / "a.lock") is None
    with locks.locked(tmp_path / "a.lock", "it is held"):
        assert read_holder(tmp_path / "a.lock").pid == os.getpid()


def test_a_folder_whose_name_is_too_long_is_explained_by_whoever_writes_there(tmp_path):
    with lock_output(tmp_path / ("x" * 300)):
        pass  # no lock can be had, and the work itself says so
