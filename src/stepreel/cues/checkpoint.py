"""Read the tensors of a PyTorch checkpoint without PyTorch, and without running what it contains.

A checkpoint is a series of pickles: a magic number, a version, facts about the machine, the tensors
without their numbers, and the keys of storages; the storages follow, each with its length before
it. Unpickling can call anything that a file names, so only what tensors need may be named.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from io import BytesIO
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
STORAGES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


class _Storage(NamedTuple):
    key: str
    dtype: np.dtype[np.generic]


class _Tensor(NamedTuple):
    """Where the numbers of a tensor are: offset and strides count numbers of a storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_checkpoint(content: bytes) -> dict[str, NDArray[np.generic]]:
    """Return the tensors of a checkpoint by name.

    Raises pickle.UnpicklingError if it contains anything but tensors of float32 and int64.
    """
    try:
        return _read(BytesIO(content))
    except (AttributeError, EOFError, KeyError, TypeError, ValueError) as problem:
        raise pickle.UnpicklingError(f"not a checkpoint of tensors ({problem})") from problem


def _read(file: BytesIO) -> dict[str, NDArray[np.generic]]:
    if _TensorUnpickler(file).load() != MAGIC_NUMBER:
        raise pickle.UnpicklingError("not a checkpoint of the expected kind")
    _version, _machine = _TensorUnpickler(file).load(), _TensorUnpickler(file).load()
    tensors = _TensorUnpickler(file).load()
    keys = _TensorUnpickler(file).load()
    dtypes = {tensor.storage.key: tensor.storage.dtype for tensor in tensors.values()}
    storages = {key: _read_storage(file, dtypes[key]) for key in keys}
    return {name: _numbers(tensor, storages) for name, tensor in tensors.items()}


class _TensorUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        raise pickle.UnpicklingError(f"a checkpoint of tensors does not need {module}.{name}")

    def persistent_load(
        self, saved: tuple[str, np.dtype[np.generic], str, str, int, None]
    ) -> object:
        _kind, dtype, key, _device, _length, _view = saved
        return _Storage(key, dtype)


def _tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _Tensor:
    return _Tensor(storage, offset, shape, strides)


def _read_storage(file: BytesIO, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    length = int.from_bytes(file.read(8), "little")
    return np.frombuffer(file.read(length * dtype.itemsize), dtype, length)


def _numbers(tensor: _Tensor, storages: dict[str, NDArray[np.generic]]) -> NDArray[np.generic]:
    storage = storages[tensor.storage.key]
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True))
    if min(tensor.offset, *tensor.strides, 0) < 0 or tensor.offset + last >= len(storage):
        raise pickle.UnpicklingError("a tensor lies outside of its storage")
    steps = [step * storage.itemsize for step in tensor.strides]
    return np.ascontiguousarray(as_strided(storage[tensor.offset :], tensor.shape, steps))
