from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import load_file

from stepreel.system.checked_arrays import (
    BLOCK_BYTES,
    CheckedArrays,
    DamagedError,
    join_arrays,
    write_arrays,
)

N_ROWS = 5000


def arrays(start=0, stop=N_ROWS):
    """Return arrays of every size of item, of several blocks, and an odd number of bytes."""
    features = np.arange(start * 40, stop * 40, dtype=np.float32).reshape(-1, 40)
    return {
        "features": features,
        "half": (features[:, :3] / 1e6).astype(np.float16),
        "times": np.arange(start, stop) / 4,
        "valid": np.arange(start, stop) % 3 > 0,
    }


@pytest.fixture
def path(tmp_path):
    write_arrays(tmp_path / "a.safetensors", arrays(), {"made": "by hand"})
    return tmp_path / "a.safetensors"


def everything(file):
    """Return all that can be read of a file, slices included."""
    rows = [file.read_rows("features", start, start + 10) for start in range(0, N_ROWS, 10)]
    return {**file.read_all(), "rows": np.concatenate(rows)}


def test_arrays_are_read_back_whole_and_in_slices(path):
    file = CheckedArrays.open(path)
    assert file.metadata == {"made": "by hand"}
    for name, expected in arrays().items():
        np.testing.assert_array_equal(file.read(name), expected)
        for start, stop in [(0, 1), (400, 420), (N_ROWS - 3, N_ROWS + 9), (7, 7)]:
            np.testing.assert_array_equal(file.read_rows(name, start, stop), expected[start:stop])


def test_the_library_of_the_format_reads_the_file(path):
    for name, array in load_file(path).items():
        np.testing.assert_array_equal(array, arrays()[name])


def test_empty_arrays_and_single_numbers_are_arrays(tmp_path):
    some = {
        "none": np.zeros((0, 3), np.float32),
        "one": np.float64(7.0),
        "text": np.array([1], "u1"),
    }
    write_arrays(tmp_path / "a", {name: np.asarray(array) for name, array in some.items()}, {})
    file = CheckedArrays.open(tmp_path / "a")
    assert (file.read("none").shape, file.read("one").shape, float(file.read("one"))) == (
        (0, 3),
        (),
        7.0,
    )
    assert load_file(tmp_path / "a")["none"].shape == (0, 3)


def test_shards_are_joined_as_if_written_at_once(path, tmp_path):
    cuts = [0, 3, 1700, 1701, N_ROWS]
    shards = []
    for number, (start, stop) in enumerate(pairwise(cuts)):
        write_arrays(tmp_path / f"{number}", arrays(start, stop), {})
        shards.append(CheckedArrays.open(tmp_path / f"{number}"))
    join_arrays(shards, tmp_path / "joined", {"made": "by hand"})
    assert (tmp_path / "joined").read_bytes() == path.read_bytes()


def test_any_flipped_bit_is_found_or_changes_nothing(path):
    content = path.read_bytes()
    expected = everything(CheckedArrays.open(path))
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(content[:8], "little")
    in_header = rng.integers(0, header, 150)
    in_arrays = rng.integers(header, len(content), 50)
    found = 0
    for place in [0, 7, 8, header - 1, header, len(content) - 1, *in_header, *in_arrays]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            read = everything(CheckedArrays.open(path))
        except DamagedError:
            found += 1
        else:  # a space of the header became another
            for name, array in expected.items():
                np.testing.assert_array_equal(read[name], array)
    assert found > 190


@pytest.mark.parametrize("what", ["zeros", "cut", "longer", "empty", "garbage", "older"])
def test_other_damage_is_found(path, what):
    content = path.read_bytes()
    zeroed = bytearray(content)
    zeroed[-3 * BLOCK_BYTES : -2 * BLOCK_BYTES] = bytes(BLOCK_BYTES)
    if what == "older":  # a file without checksums, as version 0.1.0 wrote it
        from safetensors.numpy import save_file

        save_file(arrays(), path, {"made": "by hand"})
    else:
        changed = {
            "zeros": zeroed,
            "cut": content[:-10],
            "longer": content + b"x",
            "empty": b"",
            "garbage": b"x" * 100,
        }
        path.write_bytes(changed[what])
    with pytest.raises(DamagedError):
        everything(CheckedArrays.open(path))


def test_a_slice_needs_only_the_blocks_it_lies_in(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    file = CheckedArrays.open(path)
    np.testing.assert_array_equal(file.read_rows("features", 5, 9), arrays()["features"][5:9])
    with pytest.raises(DamagedError):
        file.read("valid")
    with pytest.raises(DamagedError):
        file.check()
