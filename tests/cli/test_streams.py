"""Closed or full output streams and little memory: the results and the exit status stay right."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and ulimit are Linux's")


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `stepreel` is the command."""
    command = f"{shlex.quote(sys.executable)} -m stepreel"
    return subprocess.run(
        ["sh", "-c", line.replace("stepreel", command, 1)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    random = np.random.default_rng(0)
    gaze = np.eye(3)[np.repeat([0, 1, 2], 20)] + 0.1 * random.normal(size=(60, 3))
    for name in ("a", "b"):
        np.savez(folder / f"{name}.npz", times=np.arange(60) / 4, gaze=gaze)
    return folder


RUN = "stepreel run a.npz b.npz --cache c --set train.epochs=2 --set train.n_chunks=16 -o"


@pytest.mark.parametrize(
    "streams",
    ["2>&-", ">&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full"],
)
def test_a_run_whose_output_cannot_be_shown_still_succeeds(folder, streams):
    output = f"out{streams.count('2')}{streams.count('full')}{streams.count('-')}"
    done = shell(f"{RUN} {output} {streams}", folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "Exception ignored" not in done.stderr
    for name in ("a/storyboard.html", "b/storyboard.json", "index.html", "model/model.json"):
        assert (folder / output / name).stat().st_size > 0
    if streams == ">/dev/full":
        assert "standard output cannot be written (No space left on device)" in done.stderr


@pytest.mark.parametrize("command", ["schema", "info", "--help", "--version"])
def test_a_command_whose_result_is_its_output_fails_if_that_is_lost(folder, command):
    done = shell(f"stepreel {command} >/dev/full", folder)
    assert done.returncode == 2
    assert done.stderr == "stepreel: No space left on device\n"


def test_errors_keep_their_status_without_standard_error(folder):
    assert shell("stepreel run missing.npz 2>&-", folder).returncode == 2
    assert shell(f"{RUN} out-some missing.npz 2>&-", folder).returncode == 1


@pytest.mark.parametrize("kilobytes", [150_000, 300_000, 500_000, 800_000])
def test_too_little_memory_is_one_line_and_not_a_traceback(folder, kilobytes):
    done = shell(f"ulimit -v {kilobytes}; {RUN} out-memory", folder)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "memory" in done.stderr


def test_enough_memory_under_a_limit_gives_results(folder):
    done = shell(f"ulimit -v 4000000; {RUN} out-enough", folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "out-enough" / "a" / "storyboard.html").exists()
