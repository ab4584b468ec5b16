from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import (
    LabelledRecording,
    LabelledTask,
    Request,
)
from stepreel.evaluation.datasets.npz import read
from stepreel.evaluation.truth.annotation import Problems
from stepreel.features.array_files import READERS, Arrays
from stepreel.features.feature_files import read_features

REAL = Path(__file__).parents[4] / "shared" / "data"
LABELS = [0, 0, 3, 3, 3, 1, 1, 0]


def write(path: Path, **arrays: Any) -> Path:
    """Write eight moments, half a second apart, with a cue of two columns."""
    usual = {
        "times": 10 + np.arange(8) / 2,
        "hands": np.arange(16, dtype=np.float32).reshape(8, 2),
        "labels": np.array(LABELS, np.int16),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    named = {name: array for name, array in {**usual, **arrays}.items() if array is not None}
    np.savez(path, **named)
    return path


def strict(root: Path, **wanted: Any) -> list[LabelledTask]:
    return read(Request(root, Problems(), **wanted))


def refused(root: Path, message: str, **wanted: Any) -> tuple[LabelledRecording, ...]:
    """Check that one problem is reported; return what a lenient reader keeps without it."""
    with pytest.raises(DatasetError, match=message):
        strict(root, **wanted)
    problems = Problems(lenient=True)
    tasks = read(Request(root, problems, **wanted))
    assert len(problems.skipped) == 1
    return tuple(take for task in tasks for take in task.recordings)


def labels_of(recording: LabelledRecording) -> list[int]:
    assert recording.features is not None
    track = next(iter(recording.features().tracks.values()))
    return recording.annotation.labels_at(track.times).tolist()


def test_a_folder_of_files_is_one_task_with_the_labels_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "knots" / "b.npz")
    write(tmp_path / "knots" / "a.npz", labels=np.array([1, 1, 1, 1, 0, 0, 0, 2]))
    (task,) = strict(tmp_path / "knots")
    assert (task.name, [take.name for take in task.recordings]) == ("knots", ["a", "b"])
    assert labels_of(task.recordings[1]) == LABELS
    assert labels_of(task.recordings[0]) == [1, 1, 1, 1, 0, 0, 0, 2]
    assert task.step_names == {1: "1", 2: "2", 3: "3"}
    assert task.recordings[0].annotation.duration_seconds == 4.0


def test_tracks_begin_at_0_whatever_the_times_of_the_file(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    features = strict(tmp_path)[0].recordings[0].features
    assert features is not None
    recording = features()
    assert recording.start_seconds == 0.0  # labels use these times, too
    assert recording.tracks["hands"].times.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]


def test_every_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["a", "b"]:
        write(tmp_path / f"{name}.npz")
    opened: list[str] = []
    read_npz = READERS[".npz"]

    def counted(path: Path) -> Arrays:
        opened.append(path.name)
        return read_npz(path)

    monkeypatch.setitem(READERS, ".npz", counted)  # type: ignore[arg-type]
    for recording in strict(tmp_path)[0].recordings:
        assert labels_of(recording) == LABELS
    assert opened == ["a.npz", "b.npz"]


def test_features_are_those_that_reading_the_file_gives(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", gaze=np.ones((8, 3)))
    features = strict(tmp_path, cues=("gaze", "hands"))[0].recordings[0].features
    assert features is not None
    expected = read_features(path, cues=("gaze", "hands"))
    assert features().fingerprint == expected.fingerprint
    assert list(features().tracks) == ["gaze", "hands"]
    assert features().path == path


def test_irregular_times_keep_the_labels(tmp_path: Path) -> None:
    times = np.cumsum(np.random.default_rng(0).uniform(1e-3, 5, 8))
    write(tmp_path / "a.npz", times=times)
    assert labels_of(strict(tmp_path)[0].recordings[0]) == LABELS


def test_each_folder_in_a_folder_is_a_task_and_they_share_step_names(tmp_path: Path) -> None:
    root = tmp_path / "kitchen"
    write(root / "tea" / "a.npz")
    write(root / "soup" / "a.npz")
    (root / "empty").mkdir()
    (root / "steps.csv").write_text("1,pour, slowly\n3,stir\n\n")
    tasks = strict(root)
    assert [(task.name, task.group) for task in tasks] == [("soup", "kitchen"), ("tea", "kitchen")]
    assert tasks[0].step_names == {1: "pour, slowly", 3: "stir"}
    assert [task.name for task in strict(root, task="TEA")] == ["tea"]
    with pytest.raises(DatasetError, match="no task 'bread'; known here: soup, tea"):
        strict(root, task="bread")


def test_labels_may_be_names(tmp_path: Path) -> None:
    names = ["background", "", "stir", "stir", "stir", "pour", "pour", "SIL"]
    write(tmp_path / "a.npz", labels=np.array(names))
    write(tmp_path / "b.npz", labels=np.array(names, "S"))
    (task,) = strict(tmp_path)
    assert task.step_names == {1: "pour", 2: "stir"}
    assert [labels_of(take) for take in task.recordings] == [[0, 0, 2, 2, 2, 1, 1, 0]] * 2


def test_steps_that_are_not_listed_are_unknown(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    (tmp_path / "steps.csv").write_text("0,nothing\n3,stir\n")
    (kept,) = refused(tmp_path, r"a\.npz: unknown step '1'; known here: 3")
    assert labels_of(kept) == [0, 0, 3, 3, 3, 0, 0, 0]


@pytest.mark.parametrize("line", ["two,pour", "2", "3,again", "id,name", "9" * 5000 + ",pour"])
def test_wrong_lines_of_steps_are_reported_or_left_out(tmp_path: Path, line: str) -> None:
    write(tmp_path / "a.npz")
    (tmp_path / "steps.csv").write_text(f"1,pour\n3,stir\n{line}\n")
    assert len(refused(tmp_path, r"steps\.csv, line 3: ")) == 1


@pytest.mark.parametrize("header", ["id,name\n", "\nID, Name\n"])
def test_steps_may_have_a_header(tmp_path: Path, header: str) -> None:
    write(tmp_path / "a.npz")
    (tmp_path / "steps.csv").write_text(f"{header}1,pour\n3,stir\n")
    assert strict(tmp_path)[0].step_names == {1: "pour", 3: "stir"}


def test_cues_that_are_not_equally_wide_everywhere_are_not_used(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", objects=np.ones((8, 4)), gaze=np.ones((8, 3)))
    write(tmp_path / "b.npz", objects=np.ones((8, 12)), gaze=np.ones((8, 3)))
    write(tmp_path / "c.npz", objects=np.ones((8, 4)), gaze=np.ones((8, 3)), extra=np.ones((8, 1)))
    problems = Problems()
    for recording in read(Request(tmp_path, problems))[0].recordings:
        assert recording.features is not None
        assert list(recording.features().tracks) == ["hands", "gaze"]
    assert problems.notes == [
        "b.npz: objects is not used: it is 12 wide here, but it is 4 wide in a.npz",
        "a.npz: extra is not used: there is no such table of numbers here, but it is 1 wide in "
        "c.npz",
    ]


def test_a_requested_cue_must_be_equally_wide_everywhere(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", objects=np.ones((8, 4)))
    write(tmp_path / "b.npz", objects=np.ones((8, 12)))
    message = r"b\.npz: has the cues objects \(12\), others have objects \(4\)"
    kept = refused(tmp_path, message, cues=("objects",))
    assert [take.name for take in kept] == ["a"]


def test_a_requested_cue_must_exist(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    write(tmp_path / "b.npz", gaze=np.ones((8, 4)))
    kept = refused(tmp_path, r"a\.npz: no cue 'gaze'.*: hands", cues=("gaze",))
    assert [take.name for take in kept] == ["b"]


def test_a_cue_that_no_file_has_is_an_error_of_the_request(tmp_path: Path) -> None:
    write(tmp_path / "set" / "tea" / "a.npz")
    write(tmp_path / "set" / "jam" / "b.npz", gaze=np.ones((8, 4)))
    words = "no cue 'feet' in any file; known here: hands"
    with pytest.raises(DatasetError, match=words):
        read(Request(tmp_path / "set" / "tea", Problems(lenient=True), cues=("feet",)))
    problems = Problems(lenient=True)
    (jam,) = read(Request(tmp_path / "set", problems, cues=("gaze",)))
    assert jam.name == "jam"
    assert problems.skipped == ["tea: no cue 'gaze' in any file; known here: hands"]


def test_without_a_common_cue_there_is_nothing_to_learn_from(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    write(tmp_path / "b.npz", hands=np.ones((8, 3)))
    with pytest.raises(DatasetError, match=r"no cue.* is in every file and equally wide"):
        read(Request(tmp_path, Problems(lenient=True)))


def test_labels_are_never_a_cue(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    with pytest.raises(DatasetError, match="labels cannot be a cue"):
        strict(tmp_path, cues=("labels",))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": None}, "a recording without labels"),
        ({"labels": np.array([0, 0, 3, np.nan, 3, 1, 1, 0])}, "label nan of moment 4"),
        ({"labels": np.array([0, 0, 3, 3, 2.5, 1, 1, 0])}, "label 2.5 of moment 5"),
        ({"labels": np.array([-1, 0, 3, 3, 3, 1, 1, 0])}, "label -1 of moment 1"),
        ({"labels": np.array([0, 1, 1])}, "3 labels, but 8 times; expected one per moment"),
        ({"labels": np.zeros((8, 1))}, r"labels have the shape \(8, 1\)"),
        ({"labels": np.array([b"\xff"] * 8)}, "labels are not UTF-8 text"),
        ({"labels": np.array(["\ud800"] * 8)}, "labels are not UTF-8 text"),
        ({"labels": np.full(8, 2**64 - 1, np.uint64)}, "label 18446744073709551615 of moment 1"),
        ({"labels": np.full(8, 1e300)}, r"label 1e\+300 of moment 1; expected .* 18 digits"),
        ({"times": np.zeros(8)}, "times must be finite seconds that increase"),
        ({"times": None}, "contains no `times`; give --fps"),
        (
            {"hands": np.full((8, 2), np.nan)},
            "contains no valid moment: every row of hands has NaN",
        ),
        ({"hands": np.ones((7, 2))}, "hands has 7 rows, but there are 8 times"),
    ],
)
def test_a_wrong_file_is_reported_or_left_out(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    write(tmp_path / "a.npz")
    write(tmp_path / "b.npz", **arrays)
    kept = refused(tmp_path, rf"b\.npz: {message}")
    assert [take.name for take in kept] == ["a"]


def test_whole_numbers_may_be_floats(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", labels=np.array(LABELS, float))
    assert labels_of(strict(tmp_path)[0].recordings[0]) == LABELS


def test_rows_with_nan_are_invalid_moments(tmp_path: Path) -> None:
    hands = np.ones((8, 2))
    hands[3, 1] = np.nan
    write(tmp_path / "a.npz", hands=hands)
    features = strict(tmp_path)[0].recordings[0].features
    assert features is not None
    assert np.flatnonzero(~features().tracks["hands"].valid).tolist() == [3]


@pytest.mark.parametrize("content", [b"", b"no zip", pickle.dumps({"labels": [1]})])
def test_files_that_are_not_archives_are_reported_or_left_out(
    tmp_path: Path, content: bytes
) -> None:
    write(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(content)
    assert len(refused(tmp_path, r"b\.npz: cannot be read as \.npz")) == 1


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    write(tmp_path / "b.npz", labels=np.array([{}] * 8, object))
    assert (
        len(refused(tmp_path, r"b\.npz: cannot be read as \.npz .*contains pickled objects")) == 1
    )


def test_labels_that_are_not_an_array_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.npz")
    write(tmp_path / "b.npz", labels=None)
    with zipfile.ZipFile(tmp_path / "b.npz", "a") as archive:
        archive.writestr("labels", "hello")
    assert (
        len(refused(tmp_path, r"b\.npz: cannot be read .*its member `labels` is not an array")) == 1
    )


def test_two_files_with_the_same_name_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "a.npz").rename(tmp_path / "a.NPZ")
    write(tmp_path / "a.npz")
    if len(list(tmp_path.iterdir())) == 2:  # else the file system ignores case
        assert len(refused(tmp_path, r"a\.npz and a\.NPZ have the same name")) == 1


def test_a_frame_rate_other_than_the_stated_one_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", times=np.arange(8) / 2.01)
    write(tmp_path / "b.npz", times=np.arange(8) / 30)
    kept = refused(
        tmp_path, r"b\.npz: its times have 30 moments per second, but --fps \(fps=…\) is 2", fps=2.0
    )
    assert [take.name for take in kept] == ["a"]


def test_files_without_times_use_the_stated_frame_rate(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", times=None)
    recording = strict(tmp_path, fps=4.0)[0].recordings[0]
    assert labels_of(recording) == LABELS
    assert recording.annotation.duration_seconds == 2.0


def test_a_folder_that_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="does not exist"):
        strict(tmp_path / "nowhere")
    with pytest.raises(DatasetMissingError, match=r"nor a folder in it contains a \.npz file"):
        strict(tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real recordings in {REAL}")
@pytest.mark.parametrize("name", ["jigsaws/Suturing", "bimacs_zed", "openpack/boxes", "cad120"])
def test_real_files_keep_exactly_their_labels(name: str) -> None:
    for task in strict(REAL / name):
        folder = REAL / name / (task.name if task.group else "")
        assert len(task.recordings) == len(list(folder.glob("*.npz")))
        for recording in task.recordings:
            with np.load(folder / f"{recording.name}.npz", allow_pickle=False) as file:
                assert labels_of(recording) == file["labels"].tolist()
