from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.ikea import FORMAT
from stepreel.evaluation.truth.annotation import Problems

TAKE = "0007_black_table_02_01_2019_08_16_14_00"
KEY = f"Lack_TV_Bench/{TAKE}"
SEGMENTS = [("NA", 0, 1), ("flip table", 2, 4), ("other", 5, 5), ("spin leg", 6, 8), ("NA", 9, 9)]
Segments = list[tuple[str, int, int]]


def write(root: Path, takes: dict[str, Segments], subset: str = "training") -> None:
    database = {
        key: {
            "subset": subset,
            "annotation": [{"label": label, "segment": [a, b]} for label, a, b in segments],
        }
        for key, segments in takes.items()
    }
    folder = root / "annotations" / "action_annotations"
    folder.mkdir(parents=True, exist_ok=True)
    content = {"version": "2.0.0", "database": database}
    (folder / "gt_segments.json").write_text(json.dumps(content))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, {KEY: SEGMENTS})
    return tmp_path


def request(root: Path, **more: object) -> Request:
    return Request(root, Problems(), **more)  # type: ignore[arg-type]


def lenient(root: Path) -> Request:
    return Request(root, Problems(lenient=True))


def test_frames_count_from_zero_and_the_last_one_is_included(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    labels = take.annotation.labels_at(np.arange(10) / 25)
    assert task.step_names == {1: "flip table", 2: "other", 3: "spin leg"}
    assert labels.tolist() == [0, 0, 1, 1, 1, 2, 3, 3, 3, 0]
    assert take.annotation.duration_seconds == pytest.approx(10 / 25)
    assert (take.name, take.split) == (TAKE, "train")
    assert (task.name, task.group) == ("Lack_TV_Bench", "ikea")
    (task,) = FORMAT.read(request(root, fps=10.0))
    labels = task.recordings[0].annotation.labels_at(np.arange(10) / 10)
    assert labels.tolist() == [0, 0, 1, 1, 1, 2, 3, 3, 3, 0]


def test_each_piece_of_furniture_is_a_task(root: Path) -> None:
    write(root, {KEY: SEGMENTS, "Lack_Side_Table/x": [("spin leg", 0, 3)]}, subset="testing")
    tasks = FORMAT.read(request(root))
    assert [task.name for task in tasks] == ["Lack_Side_Table", "Lack_TV_Bench"]
    assert tasks[0].step_names == {3: "spin leg"}  # numbered over all furniture
    assert tasks[0].recordings[0].split == "test"
    (task,) = FORMAT.read(request(root, task="lack_tv_bench"))
    assert task.name == "Lack_TV_Bench"
    with pytest.raises(DatasetError, match="no task 'Billy'; known here: Lack_Side_Table"):
        FORMAT.read(request(root, task="Billy"))


def test_lists_of_takes_and_actions_overrule_the_label_file(root: Path) -> None:
    folder = root / "indexing_files"
    folder.mkdir()
    (folder / "train_cross_env.txt").write_text("Lack_TV_Bench/another\n")
    (folder / "test_cross_env.txt").write_text(f"{KEY}\n")
    (folder / "atomic_action_list.txt").write_text("NA\nspin leg\nother\nflip table\nalign leg\n")
    (task,) = FORMAT.read(request(root))
    assert task.recordings[0].split == "test"
    assert task.step_names == {2: "flip table", 3: "other", 4: "spin leg"}
    (folder / "atomic_action_list.txt").write_text("NA\nspin leg\nother\n")
    with pytest.raises(DatasetError, match=f"{TAKE}: unknown step 'flip table'"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [step.step for step in task.recordings[0].annotation.steps] == [1, 2]
    assert len(query.problems.skipped) == 1
    (folder / "train_cross_env.txt").write_text(f"\n{KEY}\n")
    with pytest.raises(DatasetError, match=r"test_cross_env\.txt, line 1"):
        FORMAT.read(request(root))


def test_features_and_the_video_from_above_are_found(root: Path) -> None:
    (root / "features" / "Lack_TV_Bench").mkdir(parents=True)
    np.save(root / "features" / "Lack_TV_Bench" / f"{TAKE}.npy", np.ones((12, 3)))
    video = root / "videos" / KEY / "dev3" / "images" / "scan_video.avi"
    video.parent.mkdir(parents=True)
    video.touch()
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    assert take.video == video
    assert take.annotation.duration_seconds == pytest.approx(12 / 25)
    assert take.features().tracks["features"].times[1] == pytest.approx(1 / 25)
    np.save(root / "features" / "Lack_TV_Bench" / f"{TAKE}.npy", np.ones((7, 3)))
    with pytest.raises(DatasetError, match=r"spin leg.* past the end of the recording"):
        FORMAT.read(request(root))


def test_features_and_labels_need_each_other(root: Path) -> None:
    folder = root / "features" / "Lack_TV_Bench"
    folder.mkdir(parents=True)
    np.save(folder / "more.npy", np.ones((12, 3)))
    query = lenient(root)
    assert FORMAT.read(query) == []
    assert query.problems.skipped == [
        "Lack_TV_Bench/more.npy: has no labels in gt_segments.json",
        f"gt_segments.json, {KEY}: has no features",
    ]


@pytest.mark.parametrize(
    ("segment", "message"),
    [
        (("spin leg", 10, 9), r"frames 10 to 9 \(spin leg\) end before they begin"),
        (("spin leg", -2, 0), r"frames -2 to 0 \(spin leg\) begin before frame 0, the first"),
        (
            ("spin leg", 4, 5),
            r"frames 4 to 5 \(spin leg\) overlap frames 2 to 4 \(flip table, segment 2\)",
        ),
    ],
)
def test_wrong_segments_are_reported_with_their_take(
    root: Path, segment: tuple[str, int, int], message: str
) -> None:
    write(root, {KEY: [*SEGMENTS, segment]})
    with pytest.raises(DatasetError, match=rf"gt_segments\.json, {KEY}, segment 6: {message}"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert query.problems.skipped
    assert task.recordings[0].annotation.labels_at(np.array([3 / 25])).tolist() == [1]


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        [],
        [3],
        [{"label": 3, "segment": [0, 1]}],
        [{"label": "x", "segment": [0]}],
        [{"label": "x", "segment": [0, 1.5]}],
        [{"label": "x", "segment": [0, None]}],
        [{"label": "x", "segment": ["0", "1"]}],
        [{"label": "x", "segment": [False, True]}],
        [{"label": "x", "segment": [0, 10**400]}],
        [{"label": "x", "segment": [0, 10**10]}],
        [{"label": "x", "segment": [0, float("nan")]}],
        [{"label": "x\ud800", "segment": [0, 1]}],
        [{"label": "x", "segment": [3, 1]}],
    ],
)
def test_a_take_of_the_wrong_form_is_reported(root: Path, annotation: object) -> None:
    path = root / "annotations" / "action_annotations" / "gt_segments.json"
    content = json.loads(path.read_text())
    content["database"]["Lack_TV_Bench/bad"] = {"subset": "training", "annotation": annotation}
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=r"gt_segments\.json, Lack_TV_Bench/bad"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == [TAKE]
    assert query.problems.skipped
    json.dumps(query.problems.skipped, ensure_ascii=False).encode()  # can be written to reports


def test_a_subset_that_is_not_text_is_reported(root: Path) -> None:
    path = root / "annotations" / "action_annotations" / "gt_segments.json"
    content = json.loads(path.read_text())
    for subset in ([1], 3, {"a": 1}):
        content["database"][KEY]["subset"] = subset
        path.write_text(json.dumps(content))
        with pytest.raises(DatasetError, match=f"{KEY}: `subset` is .*; expected training or"):
            FORMAT.read(request(root))
    content["database"][KEY]["subset"] = None
    path.write_text(json.dumps(content))
    assert FORMAT.read(request(root))[0].recordings[0].split == ""


def test_numbers_of_thousands_of_digits_are_reported_only_where_used(root: Path) -> None:
    path = root / "annotations" / "action_annotations" / "gt_segments.json"
    usual = path.read_text()
    path.write_text(usual.replace("[9, 9]", f"[9, {5000 * '9'}]"))
    with pytest.raises(DatasetError, match=f"{KEY}, segment 5: .*expected"):
        FORMAT.read(request(root))
    assert FORMAT.read(lenient(root)) == []
    path.write_text(usual.replace('"2.0.0"', 5000 * "9"))
    assert len(FORMAT.read(request(root))) == 1


def test_a_take_that_occurs_twice_is_reported_and_the_first_is_kept(root: Path) -> None:
    path = root / "annotations" / "action_annotations" / "gt_segments.json"
    first = json.dumps(json.loads(path.read_text())["database"][KEY])
    second = first.replace("spin leg", "rotate table")
    path.write_text(f'{{"database": {{"{KEY}": {first}, "{KEY}": {second}}}}}')
    with pytest.raises(DatasetError, match=f"'{KEY}' occurs twice in one object"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert task.step_names == {1: "flip table", 2: "other", 3: "spin leg"}
    assert len(query.problems.skipped) == 1


@pytest.mark.parametrize(
    "key",
    ["../x", "Lack_TV_Bench/../../x", "Lack_TV_Bench/..", "x", "/x", "Lack_TV_Bench/x\ud800"],
)
def test_names_that_lead_out_of_the_folder_are_refused(root: Path, key: str) -> None:
    write(root, {KEY: SEGMENTS, key: SEGMENTS})
    with pytest.raises(DatasetError, match="expected furniture/take"):
        FORMAT.read(request(root))
    assert len(FORMAT.read(lenient(root))) == 1


def test_text_that_is_not_json_is_reported_with_its_line(root: Path) -> None:
    path = root / "annotations" / "action_annotations" / "gt_segments.json"
    path.write_text('{"database":\n oops}')
    with pytest.raises(DatasetError, match=r"gt_segments\.json, line 2: is not JSON"):
        FORMAT.read(request(root))
    path.write_text("[]")
    with pytest.raises(DatasetError, match="contains no `database`"):
        FORMAT.read(request(root))


def test_the_label_file_may_be_in_a_parent_folder(root: Path) -> None:
    path = root / "annotations" / "action_annotations" / "gt_segments.json"
    (root / "action_annotations").mkdir()
    path.rename(root / "action_annotations" / "gt_segments.json")
    assert len(FORMAT.read(request(root))) == 1
    (root / "action_annotations" / "gt_segments.json").rename(root / "gt_segments.json")
    assert len(FORMAT.read(request(root))) == 1
    (root / "gt_segments.json").rename(root / "mine.json")
    with pytest.raises(DatasetMissingError, match=r"gt_segments\.json"):
        FORMAT.read(request(root))


def test_a_name_that_is_too_long_for_a_path_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {KEY: SEGMENTS, f"Lack_TV_Bench/{'9' * 300}": SEGMENTS})
    with pytest.raises(DatasetError, match="99999"):
        FORMAT.read(request(tmp_path))
    reading = lenient(tmp_path)
    (task,) = FORMAT.read(reading)
    assert [recording.name for recording in task.recordings] == [TAKE]
    assert len(reading.problems.skipped) == 1
