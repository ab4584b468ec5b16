from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import LabelledRecording, Request
from stepreel.evaluation.datasets.convert_mapping import convert, main
from stepreel.evaluation.datasets.steps_release import FORMAT, read
from stepreel.evaluation.truth.annotation import Problems, TrueStep

N_FRAMES = {"0003": 7, "0004": 5}
KEYS = [f"frames/{video}/{f:05}.jpg" for video, n in N_FRAMES.items() for f in range(1, n + 1)]
DAT = "features/resnet50_features/meccano_conv5c_12_4.dat"
NPY = "features/raft_motion_features/raft_motion_features.npy"


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def release(root: Path) -> Path:
    """Write 7 and 5 frames in shuffled rows; row r contains r, 10 r, 100 r and a counter.

    Motion has no row for a recording's last frame, and counts frames from 0.
    """
    put(root / "annotations/0003.csv", "0.0,0.2,1 align\n0.3,0.55,2 screw\n")
    put(root / "annotations/0004.csv", "0.1,0.4,2 screw\n")
    rows = {key: (5 * i) % 12 for i, key in enumerate(KEYS)}
    put((root / DAT).with_suffix(".json"), json.dumps(rows))
    table = np.arange(12)[:, None] * np.array([1, 10, 100, 7])
    table.astype(np.float32).tofile(root / DAT)
    flow = [f"flow/{v}/frame_{f:05}.npy" for v, n in N_FRAMES.items() for f in range(n - 1)]
    put((root / NPY).with_suffix(".json"), json.dumps({key: i for i, key in enumerate(flow)}))
    np.save(root / NPY, np.arange(20.0).reshape(10, 2))
    return root


def recordings(root: Path, **wanted: object) -> tuple[LabelledRecording, ...]:
    return read(Request(root, Problems(), **wanted))[0].recordings  # type: ignore[arg-type]


def skipped(root: Path) -> tuple[list[str], list[str]]:
    problems = Problems(lenient=True)
    tasks = read(Request(root, problems))
    return [take.name for task in tasks for take in task.recordings], problems.skipped


@pytest.fixture(autouse=True)
def _written(tmp_path: Path) -> None:
    release(tmp_path)


def test_every_other_frame_is_a_moment_and_the_counter_is_dropped(tmp_path: Path) -> None:
    first, second = recordings(tmp_path)
    assert first.features is not None
    assert second.features is not None
    track = first.features().tracks["appearance"]
    # Frames 1, 3, 5 and 7 lie in rows 0, 10, 20 % 12 = 8 and 30 % 12 = 6.
    assert track.features.tolist() == [[0, 0, 0], [10, 100, 1000], [8, 80, 800], [6, 60, 600]]
    assert track.features.dtype == np.float32
    assert track.times.tolist() == [0.0, 2 / 12, 4 / 12, 6 / 12]
    # The second recording's frames 1, 3 and 5 are the keys 7, 9 and 11: rows 11, 9 and 7.
    assert second.features().tracks["appearance"].features[:, 0].tolist() == [11, 9, 7]


def test_labels_are_those_of_egoprocel_and_lengths_come_from_the_frames(tmp_path: Path) -> None:
    (task,) = read(Request(tmp_path, Problems()))
    assert (task.name, task.group, task.step_names) == (
        "meccano",
        "meccano",
        {1: "align", 2: "screw"},
    )
    truth = task.recordings[0].annotation
    assert truth.duration_seconds == 7 / 12
    assert truth.steps == (TrueStep(0.0, 0.2, 1), TrueStep(0.3, 0.55, 2))
    # Six moments a second: 0 to 0.2 s touches moments 0 and 1, 0.3 to 0.55 s then 1 to 3.
    assert truth.labels_at(np.arange(4) / 6).tolist() == [1, 2, 2, 2]


def test_motion_is_a_second_cue_invalid_where_it_has_no_row(tmp_path: Path) -> None:
    features = recordings(tmp_path)[0].features
    assert features is not None
    tracks = features().tracks
    assert list(tracks) == ["appearance", "motion"]
    assert tracks["motion"].valid.tolist() == [True, True, True, False]
    assert tracks["motion"].features.tolist() == [[0, 1], [4, 5], [8, 9], [0, 0]]
    assert tracks["appearance"].valid.all()


def test_the_missing_last_frame_of_motion_is_expected_but_nan_is_not(tmp_path: Path) -> None:
    features = recordings(tmp_path)[0].features
    assert features is not None
    assert features().marked == {"appearance", "motion"}
    table = np.ones((10, 2))
    table[4] = np.nan
    np.save(tmp_path / NPY, table)
    assert features().marked == {"appearance"}


def test_missing_frames_of_a_table_are_reported_or_left_out(tmp_path: Path) -> None:
    path = (tmp_path / DAT).with_suffix(".json")
    rows = json.loads(path.read_text())
    del rows["frames/0003/00003.jpg"]
    path.write_text(json.dumps(rows))
    message = r"_4\.dat: has no row for 1 frames of 0003, first frame 3"
    with pytest.raises(DatasetError, match=message):
        recordings(tmp_path)
    names, left_out = skipped(tmp_path)
    assert (names, len(left_out)) == (["0003", "0004"], 1)


def test_cues_are_picked_by_name(tmp_path: Path) -> None:
    recording = recordings(tmp_path, cues=("motion",))[0]
    assert recording.features is not None
    assert list(recording.features().tracks) == ["motion"]
    assert recording.annotation.duration_seconds == 7 / 12
    with pytest.raises(DatasetError, match="no cue 'gaze'; known here: appearance, motion"):
        recordings(tmp_path, cues=("gaze",))
    (tmp_path / NPY).unlink()
    with pytest.raises(DatasetMissingError, match="the features of motion do not exist"):
        recordings(tmp_path, cues=("motion",))


def test_fingerprints_depend_on_features_and_not_on_labels(tmp_path: Path) -> None:
    def prints() -> list[str]:
        return [take.features().fingerprint for take in recordings(tmp_path) if take.features]

    before = prints()
    assert len({*before}) == 2
    put(tmp_path / "annotations/0003.csv", "0.1,0.2,9 other\n")
    assert prints() == before
    np.zeros((12, 4), np.float32).tofile(tmp_path / DAT)
    assert prints()[0] != before[0]


def test_rows_with_nan_are_invalid_and_a_recording_of_only_those_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / NPY).unlink()
    table = np.ones((12, 4), np.float32)
    table[10] = np.nan
    table.tofile(tmp_path / DAT)
    features = recordings(tmp_path)[0].features
    assert features is not None
    assert features().tracks["appearance"].valid.tolist() == [True, False, True, True]
    np.full((12, 4), np.nan, np.float32).tofile(tmp_path / DAT)
    with pytest.raises(RecordingError, match="0003: contains no valid moment"):
        features()


def test_an_incomplete_table_is_refused(tmp_path: Path) -> None:
    with (tmp_path / DAT).open("r+b") as file:
        file.truncate(100)
    with pytest.raises(DatasetError, match=r"_12_4\.dat: has 100 bytes; expected 192: 12 x 4"):
        skipped(tmp_path)


def test_a_name_without_the_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / DAT).rename((tmp_path / DAT).with_name("meccano_conv5c.dat"))
    with pytest.raises(DatasetError, match=r"ends in _ROWS_COLUMNS\.dat"):
        skipped(tmp_path)


def test_pickled_mappings_are_refused_with_the_command_that_converts_them(tmp_path: Path) -> None:
    mapping = (tmp_path / DAT).with_suffix(".json")
    mapping.unlink()
    with pytest.raises(DatasetMissingError, match="the mapping from frames to rows"):
        skipped(tmp_path)
    pickled = mapping.with_suffix(".pkl")
    pickled.write_bytes(pickle.dumps({key: i for i, key in enumerate(KEYS)}))
    with pytest.raises(DatasetError, match=r"can run code") as caught:
        skipped(tmp_path)
    assert f"python -m stepreel.evaluation.datasets.convert_mapping {pickled}" in str(caught.value)
    convert(pickled)
    assert skipped(tmp_path) == (["0003", "0004"], [])


def test_pickled_motion_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / NPY, np.array([{}], object), allow_pickle=True)
    with pytest.raises(
        DatasetError, match=r"raft_motion_features\.npy: .* contains pickled objects"
    ):
        skipped(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"abc" * 99, "it is not a NumPy file; pickles"),
        (b"", "it is empty"),
        (b"\x93NUMPY\x01\x00\xff\xffabc", "its header is damaged"),
    ],
)
def test_motion_of_another_file_type_is_refused_with_a_clear_message(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / NPY).write_bytes(content)
    with pytest.raises(DatasetError, match=message) as caught:
        skipped(tmp_path)
    assert "allow_pickle" not in str(caught.value)


def test_motion_must_be_a_table_of_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / NPY, np.full((10, 2), "x"))
    with pytest.raises(
        DatasetError, match=r"contains <U1 \(10, 2\); expected one table of numbers"
    ):
        skipped(tmp_path)


@pytest.mark.parametrize(
    ("key", "row"), [("00001.jpg", 3), ("frames/0003/x.jpg", 3), ("a/0003/00001.jpg", 99)]
)
def test_impossible_entries_of_a_mapping_are_reported_or_left_out(
    tmp_path: Path, key: str, row: int
) -> None:
    path = (tmp_path / DAT).with_suffix(".json")
    path.write_text(json.dumps({**json.loads(path.read_text()), key: row}))
    with pytest.raises(DatasetError, match=r"_4\.json: 1 of 13 entries are wrong, first '.*row fr"):
        recordings(tmp_path)
    names, left_out = skipped(tmp_path)
    assert (names, len(left_out)) == (["0003", "0004"], 1)


def test_frame_numbers_far_beyond_the_frames_are_reported_or_left_out(tmp_path: Path) -> None:
    path = (tmp_path / DAT).with_suffix(".json")
    path.write_text(path.read_text().replace("0004/00005", "0004/999999999"))
    with pytest.raises(DatasetError, match="0004 has 5 frames, numbered from 1 to 999999999"):
        recordings(tmp_path)
    assert skipped(tmp_path)[0] == ["0003"]


@pytest.mark.parametrize("text", ["[]", "{}", "{", "\udcff"])
def test_a_file_that_is_not_a_mapping_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / DAT).with_suffix(".json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DatasetError, match=r"meccano_conv5c_12_4\.json: "):
        skipped(tmp_path)


def test_recordings_without_labels_are_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "annotations/0004.csv").unlink()
    problems = Problems()
    (task,) = read(Request(tmp_path, problems))
    assert [take.name for take in task.recordings] == ["0003"]
    assert problems.notes == [
        "0004: left out: it has features, but there is no annotations/0004.csv"
    ]


def test_labels_without_a_recording_are_reported_or_left_out(tmp_path: Path) -> None:
    (tmp_path / "annotations/0004.csv").rename(tmp_path / "annotations/0005.csv")
    with pytest.raises(DatasetError, match=r"0005\.csv: labels without a recording: .*of 0005"):
        recordings(tmp_path)
    names, left_out = skipped(tmp_path)
    assert (names, len(left_out)) == (["0003"], 1)


def test_two_label_files_of_one_recording_are_reported(tmp_path: Path) -> None:
    put(tmp_path / "annotations/3.csv", "0.0,0.2,1 align\n")
    with pytest.raises(DatasetError, match=r"3\.csv: 0003\.csv also contains labels of 0003"):
        recordings(tmp_path)
    names, left_out = skipped(tmp_path)
    assert (names, len(left_out)) == (["0003", "0004"], 1)


def test_labels_past_the_last_frame_are_reported_or_left_out(tmp_path: Path) -> None:
    put(tmp_path / "annotations/0004.csv", "0.1,0.2,2 screw\n0.3,1.0,1 align\n")
    with pytest.raises(DatasetError, match=r"0004\.csv, line 2: .* lies past the end"):
        recordings(tmp_path)
    assert len(skipped(tmp_path)[1]) == 1
    assert recordings(tmp_path, fps=4.0)[1].annotation.duration_seconds == 5 / 4


def test_a_missing_release_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="released features does not exist"):
        skipped(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match="no task 'tent'; known here: meccano"):
        recordings(tmp_path, task="tent")
    (tmp_path / DAT).unlink()
    (tmp_path / NPY).unlink()
    with pytest.raises(DatasetMissingError, match="neither appearance nor motion"):
        skipped(tmp_path)
    assert "convert_mapping" in FORMAT.layout


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("evil",)


def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("map.pkl").write_bytes(pickle.dumps({"a/0003/00001.jpg": Evil()}))
    assert main(["map.pkl", "--yes-i-trust-this-file"]) == 1
    assert ".mkdir, which could run code" in capsys.readouterr().err
    assert not Path("evil").exists()
    assert not Path("map.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(OrderedDict(a=1)),
        pickle.dumps({"a": np.int64(1)}),
        pickle.dumps(["a"]),
        pickle.dumps({"a": "1"}),
        pickle.dumps({"a": True}),
        pickle.dumps({"a": -1}),
        pickle.dumps({1: 1}),
        b"",
        b"no pickle",
    ],
)
def test_pickles_of_anything_but_names_and_rows_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "map.pkl"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"map\.pkl: "):
        convert(path)
    assert not path.with_suffix(".json").exists()


def test_nothing_is_read_before_the_user_agrees(tmp_path: Path) -> None:
    path = tmp_path / "map.pkl"
    path.write_bytes(pickle.dumps({"a/0003/00001.jpg": 0}))
    command = [sys.executable, "-m", "stepreel.evaluation.datasets.convert_mapping", str(path)]
    no = subprocess.run(command, input="no\n", capture_output=True, text=True, check=False)
    assert no.returncode == 1
    assert "can run code" in no.stderr
    assert not path.with_suffix(".json").exists()
    yes = subprocess.run(command, input="yes\n", capture_output=True, text=True, check=False)
    assert yes.returncode == 0
    assert json.loads(path.with_suffix(".json").read_text()) == {"a/0003/00001.jpg": 0}


def test_the_old_path_of_the_converter_still_works_and_says_where_it_went(tmp_path: Path) -> None:
    path = tmp_path / "map.pkl"
    path.write_bytes(pickle.dumps({"a/0003/00001.jpg": 0}))
    command = [sys.executable, "-m", "stepreel.datasets.convert_mapping", str(path)]
    done = subprocess.run(command, input="yes\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "stepreel.evaluation.datasets.convert_mapping" in done.stderr
    assert path.with_suffix(".json").exists()
