"""Storyboards, models and caches that version 0.1.0 wrote are still read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from stepreel import ModelError, find_key_steps, load_model, read_storyboard
from stepreel.report import write_report

OLD = Path(__file__).parent / "fixtures" / "v0.1.0"
SETTINGS = {"encoder__width": 8, "train__epochs": 4, "train__n_chunks": 32}


@pytest.fixture
def cache(tmp_path):
    return shutil.copytree(OLD / "cache", tmp_path / "cache")


@pytest.fixture
def nothing_is_made_again(monkeypatch):
    """Fail if a video is decoded or anything is trained."""

    def must_not_run(*_args, **_options):
        raise AssertionError("this should have come from the cache")

    monkeypatch.setattr("stepreel.features.extraction.walk_moments", must_not_run)
    monkeypatch.setattr("stepreel.learn.training.train_encoder", must_not_run)


def steps(board):
    return [(s.start, s.time, s.end, s.cluster, s.margin) for s in board.steps]


def test_a_storyboard_of_version_1_becomes_one_of_version_2(tmp_path):
    text = json.loads((OLD / "run" / "tiny" / "storyboard.json").read_text())
    assert text["version"] == 1
    board = read_storyboard(OLD / "run" / "tiny" / "storyboard.json")
    assert (board.version, board.recording.kind) == (2, "video")
    assert len(board.steps) == len(text["steps"]) == 4
    write_report(board, tmp_path, pictures={}, strip=None)
    assert read_storyboard(tmp_path / "storyboard.json") == board


@pytest.mark.usefixtures("nothing_is_made_again")
def test_features_and_trainings_of_a_video_come_from_the_old_cache(cache):
    result = find_key_steps(OLD / "tiny.mp4", clusters=3, cache=cache, **SETTINGS)
    assert steps(result) == steps(read_storyboard(OLD / "run" / "tiny" / "storyboard.json"))


@pytest.mark.usefixtures("nothing_is_made_again")
def test_trainings_of_features_come_from_the_old_cache(cache):
    takes = [OLD / "take0.npz", OLD / "take1.npz"]
    results = find_key_steps(takes, cues=["hands", "gaze"], clusters=3, cache=cache, **SETTINGS)
    for result, take in zip(results, takes, strict=True):
        old = np.load(OLD / "embeddings" / f"{take.stem}.embedding.npz")
        np.testing.assert_allclose(result.embedding, old["embedding"], atol=1e-6)
        np.testing.assert_array_equal(result.clustering.labels, old["cluster"])


def test_a_model_of_a_video_finds_the_same_steps(cache):
    result = load_model(OLD / "run").find_key_steps(OLD / "tiny.mp4", cache=cache)
    old = read_storyboard(OLD / "run" / "tiny" / "storyboard.json")
    assert [(s.start, s.end, s.cluster) for s in result.steps] == [
        (s.start, s.end, s.cluster) for s in old.steps
    ]


def test_a_model_of_features_gives_the_same_embedding():
    model = load_model(OLD / "model-features")
    assert repr(model) == "Model(hands (4), gaze (2); 3 kinds of steps)"
    old = np.load(OLD / "embeddings" / "take0.embedding.npz")
    np.testing.assert_allclose(model.embed(OLD / "take0.npz").features, old["embedding"], atol=1e-5)


def test_a_model_of_another_method_version_is_refused_with_the_way_out(tmp_path):
    shutil.copytree(OLD / "model-features", tmp_path / "model")
    card = json.loads((tmp_path / "model" / "model.json").read_text())
    (tmp_path / "model" / "model.json").write_text(json.dumps({**card, "method": 5}))
    with pytest.raises(ModelError, match=r"trained with version 5 of the method.*; retrain it"):
        load_model(tmp_path / "model")
