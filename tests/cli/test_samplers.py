"""`run --top`, `--budget` and `--sample`: limits on what a storyboard shows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from steps.decoders.tasks import recurring

from cli.commands import stepreel


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    """A recording of nine steps, as a feature file."""
    folder = tmp_path_factory.mktemp("take")
    (recording, *_), _ = recurring(1)
    arrays = {cue: track.features for cue, track in recording.tracks.items()}
    np.savez(folder / "take.npz", times=recording.times, **arrays)
    return folder / "take.npz"


def run(take, output, *options):
    common = ["--decoder", "hmm", "-k", 4, "--set", "loss.window_seconds=1"]
    return stepreel("run", take, "-o", output, *common, *options, cache=output.parent)


def board_of(output):
    return json.loads((output / "take" / "storyboard.json").read_text())


@pytest.mark.parametrize("sample", ["algorithm-1", "nearest", "ils"])
def test_a_budget_and_a_number_limit_what_every_sampler_shows(take, tmp_path, sample):
    output = tmp_path / "out"
    done = run(take, output, "--budget", "12", "--top", "2", "--sample", sample)
    assert done.returncode == 0, done.stderr
    board = board_of(output)
    assert 1 <= len(board["steps"]) <= 2
    assert sum(step["end"] - step["start"] for step in board["steps"]) <= 12
    assert board["settings"]["key_steps"]["sample"] == sample
    assert "together they may last 12 s (--budget)" in done.stdout


def test_a_sampler_without_a_limit_is_named_as_without_effect(take, tmp_path):
    done = run(take, tmp_path / "out", "--sample", "ils")
    assert done.returncode == 0, done.stderr
    assert "no effect without a limit" in done.stderr
    model = tmp_path / "out"
    options = ["-o", tmp_path / "new", "--model", model, "--sample", "isl", "--top", 2]
    later = stepreel("run", take, *options, cache=tmp_path)
    assert later.returncode == 2
    assert "unknown sampler 'isl'" in later.stderr
    options[options.index("isl")] = "ils"
    later = stepreel("run", take, *options, cache=tmp_path)
    assert later.returncode == 0, later.stderr
    assert len(board_of(tmp_path / "new")["steps"]) == 2


@pytest.mark.parametrize("budget", ["0", "-3", "long", "nan", "inf"])
def test_an_impossible_budget_is_refused(take, tmp_path, budget):
    done = run(take, tmp_path / "out", "--budget", budget)
    assert done.returncode == 2
    assert "budget" in done.stderr
    assert "Traceback" not in done.stderr
