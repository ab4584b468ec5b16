from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.frame_labels import BREAKFAST, GTEA, SALADS
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.truth.lines import read_lines

REAL = Path(__file__).parents[4] / "shared" / "data" / "breakfast_coffee"
NAME = "P03_cam01_P03_coffee"


def write_video(root: Path, name: str, labels: str, *, frames: int | None = None) -> None:
    """Write labels, one letter of `labels` each, and MS-TCN's kind of features: (D, frames)."""
    words = {"S": "SIL", "t": "take_cup", "p": "pour_coffee", "b": "background"}
    for folder in ("features", "groundTruth"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{words.get(letter, letter)}\n" for letter in labels)
    (root / "groundTruth" / f"{name}.txt").write_text(lines)
    n = len(labels) if frames is None else frames
    np.save(root / "features" / f"{name}.npy", np.arange(4.0 * n).reshape(4, n))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_video(tmp_path, NAME, "SSttppS")
    (tmp_path / "mapping.txt").write_text("0 SIL\n1 pour_coffee\n2 take_cup\n")
    return tmp_path


def request(root: Path, **more: object) -> Request:
    return Request(root, Problems(), **more)  # type: ignore[arg-type]


def lenient(root: Path) -> Request:
    return Request(root, Problems(lenient=True))


def test_labels_and_feature_columns_belong_to_the_same_frames(root: Path) -> None:
    (task,) = BREAKFAST.read(request(root))
    (take,) = task.recordings
    recording = take.features()
    track = recording.tracks["features"]
    assert (task.name, task.group) == ("coffee", "breakfast")
    assert task.step_names == {2: "pour_coffee", 3: "take_cup"}  # ids of mapping.txt, plus one
    assert take.annotation.labels_at(track.times).tolist() == [0, 0, 3, 3, 2, 2, 0]
    assert take.annotation.duration_seconds == pytest.approx(7 / 15)
    assert track.features.dtype == np.float32
    assert track.features[1].tolist() == [1, 8, 15, 22]
    assert track.times[1] == pytest.approx(1 / 15)


def test_every_breakfast_and_dish_is_a_task_but_all_salads_are_one(root: Path) -> None:
    write_video(root, "P03_cam01_P03_tea", "St")
    tasks = BREAKFAST.read(request(root))
    assert [task.name for task in tasks] == ["coffee", "tea"]
    assert [task.name for task in BREAKFAST.read(request(root, task="TEA"))] == ["tea"]
    assert len(BREAKFAST.read(request(root, task="breakfast"))) == 2
    with pytest.raises(DatasetError, match="no task 'soup'; known here: coffee, tea"):
        BREAKFAST.read(request(root, task="soup"))


def test_gtea_names_its_task_in_the_middle(tmp_path: Path) -> None:
    write_video(tmp_path, "S1_Cheese_C1", "bbtt")
    write_video(tmp_path, "S2_Cheese_C1", "tb")
    (tmp_path / "mapping.txt").write_text("0 take_cup\n1 background\n")
    (task,) = GTEA.read(request(tmp_path))
    assert task.name == "cheese"
    assert [take.name for take in task.recordings] == ["S1_Cheese_C1", "S2_Cheese_C1"]
    assert task.recordings[0].annotation.labels_at(np.arange(4) / 15).tolist() == [0, 0, 1, 1]


def test_the_start_and_end_of_a_salad_are_background(tmp_path: Path) -> None:
    for with_mapping in (False, True):
        (tmp_path / "groundTruth").mkdir(exist_ok=True)
        words = ["action_start", "cut_tomato", "add_oil", "action_end"]
        (tmp_path / "groundTruth" / "rgb-01-1.txt").write_text("\n".join(words))
        if with_mapping:
            text = "0 cut_tomato\n17 action_start\n18 action_end\n5 add_oil\n"
            (tmp_path / "mapping").mkdir()
            (tmp_path / "mapping" / "mapping.txt").write_text(text)
        (task,) = SALADS.read(request(tmp_path))
        (take,) = task.recordings
        assert take.features is None
        expected = [0, 1, 6, 0] if with_mapping else [0, 2, 1, 0]
        assert take.annotation.labels_at(np.arange(4) / 30).tolist() == expected


def test_features_may_be_text_in_a_folder_per_activity_and_labels_without_suffix(
    tmp_path: Path,
) -> None:
    (tmp_path / "features" / "coffee").mkdir(parents=True)
    (tmp_path / "groundTruth").mkdir()
    (tmp_path / "features" / "coffee" / f"{NAME}.txt").write_text("0.5 1e-3\n2 3\n")
    (tmp_path / "groundTruth" / NAME).write_text("SIL\ntake_cup\n")
    (task,) = BREAKFAST.read(request(tmp_path, fps=10.0))
    track = task.recordings[0].features().tracks["features"]
    np.testing.assert_allclose(track.features, [[0.5, 1e-3], [2, 3]])
    assert track.times.tolist() == [0.0, 0.1]
    assert task.step_names == {1: "take_cup"}


def test_a_few_more_frames_on_one_side_are_cut_off(tmp_path: Path) -> None:
    write_video(tmp_path, "P03_cam01_P03_coffee", "t" * 3, frames=53)
    write_video(tmp_path, "P04_cam01_P04_coffee", "t" * 53, frames=3)
    (task,) = BREAKFAST.read(request(tmp_path))
    for take in task.recordings:
        assert len(take.features().tracks["features"]) == 3
        assert take.annotation.duration_seconds == pytest.approx(3 / 15)
        assert take.annotation.steps[-1].end == pytest.approx(3 / 15)


def test_many_more_frames_on_one_side_are_reported(root: Path) -> None:
    write_video(root, "P04_cam01_P04_coffee", "t" * 3, frames=54)
    with pytest.raises(DatasetError, match=r"P04_cam01_P04_coffee.txt: has 3 labels, but .* 54"):
        BREAKFAST.read(request(root))
    query = lenient(root)
    (task,) = BREAKFAST.read(query)
    assert [take.name for take in task.recordings] == [NAME]
    assert len(query.problems.skipped) == 1


def test_the_first_official_split_is_kept(root: Path) -> None:
    write_video(root, "P04_cam01_P04_coffee", "t")
    write_video(root, "P05_cam01_P05_coffee", "t")
    (root / "splits").mkdir()
    (root / "splits" / "train.split1.bundle").write_text(f"{NAME}.txt\n")
    (root / "splits" / "test.split1.bundle").write_text("P04_cam01_P04_coffee.txt\n")
    (task,) = BREAKFAST.read(request(root))
    assert [take.split for take in task.recordings] == ["train", "test", ""]
    (root / "splits" / "test.split1.bundle").write_text(f"P04_cam01_P04_coffee.txt\n{NAME}.txt\n")
    with pytest.raises(DatasetError, match=r"test.split1.bundle, line 2: .* train.split1"):
        BREAKFAST.read(request(root))


def test_blank_lines_of_splits_are_ignored(root: Path) -> None:
    (root / "splits").mkdir()
    (root / "splits" / "train.split1.bundle").write_text(f"{NAME}.txt\n\n")
    (root / "splits" / "test.split1.bundle").write_text("\n \n")
    (task,) = BREAKFAST.read(request(root))
    assert [take.split for take in task.recordings] == ["train"]


@pytest.mark.parametrize("closed", ["features", "features/coffee", "groundTruth"])
def test_a_folder_without_permission_is_reported(
    root: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    (root / closed).mkdir(exist_ok=True)
    listed = Path.iterdir

    def iterdir(folder: Path) -> Iterator[Path]:
        if folder == root / closed:
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(DatasetError, match=rf"{closed}: cannot be opened \(Permission denied"):
        BREAKFAST.read(request(root))


def test_a_file_in_place_of_the_feature_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "groundTruth").mkdir()
    (tmp_path / "groundTruth" / NAME).write_text("SIL\n")
    (tmp_path / "features").write_text("moved")
    with pytest.raises(DatasetError, match=r"features: cannot be opened \(Not a directory"):
        BREAKFAST.read(request(tmp_path))


def test_an_unknown_label_is_named_with_its_line(root: Path) -> None:
    write_video(root, NAME, "SSttXXp")
    with pytest.raises(DatasetError, match=f"{NAME}.txt, line 5: unknown step 'X'"):
        BREAKFAST.read(request(root))
    query = lenient(root)
    (task,) = BREAKFAST.read(query)
    labels = task.recordings[0].annotation.labels_at(np.arange(7) / 15)
    assert labels.tolist() == [0, 0, 3, 3, 0, 0, 2]
    assert len(query.problems.skipped) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"SIL\n\ntake_cup\n", f"{NAME}.txt, line 2: is empty"),
        (b"", f"{NAME}.txt: contains no label"),
        (b"SIL\nS\xff\n", rf"{NAME}.txt: is not UTF-8 text \(byte 6\)"),
    ],
)
def test_a_damaged_label_file_is_reported(root: Path, content: bytes, message: str) -> None:
    write_video(root, "P04_cam01_P04_coffee", "t")
    (root / "groundTruth" / f"{NAME}.txt").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        BREAKFAST.read(request(root))
    query = lenient(root)
    (task,) = BREAKFAST.read(query)
    assert [take.name for take in task.recordings] == ["P04_cam01_P04_coffee"]
    assert len(query.problems.skipped) == 1


@pytest.mark.parametrize(
    "line",
    ["x SIL", "3", "-1 SIL", "2 pour_coffee", "1 stir", "9" * 20 + " stir", "9" * 5000 + " stir"],
)
def test_a_wrong_line_of_the_mapping_is_reported(root: Path, line: str) -> None:
    (root / "mapping.txt").write_text(f"0 SIL\n1 pour_coffee\n2 take_cup\n{line}\n")
    with pytest.raises(DatasetError, match=r"mapping\.txt, line 4"):
        BREAKFAST.read(request(root))
    query = lenient(root)
    (task,) = BREAKFAST.read(query)
    assert task.step_names == {2: "pour_coffee", 3: "take_cup"}


def test_files_without_a_counterpart_are_reported(root: Path) -> None:
    (root / "groundTruth" / "P05_cam01_P05_coffee.txt").write_text("SIL\n")
    np.save(root / "features" / "P06_cam01_P06_coffee.npy", np.zeros((4, 1)))
    np.save(root / "features" / "other.npy", np.zeros((4, 1)))
    query = lenient(root)
    (task,) = BREAKFAST.read(query)
    assert [take.name for take in task.recordings] == [NAME]
    assert [text.split(";")[0] for text in query.problems.skipped] == [
        "other: is not a name of this dataset",
        "P05_cam01_P05_coffee.txt: has no features (.npy or .txt)",
        "P06_cam01_P06_coffee.npy: has no labels in groundTruth",
    ]


def test_two_feature_files_of_one_video_are_reported(root: Path) -> None:
    (root / "features" / f"{NAME}.txt").write_text("1 2\n" * 7)
    with pytest.raises(DatasetError, match="have the same name"):
        BREAKFAST.read(request(root))


def test_pickled_and_one_dimensional_features_are_reported(root: Path) -> None:
    path = root / "features" / f"{NAME}.npy"
    np.save(path, np.array([{}, []], object), allow_pickle=True)
    with pytest.raises(
        DatasetError, match="pickled objects, which can run code and are never read"
    ):
        BREAKFAST.read(request(root))
    np.save(path, np.zeros(7))
    with pytest.raises(DatasetError, match=r"expected \(features, frames\), not \(7,\)"):
        BREAKFAST.read(request(root))


def test_rows_with_nan_are_invalid_and_a_recording_of_only_those_is_refused(root: Path) -> None:
    array = np.ones((4, 7))
    array[2, 3] = np.nan
    np.save(root / "features" / f"{NAME}.npy", array)
    (task,) = BREAKFAST.read(request(root))
    track = task.recordings[0].features().tracks["features"]
    assert track.valid.tolist() == [True] * 3 + [False] + [True] * 3
    np.save(root / "features" / f"{NAME}.npy", np.full((4, 7), np.inf))
    with pytest.raises(RecordingError, match="no valid moment"):
        task.recordings[0].features()


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.full((4, 7), "word"), "<U4"),
        (np.full((4, 7), 1j), "complex128"),
        (np.zeros((4, 7), "M8[s]"), r"datetime64\[s\]"),
        (np.zeros((4, 7), [("x", float)]), r"\[\('x', '<f8'\)\]"),
    ],
)
def test_features_that_are_not_real_numbers_are_refused(
    root: Path, array: np.ndarray, shown: str
) -> None:
    np.save(root / "features" / f"{NAME}.npy", array)
    (task,) = BREAKFAST.read(request(root))
    with pytest.raises(
        RecordingError, match=rf"{NAME}\.npy: contains {shown}; expected real numbers"
    ):
        task.recordings[0].features()


def test_a_header_that_states_more_than_the_file_contains_is_refused(root: Path) -> None:
    path = root / "features" / f"{NAME}.npy"
    path.write_bytes(path.read_bytes().replace(b"(4, 7), }    ", b"(1000000, 7)}"))
    with pytest.raises(
        DatasetError, match=rf"{NAME}\.npy: .* is 56,000,000 bytes, but the file contains only"
    ):
        BREAKFAST.read(request(root))


def test_a_table_with_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "features").mkdir()
    (tmp_path / "groundTruth").mkdir()
    (tmp_path / "groundTruth" / NAME).write_text("SIL\n")
    (tmp_path / "features" / f"{NAME}.txt").write_text("1 two\n")
    (task,) = BREAKFAST.read(request(tmp_path))
    with pytest.raises(RecordingError, match=f"{NAME}.txt: is not a table of numbers"):
        task.recordings[0].features()


def test_labels_do_not_change_the_fingerprint(root: Path) -> None:
    (before,) = BREAKFAST.read(request(root))[0].recordings
    first = before.features().fingerprint
    write_video(root, NAME, "ppppSSS")
    (after,) = BREAKFAST.read(request(root))[0].recordings
    assert after.features().fingerprint == first


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="nowhere"):
        BREAKFAST.read(request(tmp_path / "nowhere"))
    with pytest.raises(DatasetMissingError, match="groundTruth"):
        BREAKFAST.read(request(tmp_path))
    (tmp_path / "groundTruth").mkdir()
    with pytest.raises(DatasetMissingError, match="contains no label file"):
        BREAKFAST.read(request(tmp_path))


def test_an_unknown_cue_is_refused(root: Path) -> None:
    with pytest.raises(DatasetError, match="no cue 'hands'; known here: features"):
        BREAKFAST.read(request(root, cues=("hands",)))


@pytest.mark.skipif(not REAL.exists(), reason=f"no real recordings in {REAL}")
def test_real_breakfasts_are_read() -> None:
    (task,) = BREAKFAST.read(request(REAL))
    assert [take.name[:3] for take in task.recordings] == ["P03", "P05", "P06", "P08", "P09"]
    names = {0: "SIL", **task.step_names}
    for take in task.recordings:
        track = take.features().tracks["features"]
        assert track.width == 64
        written = read_lines(REAL / "groundTruth" / take.name)
        assert [names[int(i)] for i in take.annotation.labels_at(track.times)] == written
