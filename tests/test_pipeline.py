from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from steps.decoders.tasks import recurring
from threadpoolctl import threadpool_info, threadpool_limits
from videos import busy_task, steady, write_video

from stepreel import pipeline
from stepreel.learn.model import read_model
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


def features_of(folder, recordings):
    """Write recordings as feature files; return their paths."""
    for recording in recordings:
        arrays = {cue: track.features for cue, track in recording.tracks.items()}
        np.savez(folder / f"{recording.name}.npz", times=recording.times, **arrays)
    return sorted(folder.glob("*.npz"))


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """Nine takes of a task whose steps recur, as feature files."""
    return features_of(tmp_path_factory.mktemp("features"), recurring(9)[0])


def found_in(files, cache, choice=(), **options):
    overrides = {"loss.window_seconds": 1.0, **dict(choice)}
    return pipeline.run(files, Store(cache), overrides=overrides, **options).results


def test_other_numbers_of_kinds_are_found_for_several_takes(features, tmp_path):
    results = found_in(features, tmp_path)
    for result in results.values():
        assert len(result.other_numbers) > 0
        for other in result.other_numbers:
            number = other.result.clustering.n_clusters
            assert number != result.clustering.n_clusters
            assert other.label == f"{number} kinds"
            assert other.option == f"--clusters {number}"
            assert other.result.recording is result.recording
    offered = {tuple(other.label for other in one.other_numbers) for one in results.values()}
    assert len(offered) == 1  # kinds are shared, and so is their number


def test_what_is_offered_is_what_its_option_finds(features, tmp_path):
    for other in found_in(features, tmp_path)[0].other_numbers:
        number = other.result.clustering.n_clusters
        asked = found_in(features, tmp_path, {"key_steps.n_clusters": number})[0]
        assert np.array_equal(asked.clustering.labels, other.result.clustering.labels)


def test_other_numbers_of_steps_are_found_for_one_recording(tmp_path):
    # Eight stages of four short steps each: 32 steps, or 8.
    rng = np.random.default_rng(0)
    stages = np.repeat(8 * rng.normal(size=(8, 12)), 4, axis=0)
    means = np.repeat(stages + 2 * rng.normal(size=stages.shape), 32, axis=0)
    path = tmp_path / "take.npz"
    np.savez(path, times=np.arange(len(means)) / 4, hands=means + rng.normal(size=means.shape))
    (result,) = found_in([path], tmp_path / "cache").values()
    assert len(result.other_numbers) > 0
    for other in result.other_numbers:
        number = len(np.flatnonzero(np.diff(other.result.clustering.labels))) + 1
        assert (other.label, other.option) == (f"{number} steps", f"--steps {number}")
        assert len(result.steps) != number


@pytest.mark.parametrize("choice", [{"key_steps.n_clusters": 5}, {"key_steps.n_clusters": "5"}])
def test_nothing_else_is_offered_where_a_number_of_kinds_was_asked_for(features, tmp_path, choice):
    assert {r.other_numbers for r in found_in(features, tmp_path, choice).values()} == {()}


def test_nothing_else_is_offered_where_a_number_of_steps_was_asked_for(features, tmp_path):
    (result,) = found_in(features[:1], tmp_path, {"key_steps.n_steps": "3..9"}).values()
    assert result.other_numbers == ()


def test_what_is_offered_is_within_the_range(features, tmp_path):
    choice = {"key_steps.clusters_range": "5..6"}
    for result in found_in(features, tmp_path, choice).values():
        assert 5 <= result.clustering.n_clusters <= 6
        assert all(5 <= o.result.clustering.n_clusters <= 6 for o in result.other_numbers)


def test_nothing_else_is_offered_with_a_model(features, tmp_path):
    learned = pipeline.run(
        features[:8], Store(tmp_path), overrides={"loss.window_seconds": 1.0}, output=tmp_path / "o"
    )
    assert any(result.other_numbers for result in learned.results.values())
    model = read_model(tmp_path / "o" / "model")
    (result,) = pipeline.run(features[8:], Store(tmp_path), model=model).results.values()
    assert result.other_numbers == ()
    assert result.clustering.n_clusters == learned.results[0].clustering.n_clusters


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
