"""Feature files that others made: refused or read in bounded time and memory."""

from __future__ import annotations

import json
import os
import struct

import h5py
import numpy as np
import pytest
from limits import HANG_SECONDS, run_limited, within

from stepreel.errors import RecordingError
from stepreel.features.feature_files import read_features

GAZE = np.arange(12, dtype=np.float64).reshape(6, 2)
TIMES = np.arange(6) / 2
READ = """
import sys, pathlib
from stepreel.errors import RecordingError
from stepreel.features.feature_files import read_features
try:
    print(read_features(pathlib.Path(sys.argv[1]), cues=sys.argv[2:]).tracks)
except RecordingError as problem:
    print("refused:", problem)
"""


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".safetensors"])
def test_pipes_and_devices_are_refused(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"zeros{suffix}").symlink_to("/dev/zero")
    np.save(tmp_path / "good.npy", GAZE)
    for name in ("pipe", "zeros"):
        path = tmp_path / f"{name}{suffix}"
        with within(HANG_SECONDS), pytest.raises(RecordingError, match="is a pipe or a device"):
            read_features(path, fps=2.0)
        with within(HANG_SECONDS), pytest.raises(RecordingError, match="is a pipe or a device"):
            read_features(tmp_path / "good.npy", times=path)


def test_a_bomb_is_refused_if_it_does_not_fit_and_not_read_if_it_is_not_needed(tmp_path):
    bomb = np.zeros((6, 70_000_000))  # 3.4 GB, or 3 MB compressed
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, times=TIMES, gaze=GAZE, bomb=bomb.astype(np.int8))
    assert path.stat().st_size < 1e6
    refused = run_limited(READ, path, gigabytes=2)
    assert refused.stdout.startswith("refused: bomb.npz: "), refused.stderr
    assert "of memory, and" in refused.stdout
    read = run_limited(READ, path, "gaze", gigabytes=1)
    assert "6 x 2" in read.stdout, read.stderr


def test_hdf5_chunks_that_were_never_written_count_as_memory(tmp_path):
    path = tmp_path / "bomb.h5"
    with h5py.File(path, "w") as file:
        file["times"] = TIMES
        file["gaze"] = GAZE
        file.create_dataset("bomb", (6, 350_000_000), "u1", chunks=(1, 1_000_000))
    assert path.stat().st_size < 20_000
    refused = run_limited(READ, path, gigabytes=2)
    assert refused.stdout.startswith("refused: bomb.h5: "), refused.stderr
    assert "6 x 2" in run_limited(READ, path, "gaze", gigabytes=1).stdout


def test_hdf5_files_that_refer_to_other_files_are_refused(tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(GAZE.tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["gaze"] = GAZE
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        file.create_dataset("gaze", (6, 2), "f8", external=[(str(secret), 0, 96)])
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((6, 2), "f8")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "gaze", (6, 2))
        file.create_virtual_dataset("gaze", layout)
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file["gaze"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/gaze")
    with h5py.File(tmp_path / "soft.h5", "w") as file:
        file["a/real"] = GAZE
        file["a/gaze"] = h5py.SoftLink("/a/real")
    for name, message in (
        ("raw", "`gaze` is stored in other files"),
        ("virtual", "`gaze` is stored in other files"),
        ("external", "`gaze` is a link to /gaze in .*other.h5"),
        ("soft", "`a/gaze` is a link to /a/real; links are not followed"),
    ):
        with pytest.raises(RecordingError, match=rf"{name}\.h5: .*{message}"):
            read_features(tmp_path / f"{name}.h5", fps=2.0)


@pytest.mark.parametrize("shape", ["(0, 100000000000000000000)", "(0, 4611686018427387904)"])
def test_an_empty_array_of_an_impossible_shape_is_refused(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(RecordingError, match=r"a\.npy: .* which no array can have"):
        read_features(tmp_path / "a.npy", fps=2.0)


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2", "BF16", "C64"])
def test_types_that_numpy_does_not_have_are_named(tmp_path, kind):
    size = {"BF16": 2, "C64": 8}.get(kind, 1) * 12
    tensor = {"dtype": kind, "shape": [6, 2], "data_offsets": [0, size]}
    header = json.dumps({"gaze": tensor}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    expected = "two-dimensional array" if kind == "C64" else f"`gaze` contains {kind}, which NumPy"
    with pytest.raises(RecordingError, match=rf"a\.safetensors: .*{expected}"):
        read_features(path, fps=2.0)


def test_times_that_cannot_be_seconds_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", times=TIMES * 1e300, gaze=GAZE)
    np.savez(tmp_path / "b.npz", times=1.7e18 + TIMES * 1e9 * 60, gaze=GAZE)
    for name in ("a", "b"):
        with pytest.raises(RecordingError, match=rf"{name}\.npz: times span .*nanoseconds"):
            read_features(tmp_path / f"{name}.npz")


def test_a_header_that_is_far_too_long_is_not_read(tmp_path):
    path = tmp_path / "bomb.npy"
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + (3_000_000_000).to_bytes(4, "little"))
        file.truncate(3_000_000_012)  # sparse: it takes no space
    refused = run_limited(READ, path, gigabytes=1)
    assert "its header is damaged" in refused.stdout, refused.stderr


def test_hdf5_chunks_much_larger_than_their_array_are_refused(tmp_path):
    path = tmp_path / "chunk.h5"
    with h5py.File(path, "w") as file:
        file["times"] = TIMES
        file.create_dataset(
            "gaze", data=GAZE, maxshape=(None, 2), chunks=(10_000_000, 2), compression="gzip"
        )
    with pytest.raises(RecordingError, match=r"chunk\.h5: .*stored in chunks of"):
        read_features(path)


def test_times_that_end_where_a_storyboard_cannot_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", times=[*range(5), 1e9], gaze=GAZE)
    with pytest.raises(RecordingError, match="times span"):
        read_features(tmp_path / "a.npz")
