"""Closed or full output streams: the results and the exit status stay right."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from limits import HANG_SECONDS

from stepreel.cli.app import app

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")

FAST = "--cache c --set train.epochs=2 --set train.n_chunks=16 --set key_steps.decoder=kmeans"
RUN = f"stepreel run a.npz b.npz {FAST} -o"
# What a command prints is its only result, or its results are in these files.
ONLY_PRINT = (
    *("--help", "--version", "info", "schema", "cache --cache c"),
    "score --truth labels --prediction labels",
)
WRITE_FILES = {
    f"run a.npz {FAST} -o OUT": "a/storyboard.html",
    f"train a.npz {FAST} -o OUT": "model.json",
    "embed a.npz --model ready/model --cache c -o OUT": "a.embedding.npz",
    f"evaluate npz labels --baselines-only --seeds 1 {FAST} -o OUT": "results.json",
    "score --truth labels --prediction labels -o OUT": "results.json",
    "tune ready --top 1 -o OUT": "a/storyboard.html",
    "compare ready -o OUT": "compare.html",
    "render ready/a": "",
    "cache --cache OUT --limit 1GB": "",
    "cache --cache OUT --clear": "",
}
LOST = "standard output cannot be written"


def shell(line: str, cwd: Path, *, reader_left: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `stepreel` is the command.

    reader_left  whether standard output is a pipe that nobody reads any more, as after `| head -1`
    """
    command = f"{shlex.quote(sys.executable)} -m stepreel"
    unread = -1
    if reader_left:
        end, unread = os.pipe()
        os.close(end)
    try:
        return subprocess.run(
            ["sh", "-c", line.replace("stepreel", command, 1)],
            cwd=cwd,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=unread if reader_left else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
    finally:
        if reader_left:
            os.close(unread)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    random = np.random.default_rng(0)
    steps = np.repeat([0, 1, 2], 20)
    (folder / "labels").mkdir()
    for name in ("a", "b"):
        arrays = {
            "times": np.arange(60) / 4,
            "gaze": np.eye(3)[steps] + 0.1 * random.normal(size=(60, 3)),
        }
        np.savez(folder / f"{name}.npz", **arrays)
        np.savez(folder / "labels" / f"{name}.npz", **arrays, labels=steps)
    ready = shell(f"{RUN} ready", folder)
    assert ready.returncode == 0, ready.stderr
    return folder


def check_clean(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "streams",
    ["2>&-", ">&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full"],
)
def test_a_run_whose_output_cannot_be_shown_still_succeeds(folder, streams):
    output = f"out{streams.count('2')}{streams.count('full')}{streams.count('-')}"
    done = shell(f"{RUN} {output} {streams}", folder)
    assert done.returncode == 0, done.stderr
    check_clean(done)
    for name in ("a/storyboard.html", "b/storyboard.json", "index.html", "model/model.json"):
        assert (folder / output / name).stat().st_size > 0
    if streams == ">/dev/full":
        assert f"{LOST} (No space left on device)" in done.stderr


def test_every_command_is_tested_here():
    tested = {line.split()[0] for line in (*ONLY_PRINT, *WRITE_FILES)}
    names = {command.callback.__name__ for command in app.registered_commands}
    assert names - tested == {"demo"}  # takes long, and ends as `run` does


@pytest.mark.parametrize(
    ("streams", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "it is closed"), (">&- 2>&-", "")],
)
@pytest.mark.parametrize("command", ONLY_PRINT)
def test_a_command_whose_result_is_its_output_fails_if_that_is_lost(
    folder, command, streams, reason
):
    done = shell(f"stepreel {command} {streams}", folder)
    assert done.returncode == 2
    if reason:
        assert done.stderr.startswith(f"stepreel: {LOST} ({reason}); what this command prints is")
        assert done.stderr.count("\n") == 1
    check_clean(done)


@pytest.mark.parametrize("command", ONLY_PRINT)
def test_a_result_is_printed_without_standard_error(folder, command):
    done = shell(f"stepreel {command} 2>&-", folder)
    assert done.returncode == 0
    assert done.stdout


@pytest.mark.parametrize("command", ONLY_PRINT)
def test_a_reader_who_has_seen_enough_is_no_error(folder, command):
    done = shell(f"stepreel {command}", folder, reader_left=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("streams", [">/dev/full", ">&- 2>&-", "| head -1"])
@pytest.mark.parametrize("command", WRITE_FILES)
def test_a_command_whose_results_are_files_ends_by_its_work(folder, tmp_path, command, streams):
    line = f"stepreel {command.replace('OUT', shlex.quote(str(tmp_path)))}"
    reader_left = streams == "| head -1"
    page = folder / "ready" / "a" / "storyboard.html"
    if "render" in command:
        page.unlink(missing_ok=True)
    done = shell(line if reader_left else f"{line} {streams}", folder, reader_left=reader_left)
    assert done.returncode == 0, done.stderr
    check_clean(done)
    assert done.stderr.count(LOST) == ("full" in streams)
    result = page if "render" in command else tmp_path / WRITE_FILES[command]
    assert result.exists()


def test_errors_keep_their_status_whatever_can_be_shown(folder):
    assert shell("stepreel run missing.npz 2>&-", folder).returncode == 2
    assert shell("stepreel run missing.npz", folder, reader_left=True).returncode == 2
    assert shell("stepreel run --bogus 2>&1", folder, reader_left=True).returncode == 2
    assert shell(f"{RUN} out-some missing.npz 2>&-", folder).returncode == 1
    assert shell(f"{RUN} out-read missing.npz", folder, reader_left=True).returncode == 1
