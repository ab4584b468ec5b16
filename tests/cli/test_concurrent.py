"""Several commands at once on one cache, and on one output folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from videos import busy_task, steady, write_video

from cli.commands import FAST, TRAINED, stepreel

HANGS_SECONDS = 600
HOLD = """
import sys, time
from pathlib import Path
from stepreel.system.locks import lock_output
with lock_output(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    for number in range(3):
        paint = busy_task()
        write_video(
            folder / f"take{number}.mp4",
            steady(150),
            lambda i, shift=number, paint=paint: paint(i + 7 * shift),
        )
    done = run(folder, "alone", folder / "cache-alone").communicate(timeout=HANGS_SECONDS)
    assert "3 done, 0 failed" in done[0], done[1]
    return folder


def run(folder, output, cache):
    """Start a run of all takes; small shards, so that there is much to get wrong."""
    takes = [f"take{n}.mp4" for n in range(3)]
    options = ["-o", output, "-k", "3", *FAST, *TRAINED, "--set", "extract.shard_seconds=1"]
    return subprocess.Popen(
        [sys.executable, "-m", "stepreel", "run", *takes, *options],
        cwd=folder,
        env={**os.environ, "STEPREEL_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def written(output: Path):
    """Return the content of all files that a run wrote, apart from how long it took."""
    files = {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in output.rglob("*")
        if path.is_file() and path.name not in ("metrics.jsonl", "loss.png")
    }
    assert files.pop("model/model.json")
    return files


def test_four_runs_at_once_give_what_one_gives(folder, tmp_path):
    expected = written(folder / "alone")
    outputs = ["same", "same", "one", "two"]
    processes = [run(folder, output, tmp_path / "cache") for output in outputs]
    for process in processes:
        out, errors = process.communicate(timeout=HANGS_SECONDS)
        assert process.returncode == 0, errors
        assert "3 done, 0 failed" in out
        assert "Traceback" not in errors
    for output in set(outputs):
        assert written(folder / output) == expected, output
    left = {path.suffix for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert left == {".safetensors", ".json"}  # no locks, no shards, nothing partial
    assert not list((tmp_path / "cache").rglob("*.parts-*"))


def test_a_run_killed_among_others_blocks_none_of_them(folder, tmp_path):
    killed = run(folder, "killed", tmp_path / "cache")
    others = [run(folder, "rest", tmp_path / "cache") for _ in range(2)]
    while not list((tmp_path / "cache").glob("recordings/*/extraction.lock")):
        time.sleep(0.02)
        assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    for process in others:
        out, errors = process.communicate(timeout=HANGS_SECONDS)
        assert "3 done, 0 failed" in out, errors
    assert written(folder / "rest") == written(folder / "alone")


@pytest.mark.parametrize("locked", ["busy", "busy/take1"])  # `render` locks single recordings
def test_an_output_in_use_is_waited_for_with_a_message_and_ctrl_c_ends_that(folder, locked):
    output = folder / "busy"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / locked)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    try:
        waiting = run(folder, "busy", folder / "cache-alone")
        line = waiting.stderr.readline()
        assert f"{Path(locked)}: is being written by process {holder.pid} on " in line
        assert line.rstrip().endswith("; waiting")
        time.sleep(1)
        waiting.send_signal(signal.SIGINT)
        _, errors = waiting.communicate(timeout=HANGS_SECONDS)
        assert (waiting.returncode, "interrupted" in errors) == (130, True)
        assert "waiting" not in errors  # once is enough
    finally:
        holder.kill()
        holder.communicate()
    after = run(folder, "busy", folder / "cache-alone")
    assert "3 done" in after.communicate(timeout=HANGS_SECONDS)[0]
    assert written(output) == written(folder / "alone")


def test_evaluations_at_once_share_their_work(folder, tmp_path):
    for number in range(2):
        rng = np.random.default_rng(number)
        labels = np.repeat([0, 1, 2, 1], 20)
        hands = np.eye(3)[labels] + 0.1 * rng.normal(size=(80, 3))
        (tmp_path / "set").mkdir(exist_ok=True)
        np.savez(
            tmp_path / "set" / f"{number}.npz", times=np.arange(80) / 4, hands=hands, labels=labels
        )
    command = [
        sys.executable, "-m", "stepreel", "evaluate", "npz", str(tmp_path / "set"), "-k", "3",
        "--seeds", "2", "--set", "train.epochs=3", "--set", "train.n_chunks=16",
        "--task-metric", "kendall", "-o", str(tmp_path / "out"),
    ]  # fmt: skip
    env = {**os.environ, "STEPREEL_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    results = []
    processes = [
        subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in processes:
        out, errors = process.communicate(timeout=HANGS_SECONDS)
        assert process.returncode == 0, errors
        results.append(out)
    assert results[0] == results[1] == results[2]
    assert json.loads((tmp_path / "out" / "results.json").read_text())


def test_a_read_only_cache_is_read(folder, tmp_path):
    cache = folder / "cache-alone"
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = stepreel(
            "run", *(folder / f"take{n}.mp4" for n in range(3)), "-o", folder / "readonly",
            "-k", "3", *FAST, *TRAINED, "--set", "extract.shard_seconds=1", cache=cache,
        )  # fmt: skip
    finally:
        for path in [cache, *cache.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert (done.returncode, done.stderr) == (0, "")
    assert written(folder / "readonly") == written(folder / "alone")
