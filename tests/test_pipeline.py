from __future__ import annotations

import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from videos import busy_task, steady, write_video

from stepreel import pipeline
from stepreel.steps.decoders import changes
from stepreel.system.store import Store

OVERRIDES = {"extract.cues": ["motion"], "key_steps.n_clusters": 3}


def run(paths, cache, output=None):
    return pipeline.run(paths, Store(cache), overrides=OVERRIDES, output=output)


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    return [write_video(folder / f"take{n}.mp4", steady(100 + n), busy_task(n)) for n in range(3)]


def test_a_folder_that_cannot_be_written_costs_that_recording_alone(takes, tmp_path):
    (tmp_path / "take1").mkdir()
    (tmp_path / "take1" / "pictures").write_text("in the way")
    found = run(takes, tmp_path / "cache", tmp_path)
    assert list(found.written.boards) == [0, 2]
    assert "in the way" in found.failures[1]
    assert "take2/storyboard.html" in (tmp_path / "index.html").read_text()


def test_without_an_output_folder_no_pictures_are_promised(takes, tmp_path):
    board = run(takes[:1], tmp_path).results[0].storyboard
    assert board.strip is None
    assert {step.picture for step in board.steps} == {None}


def test_recordings_of_a_task_are_clustered_together(takes, tmp_path):
    results = run(takes, tmp_path).results.values()
    assert {step.cluster for result in results for step in result.steps} <= {0, 1, 2}


def test_the_same_run_twice_is_the_same_storyboard(takes, tmp_path):
    first, second = run(takes[:2], tmp_path / "a"), run(takes[:2], tmp_path / "b")
    for position in (0, 1):
        assert first.results[position].storyboard == second.results[position].storyboard


def test_by_default_nothing_is_trained(takes, tmp_path):
    task = pipeline.load_task(takes[:2], Store(tmp_path), overrides=OVERRIDES)
    assert task.settings.key_steps.decoder == "auto"
    stages = []
    learned = pipeline.learn_task(
        task, Store(tmp_path), progress=lambda what, done, total: stages.append(what)
    )
    assert (learned.embeddings, learned.model.weights, stages) == (None, {}, [])
    assert not (tmp_path / "models").exists()


def test_steps_are_looked_for_without_threads_for_products_of_matrices(
    takes, tmp_path, monkeypatch
):
    threads = set()

    def watched(function):
        def call(*arguments, **options):
            threads.update(t["num_threads"] for t in threadpool_info() if t["user_api"] == "blas")
            return function(*arguments, **options)

        return call

    for module, name in ((changes, "find_changes"), (pipeline, "rate_steps")):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    with threadpool_limits(2, "blas"):
        run(takes[:1], tmp_path)
    assert threads == {1}


def test_a_run_without_training_does_not_load_torch():
    code = (
        "import sys, numpy as np; from stepreel import find_key_steps\n"
        "hands = np.repeat(np.eye(4), 15, axis=0), np.repeat(np.eye(4)[::-1], 15, axis=0)\n"
        "arrays = [{'hands': (np.arange(60) / 4, one)} for one in hands]\n"
        "print(len(find_key_steps(arrays[0]).steps) > 1, len(find_key_steps(arrays)))\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "2", "False"]


def test_the_pipeline_loads_nothing_heavy_before_it_is_used():
    code = (
        "import sys, stepreel.pipeline;"
        "print([name for name in ('torch', 'scipy', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
