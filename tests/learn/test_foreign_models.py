"""Models that others made: refused with the reason, without taking memory or waiting."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct

import numpy as np
import pytest
from limits import HANG_SECONDS, within

import stepreel
from stepreel.config import load_settings
from stepreel.errors import ModelError, SettingsError
from stepreel.features.feature_files import read_features
from stepreel.learn.inference import embed_with_model
from stepreel.learn.model import read_model
from stepreel.learn.training import check_training_memory


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    random = np.random.default_rng(0)
    np.savez(folder / "take.npz", times=np.arange(40) / 4, hands=random.normal(size=(40, 3)))
    small = {"train__epochs": 1, "train__n_chunks": 8, "encoder__width": 8, "clusters": 2}
    small["key_steps__decoder"] = "kmeans"
    stepreel.find_key_steps(folder / "take.npz", folder / "out", cache=folder / "c", **small)
    return folder


def changed(trained, tmp_path, path, value):
    """Return a copy of the model with one entry of model.json changed."""
    folder = shutil.copytree(trained / "out" / "model", tmp_path / "model")
    card = json.loads((folder / "model.json").read_text())
    *parts, last = path.split(".")
    part = card
    for name in parts:
        part = part[name]
    part[last] = value
    (folder / "model.json").write_text(json.dumps(card))
    return folder


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_pipes_and_devices_are_refused(trained, tmp_path, name):
    for kind in ("pipe", "device"):
        folder = shutil.copytree(trained / "out" / "model", tmp_path / kind)
        (folder / name).unlink()
        if kind == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to("/dev/zero")
        with (
            within(HANG_SECONDS),
            pytest.raises(ModelError, match=rf"{name}: .* is a pipe or a device"),
        ):
            read_model(folder)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("settings.encoder.n_layers", 10**9, " to 256"),
        ("settings.encoder.width", 10**9, " to 16384"),
        ("settings.train.n_chunks", 10**9, " to 100000"),
        ("settings.extract.shard_seconds", 1e308, " to 1000000"),
        ("n_clusters", 10**9, " to 1000"),
        ("cues.hands.width", 10**12, "a whole number from 1 to"),
        ("cues", {}, "an object with at least 1 entry"),
        ("settings.embed.cues", ["nose"], "embed.cues: nose is not among the cues"),
        ("settings.loss.bootstrap_on", ["nose"], "bootstrap_on: nose is not among the cues"),
        ("settings.loss.cue_weights", [[1, 1]], "one row and one column per cue"),
    ],
)
def test_impossible_entries_of_a_model_are_named(trained, tmp_path, path, value, message):
    folder = changed(trained, tmp_path, path, value)
    with pytest.raises(ModelError, match=rf"model\.json: .*{message}"):
        read_model(folder)


@pytest.mark.parametrize(
    ("path", "value"), [("settings.encoder.n_layers", 200), ("cues.hands.width", 9_000_000)]
)
def test_a_model_larger_than_its_weights_takes_no_memory(trained, tmp_path, path, value):
    model = read_model(changed(trained, tmp_path, path, value))
    recording = read_features(trained / "take.npz")
    with (
        within(HANG_SECONDS),
        pytest.raises(ModelError, match="the model's weights do not fit its settings"),
    ):
        embed_with_model(model, [recording], device="cpu")


@pytest.mark.parametrize("kind", ["F8_E4M3", "BF16", "F64", "I32"])
def test_weights_of_another_type_are_refused(trained, tmp_path, kind):
    size = {"F64": 8, "I32": 4, "BF16": 2}.get(kind, 1) * 2 * 8
    header = {"centres": {"dtype": kind, "shape": [2, 8], "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    content = struct.pack("<Q", len(text)) + text + bytes(size)
    weights_hash = hashlib.blake2b(content, digest_size=16).hexdigest()
    folder = changed(trained, tmp_path, "weights_hash", weights_hash)
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors: .*copy the folder again"):
        read_model(folder)


@pytest.mark.parametrize(
    ("setting", "value"), [("encoder.width", 16_384), ("train.n_chunks", 100_000)]
)
def test_a_training_that_does_not_fit_into_memory_is_refused_before_it_begins(setting, value):
    layers = {"encoder.n_layers": 256} if setting == "encoder.width" else {}
    settings = load_settings("quick", {setting: value, **layers})
    n_cues = 8  # as many numbers for every pair of chunks as there are pairs of cues
    with (
        within(HANG_SECONDS),
        pytest.raises(SettingsError, match=r"it needs .* GB of memory.*n_chunks"),
    ):
        check_training_memory({f"cue{n}": 4 for n in range(n_cues)}, settings, value)


def test_a_batch_that_does_not_fit_into_memory_is_refused_too():
    settings = load_settings("quick", {"train.batch_size": 1024, "train.n_chunks": 10_000})
    check_training_memory({"hands": 8}, settings, 10_000)
    with pytest.raises(SettingsError, match=r"it needs .* GB of memory.*batch_size"):
        check_training_memory({"hands": 8000}, settings, 10_000)
