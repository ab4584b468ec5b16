from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from stepreel.cues.appearance import PIXELS, WIDTH, AppearanceCue, _pooled_network, exported_graph
from stepreel.video.moments import Moment


@pytest.fixture(scope="module")
def cue(tmp_path_factory):
    cue = AppearanceCue()
    cue.prepare(tmp_path_factory.mktemp("backbones"))
    return cue


def moment(picture):
    flat = np.zeros((8, 8), np.uint8)
    return Moment(0, 0.0, picture, flat, flat, 0.1)


def test_features_equal_the_output_of_the_network(cue):
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (PIXELS, PIXELS, 3), dtype=np.uint8)
    ours = cue.extract([moment(picture)])["features"]
    with torch.no_grad():
        expected = _pooled_network().eval()(torch.from_numpy(picture)[None]).numpy()
    assert ours.shape == (1, WIDTH)
    np.testing.assert_allclose(ours, expected, atol=1e-3)


def test_pretrained_weights_place_a_brightened_picture_nearer_than_noise(cue):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:PIXELS, :PIXELS]
    scene = np.stack([128 + 90 * np.sin(x / 9), 128 + 90 * np.sin(y / 15), (x + y) / 4], -1)
    scene = scene.clip(0, 255).astype(np.uint8)
    brighter = (scene * 0.8 + 30).astype(np.uint8)
    noise = rng.integers(0, 255, scene.shape, dtype=np.uint8)
    a, b, c = cue.extract([moment(scene), moment(brighter), moment(noise)])["features"]
    assert np.linalg.norm(a - b) < 0.7 * np.linalg.norm(a - c)


def test_batching_does_not_change_the_features(cue):
    rng = np.random.default_rng(1)
    moments = [moment(rng.integers(0, 255, (90, 160, 3), dtype=np.uint8)) for _ in range(3)]
    together = cue.extract(moments)["features"]
    alone = np.concatenate([cue.extract([m])["features"] for m in moments])
    np.testing.assert_array_equal(together, alone)


def test_a_network_with_one_wrong_weight_is_exported_again(cue, tmp_path, caplog):
    exported_graph(tmp_path)
    (file,) = tmp_path.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 64
    file.write_bytes(content)
    repaired = AppearanceCue()
    repaired.prepare(tmp_path)
    assert caplog.text.count("is damaged") == 1
    picture = moment(np.full((90, 160, 3), 80, np.uint8))
    np.testing.assert_array_equal(
        repaired.extract([picture])["features"], cue.extract([picture])["features"]
    )


def test_exporting_prints_nothing(tmp_path):
    code = (
        "import sys; from pathlib import Path; from stepreel.cues.appearance import exported_graph;"
        "exported_graph(Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
