"""Names that are too long once a suffix is added, and rates that are none."""

from __future__ import annotations

import numpy as np
import pytest

import stepreel
from cli.commands import stepreel as command

LONG = "漢" * 80  # 240 bytes; file systems allow 255
BRIEF = ["--decoder", "kmeans", "--set", "train.epochs=2", "--set", "train.n_chunks=16"]


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    random = np.random.default_rng(0)
    for name in (LONG, f"{LONG}x", "short"):
        hands = np.eye(3)[np.repeat([0, 1, 2], 20)] + 0.1 * random.normal(size=(60, 3))
        np.savez(folder / f"{name}.npz", times=np.arange(60) / 4, hands=hands)
    return sorted(folder.glob("*.npz"))


def test_long_names_are_shortened_for_folders_and_embeddings(takes, tmp_path):
    done = command("run", *takes, "-o", tmp_path / "out", *BRIEF)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").glob("*/storyboard.json"))) == 3
    embedded = command("embed", *takes, "--model", tmp_path / "out", "-o", tmp_path / "embedded")
    assert embedded.returncode == 0, embedded.stderr
    assert len(list((tmp_path / "embedded").glob("*.embedding.npz"))) == 3


def test_an_embedding_that_cannot_be_written_does_not_stop_the_others(takes, tmp_path):
    assert command("run", *takes, "-o", tmp_path / "out", *BRIEF).returncode == 0
    (tmp_path / "short.embedding.npz" / "in the way").mkdir(parents=True)
    done = command("embed", *takes, "--model", tmp_path / "out", "-o", tmp_path)
    assert done.returncode == 1
    assert "is in the way" in done.stderr
    assert len([path for path in tmp_path.glob("*.embedding.npz") if path.is_file()]) == 2


@pytest.mark.parametrize("fps", [np.inf, -np.inf, np.nan, 0.0, -1.0, 1e-300, 1e300])
def test_impossible_rates_are_refused(takes, fps):
    with pytest.raises(ValueError, match=r"--fps \(fps=…\): .* is not a rate"):
        stepreel.find_key_steps(takes[0], fps=fps)
    with pytest.raises(ValueError, match=r"--fps \(fps=…\): .* is not a rate"):
        stepreel.evaluate("npz", takes[0].parent, fps=fps)
