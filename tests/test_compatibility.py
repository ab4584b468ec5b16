"""Storyboards and models that version 0.1.0 wrote are still read; its caches are not trusted."""

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
SETTINGS["key_steps__decoder"] = "kmeans"  # the only one of version 0.1.0


@pytest.fixture
def cache(tmp_path):
    """Return an old cache in which every array is zero, as no result of it could be."""
    folder = shutil.copytree(OLD / "cache", tmp_path / "cache")
    for file in folder.rglob("*.safetensors"):
        content = bytearray(file.read_bytes())
        header = 8 + int.from_bytes(content[:8], "little")
        content[header:] = bytes(len(content) - header)
        file.write_bytes(content)
    return folder


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


def test_an_old_cache_has_no_checksums_and_is_not_used(cache, tmp_path):
    found = {}
    for folder in (cache, tmp_path / "new"):
        result = find_key_steps(OLD / "tiny.mp4", clusters=3, cache=folder, **SETTINGS)
        found[folder] = steps(result)
        takes = [OLD / "take0.npz", OLD / "take1.npz"]
        learned = find_key_steps(takes, cues=["hands", "gaze"], cache=folder, **SETTINGS)
        assert np.abs(learned[0].embedding).max() > 0.01
    assert found[cache] == found[tmp_path / "new"]


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
    with pytest.raises(ModelError, match=r"trained with version 5 of the method.*; make a new one"):
        load_model(tmp_path / "model")
