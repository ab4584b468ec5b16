"""The measuring scripts run on a miniature; what they measure is not asserted here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TINY = ["--set", "train.epochs=1", "--set", "train.n_chunks=8", "--clusters", "3"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    for number in range(3):
        rng = np.random.default_rng(number)
        labels = np.repeat([0, 1, 2, 1], 10)
        arm = np.eye(3)[labels] + 0.1 * rng.normal(size=(40, 3))
        np.savez(
            folder / f"take{number}.npz",
            times=np.arange(40) / 4,
            left=arm,
            right=arm[:, :2],
            labels=labels,
        )
    return folder


def run(script, *arguments):
    command = [sys.executable, BENCHMARKS / script, *arguments]
    return subprocess.run(
        list(map(str, command)),
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # tests run side by side
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("table", ["clusters", "recordings"])
def test_an_ablation_prints_a_table_and_a_plot_and_goes_on_from_what_is_done(
    recordings, tmp_path, table
):
    first = run("ablation.py", table, recordings, *TINY, "-o", tmp_path)
    assert first.returncode == 0, first.stderr
    assert "trainings to begin" in first.stdout
    text = (tmp_path / f"{table}-{recordings.name}.txt").read_text()
    assert "equal split" in text
    assert (tmp_path / f"{table}-{recordings.name}.png").read_bytes()[:4] == b"\x89PNG"
    second = run("ablation.py", table, recordings, *TINY, "-o", tmp_path)
    assert "to begin" not in second.stdout
    assert (tmp_path / f"{table}-{recordings.name}.txt").read_text() == text


def test_a_folder_without_labels_cannot_be_scored(tmp_path):
    np.savez(tmp_path / "a.npz", times=np.arange(9.0), left=np.eye(9))
    done = run("ablation.py", "losses", tmp_path)
    assert done.returncode != 0
    assert "holds no `labels`" in done.stderr


def test_the_quality_of_windows_is_told_per_cue(recordings):
    done = run("window_quality.py", recordings, "--window-seconds", 2)
    assert done.returncode == 0, done.stderr
    assert "all cues" in done.stdout


def test_results_are_measured_set_by_set_and_absent_sets_are_said_to_be(tmp_path):
    folder = tmp_path / "data" / "egoprocel"
    (folder / "annotations" / "meccano").mkdir(parents=True)
    (folder / "annotations" / "meccano" / "0003.csv").write_text("1,4,2 screw\n5,9,1 plug\n")
    (folder / "durations.csv").write_text("task,video,duration_s\nmeccano,0003,10\n")
    options = ["--work", tmp_path / "work", "--only", "meccano", "cad120"]
    done = run("results.py", tmp_path / "data", *options)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "work" / "meccano-more" / "results.json").exists()
    assert "cad120: not here, left out" in done.stdout


def made_up_results(tasks):
    from stepreel.evaluation.methods.catalog import METHODS
    from stepreel.evaluation.metrics.localization import PROTOCOLS

    figure = {"mean": 33.3, "std": 1.5, "seeds": [33.3]}
    figures = {"f1": figure, "iou": figure, "ceiling": {**figure, "mean": 70.0}}
    scored = {"protocols": {p: dict.fromkeys(METHODS, figures) for p in PROTOCOLS}}
    metric = {"note": "how to read it", "methods": {"raw": {"tau_b": figure}}}
    return {
        **scored,
        "data_fingerprint": "0123456789abcdef",
        "dataset": {"tasks": {task: {"recordings": ["a", "b"]} for task in tasks}},
        "tasks": dict.fromkeys(tasks, scored),
        "groups": dict.fromkeys(tasks, scored),
        "sweeps": {what: {"7": scored} for what in ("clusters", "cues", "recordings")},
        "task_metrics": dict.fromkeys(("phases", "kendall", "key-steps"), metric),
    }


def test_every_figure_has_its_place_in_the_document(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from results_document import GROUPS, document
    from results_sets import LABELS_ALONE, SETS

    found = {one.name: made_up_results(GROUPS) for one in (*SETS, *LABELS_ALONE)}
    for name in ("suturing", "openpack"):
        found[name]["task_metrics"].pop("phases")  # not asked for there
    text = document(found, found, 3)
    assert "<<" not in text
    assert "| F1 at most | 70.0 |" in text
    assert "`egoprocel DATA/egoprocel --task meccano" in text
    assert "data not available here" in text
    assert "(how to read it)" in text


def test_scoring_is_timed_against_its_limits(tmp_path):
    done = run("evaluation_speed.py", tmp_path, "--recordings", 3)
    assert done.returncode == 0 or "too slow" in done.stderr, done.stderr  # the machine may be busy
    assert "limit 10" in done.stdout
