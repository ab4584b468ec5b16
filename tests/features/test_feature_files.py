from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest

from stepreel.errors import RecordingError
from stepreel.features.array_files import is_feature_file
from stepreel.features.feature_files import check_same_cues, read_features

GAZE = np.arange(12, dtype=np.float64).reshape(6, 2)
HANDS = np.ones((6, 3), np.float32)
TIMES = np.array([100.0, 100.5, 101.0, 101.5, 102.0, 103.0])


def write(path, arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file(arrays, path)
    else:
        import h5py

        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    return path


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".h5", ".hdf5", ".NPZ"])
def test_every_two_dimensional_array_is_a_cue_on_the_files_own_clock(tmp_path, suffix):
    path = write(tmp_path / f"take{suffix.lower()}", {"times": TIMES, "gaze": GAZE, "hands": HANDS})
    path = path.rename(tmp_path / f"take{suffix}")
    recording = read_features(path)
    assert recording.name == "take"
    assert {cue: track.width for cue, track in recording.tracks.items()} == {"gaze": 2, "hands": 3}
    assert recording.start_seconds == 100.0
    assert recording.tracks["gaze"].times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
    np.testing.assert_array_equal(recording.tracks["gaze"].features, GAZE)


def test_chosen_cues_are_in_the_requested_order(tmp_path):
    path = write(tmp_path / "a.npz", {"times": TIMES, "gaze": GAZE, "hands": HANDS})
    assert list(read_features(path, cues=["hands", "gaze"]).tracks) == ["hands", "gaze"]
    with pytest.raises(RecordingError, match=r"no cue 'nose'; \(T, D\) arrays in it: gaze, hands"):
        read_features(path, cues=["nose"])


def test_a_npy_file_needs_times_or_a_rate(tmp_path):
    np.save(tmp_path / "a.npy", GAZE)
    with pytest.raises(RecordingError, match=r"--times FILE \(times=…\) or --fps"):
        read_features(tmp_path / "a.npy")
    by_rate = read_features(tmp_path / "a.npy", fps=2.0)
    assert by_rate.tracks["features"].times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    np.save(tmp_path / "t.npy", TIMES)
    assert read_features(tmp_path / "a.npy", times=tmp_path / "t.npy").start_seconds == 100.0
    (tmp_path / "clock").mkdir()
    np.save(tmp_path / "clock" / "a.npy", TIMES)
    assert read_features(tmp_path / "a.npy", times=tmp_path / "clock").start_seconds == 100.0
    (tmp_path / "clock" / "a.npy").unlink()
    with pytest.raises(RecordingError, match="no times for it"):
        read_features(tmp_path / "a.npy", times=tmp_path / "clock")


def test_the_fps_option_takes_precedence_over_the_files_own_times(tmp_path):
    path = write(tmp_path / "a.npz", {"times": TIMES, "gaze": GAZE, "map": np.eye(40)})
    recording = read_features(path, cues=["gaze"], fps=2.0)
    assert recording.tracks["gaze"].times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def test_times_may_be_in_the_hdf5_group_of_the_cues(tmp_path):
    path = write(tmp_path / "a.h5", {"take/times": TIMES, "take/gaze": GAZE})
    assert list(read_features(path).tracks) == ["take/gaze"]


def test_one_cue_may_be_invalid_throughout_if_another_is_valid(tmp_path):
    arrays = {"times": TIMES, "gaze": GAZE, "gaze_valid": np.zeros(6, bool), "hands": HANDS}
    recording = read_features(write(tmp_path / "a.npz", arrays))
    assert not recording.tracks["gaze"].valid.any()
    assert recording.tracks["hands"].valid.all()


def test_moments_that_are_not_finite_or_marked_as_invalid_are_invalid(tmp_path):
    gaze = GAZE.copy()
    gaze[1, 0], gaze[2, 1] = np.nan, np.inf
    valid = np.array([True, True, True, True, False, True])
    path = write(tmp_path / "a.npz", {"times": TIMES, "gaze": gaze, "gaze_valid": valid})
    (track,) = read_features(path).tracks.values()
    assert track.valid.tolist() == [True, False, False, True, False, True]
    assert np.isfinite(track.features).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"times": TIMES[::-1].copy(), "gaze": GAZE}, "finite and increasing seconds"),
        ({"times": TIMES[:4], "gaze": GAZE}, "gaze has 6 rows, but there are 4 times"),
        (
            {"times": TIMES, "gaze": GAZE * np.nan},
            "contains no valid moment: every row of gaze has NaN",
        ),
        ({"times": TIMES, "gaze": GAZE, "gaze_valid": np.ones(5)}, "gaze_valid has 5 values for 6"),
        (
            {"times": TIMES, "gaze": GAZE, "gaze_valid": np.array(["yes"] * 6)},
            "gaze_valid must be true or false, not <U3",
        ),
        ({"times": np.array(["a"] * 6), "gaze": GAZE}, "times must be numbers"),
        ({"times": TIMES * 1j, "gaze": GAZE}, r"times must be numbers \(seconds\), not complex128"),
        ({"times": TIMES.astype("M8[s]"), "gaze": GAZE}, "times must be numbers"),
        (
            {"times": TIMES, "gaze": GAZE[:, :0]},
            r"contains no two-dimensional array \(T, D\) of real numbers; "
            r"it contains times float64 \(6,\), gaze float64 \(6, 0\)",
        ),
        ({"times": TIMES, "all": GAZE}, "'all' cannot be the name of a cue"),
        ({"times": TIMES}, "contains no two-dimensional array"),
        ({"times": TIMES[:0], "gaze": GAZE[:0]}, "contains no moment"),
    ],
)
def test_errors_in_a_file_are_explained(tmp_path, arrays, message):
    with pytest.raises(RecordingError, match=message):
        read_features(write(tmp_path / "a.npz", arrays))


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code from a file ran')",))


def test_pickles_are_never_read(tmp_path):
    for name in ("a.pkl", "a.npy", "a.npz"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(RecordingError, match=r"pickles"):
            read_features(tmp_path / name)
    np.save(tmp_path / "b.npy", np.array([[Bomb()]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", times=TIMES, a=np.array([[Bomb()]], dtype=object))
    for name in ("b.npy", "b.npz"):
        with pytest.raises(RecordingError, match="pickled objects"):
            read_features(tmp_path / name)


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.full((6, 2), "word"), "<U4"),
        (GAZE * 1j, "complex128"),
        (GAZE.astype("M8[s]"), r"datetime64\[s\]"),
        (np.zeros((6, 2), [("x", float)]), r"\[\('x', '<f8'\)\]"),
    ],
)
def test_only_real_numbers_are_accepted_as_features(tmp_path, array, shown):
    np.save(tmp_path / "a.npy", array)
    message = (
        rf"a\.npy: contains no two-dimensional array .*; it contains features {shown} \(6, 2\)$"
    )
    with pytest.raises(RecordingError, match=message):
        read_features(tmp_path / "a.npy", fps=1.0)


def header_of(shape):
    """Return the header of a .npy file with a float64 array of this shape."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


@pytest.mark.parametrize("shape", [(10**9, 1000), (10**18, 10**18), (2, 3), (-5, 4)])
def test_a_header_that_states_more_than_the_file_contains_allocates_no_memory(tmp_path, shape):
    content = header_of(shape) + bytes(47)
    (tmp_path / "a.npy").write_bytes(content)
    zipped(tmp_path / "a.npz", gaze=content)
    size = np.prod([int(n) for n in shape], dtype=object) * 8
    for name in ("a.npy", "a.npz"):
        with pytest.raises(
            RecordingError, match=rf"{name}: .* is {size:,} bytes, but the file contains only 47"
        ):
            read_features(tmp_path / name, fps=1.0)


def test_arrays_larger_than_the_free_memory_are_rejected(tmp_path):
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("gaze", (10**9, 10**6), "f4", chunks=(1, 1))
    with pytest.raises(RecordingError, match=r"a\.h5: .*\(it needs 20000000\.0 GB of memory, and "):
        read_features(tmp_path / "a.h5", fps=1.0)


def test_a_lack_of_memory_names_the_file(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise MemoryError("Unable to allocate 7 TiB")

    np.save(tmp_path / "a.npy", GAZE)
    monkeypatch.setattr(np, "load", fail)
    with pytest.raises(
        RecordingError, match=r"a\.npy: needs more memory than is available \(Unable to"
    ):
        read_features(tmp_path / "a.npy", fps=1.0)


def test_errors_in_an_npz_archive_are_explained(tmp_path):
    path = tmp_path / "a.npz"
    zipped(path, gaze=b"hello")
    with pytest.raises(
        RecordingError, match=r"\(its member `gaze\.npy` is not an array: it is not a NumPy"
    ):
        read_features(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("gaze", "gaze.npy"):
            archive.writestr(name, header_of((0, 2)))
    with pytest.raises(RecordingError, match=r"\(it contains `gaze` twice\)"):
        read_features(path)
    np.savez(path, gaze=GAZE, times=TIMES)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(RecordingError, match=r"cannot be read as \.npz \(it is truncated\)"):
        read_features(path)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.h5"])
def test_an_unreadable_path_is_not_reported_as_a_pickle(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(RecordingError, match=rf"{name}: cannot be read") as caught:
        read_features(tmp_path / name, fps=1.0)
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.safetensors", "a.h5"])
def test_damaged_and_missing_files_are_named(tmp_path, name):
    with pytest.raises(RecordingError, match=f"{name}: does not exist"):
        read_features(tmp_path / name, fps=1.0)
    (tmp_path / name).write_bytes(b"\x93NUMPY but no more, PK\x03\x04")
    with pytest.raises(RecordingError, match=f"{name}: cannot be read"):
        read_features(tmp_path / name, fps=1.0)


def test_a_file_of_times_must_contain_an_array(tmp_path):
    np.save(tmp_path / "a.npy", GAZE)
    zipped(tmp_path / "t.npz")
    with pytest.raises(RecordingError, match=r"t\.npz: contains no array; expected `times`"):
        read_features(tmp_path / "a.npy", times=tmp_path / "t.npz")


def test_recordings_of_a_task_need_the_same_cues_and_widths(tmp_path):
    first = read_features(write(tmp_path / "a.npz", {"times": TIMES, "gaze": GAZE}))
    other = read_features(write(tmp_path / "b.npz", {"times": TIMES, "gaze": GAZE[:, :1]}))
    check_same_cues(first, first)
    with pytest.raises(RecordingError, match=r"b: has the cues gaze \(1\), but a has gaze \(2\)"):
        check_same_cues(other, first)


def test_other_times_give_another_fingerprint(tmp_path):
    np.save(tmp_path / "a.npy", GAZE)
    fingerprints = {
        read_features(tmp_path / "a.npy", fps=fps).fingerprint for fps in (1.0, 2.0, 2.0)
    }
    assert len(fingerprints) == 2


def test_feature_files_are_recognised_by_their_suffix(tmp_path):
    assert is_feature_file(tmp_path / "a.NPZ")
    assert not is_feature_file(tmp_path / "a.mp4")


def test_a_missing_channel_does_not_invalidate_the_others(tmp_path):
    objects = np.ones((4, 3))
    objects[:, 1] = np.nan  # an object that is missing throughout
    objects[2, 0] = np.nan  # an object that is hidden for a moment
    np.savez(tmp_path / "take.npz", times=np.arange(4.0), objects=objects)
    take = read_features(tmp_path / "take.npz")
    assert take.absent == {"objects": [1]}
    assert take.tracks["objects"].valid.tolist() == [True, True, False, True]
    assert take.tracks["objects"].features[:, 1].tolist() == [0, 0, 0, 0]


def test_labels_in_the_file_do_not_change_the_fingerprint(tmp_path):
    takes = []
    for name, labels in (("a", [0, 1, 1]), ("b", [1, 0, 1])):
        np.savez(tmp_path / f"{name}.npz", times=np.arange(3.0), hands=np.eye(3), labels=labels)
        takes.append(read_features(tmp_path / f"{name}.npz").fingerprint)
    assert takes[0] == takes[1]
    np.savez(tmp_path / "c.npz", times=np.arange(3.0) * 2, hands=np.eye(3))
    np.savez(tmp_path / "d.npz", times=np.arange(3.0), hands=2 * np.eye(3))
    others = [read_features(tmp_path / f"{name}.npz").fingerprint for name in "cd"]
    assert len({*takes, *others}) == 3
