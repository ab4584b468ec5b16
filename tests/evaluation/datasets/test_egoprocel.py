from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import LabelledTask, Request
from stepreel.evaluation.datasets.egoprocel import FORMAT, read
from stepreel.evaluation.truth.annotation import Problems, TrueStep

REAL = Path(__file__).parents[4] / "shared" / "data" / "egoprocel"
DURATIONS = "task,video,num_frames_10fps,duration_s,num_segments,num_steps_present,bg_fraction\n"
STEPS = "task,step_index,step_name,gtcc_id\n"


def write(path: Path, text: str = "1.0,2.0,1 cut\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def tidy(root: Path, meccano: str = "37.9,78.4,10 align\n115.7,158.6,8 screw, tight\n") -> Path:
    write(root / "annotations/meccano/0003.csv", meccano)
    write(root / "annotations/Brownie.cmu/Brownie_subj00.csv", "50.5,54.8,4 break eggs\n")
    write(root / "annotations/tent/01.tent.090617.gopro.csv", "6.1,28.9,10 spread tent\n")
    write(
        root / "durations.csv",
        DURATIONS
        + "Brownie.cmu,Brownie_subj00,600,60.0,1,1,0.9\n"
        + "meccano,0003,2000,200.0,2,2,0.5\n"
        + "tent,01.tent.090617.gopro,300,30.0,1,1,0.2\n",
    )
    return root


def released(root: Path) -> Path:
    labels = root / "annotations"
    for camera in ["6510211-1103", "7150991-1431", "7151020-1103"]:
        write(labels / f"CMU-MMAC/Brownie/S07_Brownie_Video/S07_Brownie_{camera}.csv")
    write(labels / "EGTEA_Gaze+/BaconAndEggs/OP01-R03-BaconAndEggs.csv", "1.0,2.0,3. break eggs\n")
    write(labels / "EPIC-Tents/01.tent.090617.gopro.egoprocel.ann.csv")
    write(labels / "MECCANO/0003.csv")
    write(labels / "pc_assembly/Head_5.csv")
    write(labels / "pc_disassembly/Head_6.csv")
    names = {
        "Brownie.cmu": "S07_Brownie_7150991-1431",
        "BaconAndEggs.egtea": "OP01-R03-BaconAndEggs",
        "tent": "01.tent.090617.gopro",
        "meccano": "0003",
        "pc_assembly": "Head_5",
        "pc_disassembly": "Head_6",
    }
    rows = "".join(f"{task},{video},100,10.0,1,1,0.9\n" for task, video in names.items())
    write(root / "durations.csv", DURATIONS + rows)
    return root


def strict(root: Path, task: str | None = None) -> list[LabelledTask]:
    return read(Request(root, Problems(), task))


def skipped(root: Path, task: str | None = None) -> tuple[list[LabelledTask], list[str]]:
    problems = Problems(lenient=True)
    return read(Request(root, problems, task)), problems.skipped


def test_the_simplified_layout_gives_tasks_in_order_with_groups_and_durations(
    tmp_path: Path,
) -> None:
    tasks = strict(tidy(tmp_path))
    assert [(task.name, task.group) for task in tasks] == [
        ("Brownie.cmu", "cmu-mmac"),
        ("meccano", "meccano"),
        ("tent", "epic-tents"),
    ]
    recording = tasks[1].recordings[0]
    assert recording.name == "0003"
    assert recording.annotation.duration_seconds == 200.0
    assert recording.annotation.steps == (TrueStep(37.9, 78.4, 10), TrueStep(115.7, 158.6, 8))
    assert tasks[1].step_names == {10: "align", 8: "screw, tight"}
    assert tasks[2].recordings[0].name == "01.tent.090617.gopro"


def test_every_frame_that_a_line_touches_shows_its_step(tmp_path: Path) -> None:
    tidy(tmp_path, "0.45,1.0,1 a\n1.0,1.55,2 b\n")
    labels = strict(tmp_path, "meccano")[0].recordings[0].annotation
    # At 10 frames a second: frames 4 to 10 show step 1, 10 to 15 step 2; frame 10 gets the later.
    assert labels.labels_at(np.arange(20) / 10).tolist() == [0] * 4 + [1] * 6 + [2] * 6 + [0] * 4


def test_the_released_layout_is_read_for_the_egocentric_camera_only(tmp_path: Path) -> None:
    tasks = {task.name: task for task in strict(released(tmp_path))}
    assert {name: task.group for name, task in tasks.items()} == {
        "BaconAndEggs.egtea": "egtea",
        "Brownie.cmu": "cmu-mmac",
        "meccano": "meccano",
        "pc_assembly": "pc-assembly",
        "pc_disassembly": "pc-disassembly",
        "tent": "epic-tents",
    }
    names = {name: [take.name for take in task.recordings] for name, task in tasks.items()}
    assert names["Brownie.cmu"] == ["S07_Brownie_7150991-1431"]
    assert names["tent"] == ["01.tent.090617.gopro"]
    assert tasks["BaconAndEggs.egtea"].step_names == {3: "break eggs"}


def test_folder_names_of_the_release_are_matched_in_any_case(tmp_path: Path) -> None:
    write(tmp_path / "annotations/meccano/0003.csv")
    write(tmp_path / "annotations/epic-tents/01.tent.090617.gopro.egoprocel.ann.csv")
    rows = "meccano,0003,9,9.0\ntent,01.tent.090617.gopro,9,9.0\n"
    write(tmp_path / "durations.csv", "task,video,num_frames_10fps,duration_s\n" + rows)
    assert [task.name for task in strict(tmp_path)] == ["meccano", "tent"]


def test_a_take_without_the_egocentric_camera_is_reported(tmp_path: Path) -> None:
    released(tmp_path)
    write(tmp_path / "annotations/CMU-MMAC/Brownie/S08_Brownie_Video/S08_Brownie_6510211-9.csv")
    with pytest.raises(DatasetError, match=r"S08_Brownie_Video: no labels of the egocentric"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path, "cmu")
    assert len(tasks[0].recordings) == 1
    assert len(left_out) == 1


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("MECCANO", ["meccano"]),
        ("brownie.CMU", ["Brownie.cmu"]),
        ("cmu", ["Brownie.cmu"]),
        ("cmu-mmac", ["Brownie.cmu"]),
        ("epic-tents", ["tent"]),
        ("tents", ["tent"]),
    ],
)
def test_a_task_is_requested_by_its_name_its_group_or_an_alias(
    tmp_path: Path, asked: str, there: list[str]
) -> None:
    assert [task.name for task in strict(tidy(tmp_path), asked)] == there


def test_an_unknown_task_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    known = "cmu-mmac, meccano, epic-tents, Brownie.cmu, tent"
    with pytest.raises(DatasetError, match=f"no task 'cooking'; known here: {known}"):
        strict(tidy(tmp_path), "cooking")


@pytest.mark.parametrize(
    "line", ["37.9;78.4;10 align", "a,78.4,10 align", "37.9,78.4,align", "37.9,78.4"]
)
def test_a_line_that_cannot_be_parsed_is_reported_or_left_out(tmp_path: Path, line: str) -> None:
    tidy(tmp_path, f"1,2,3 begin\n{line}\n")
    with pytest.raises(DatasetError, match=r"0003\.csv, line 2: .*expected `start_s,end_s,N step"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert tasks[1].recordings[0].annotation.steps == (TrueStep(1.0, 2.0, 3),)
    assert len(left_out) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("5,9,1 a\n8,11,2 b\n", r"line 2: 8 to 11 s \(2 b\) overlaps 5 to 9 s"),
        ("5,9,1 a\n30,20,2 b\n", r"line 2: 30 to 20 s \(2 b\) ends before it begins"),
        ("5,9,1 a\n190,201,2 b\n", r"line 2: 190 to 201 s \(2 b\) lies past the end"),
        ("5,9,1 a\nnan,20,2 b\n", r"line 2: nan to 20.0 \(2 b\): times must be finite"),
    ],
)
def test_impossible_times_are_reported_or_left_out(
    tmp_path: Path, lines: str, message: str
) -> None:
    tidy(tmp_path, lines)
    with pytest.raises(DatasetError, match=rf"0003\.csv, {message}"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert tasks[1].recordings[0].annotation.steps == (TrueStep(5.0, 9.0, 1),)
    assert len(left_out) == 1


def test_steps_that_are_not_listed_for_the_task_are_unknown(tmp_path: Path) -> None:
    tidy(tmp_path)
    rows = "meccano,8,screw,1\nmeccano,9,turn,2\ntent,10,spread,3\nBrownie.cmu,4,eggs,4\n"
    write(tmp_path / "steps.csv", STEPS + rows)
    with pytest.raises(
        DatasetError, match=r"0003\.csv, line 1: unknown step '10 align'.*: 8 screw, 9"
    ):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert tasks[1].step_names == {8: "screw", 9: "turn"}
    assert tasks[1].recordings[0].annotation.steps == (TrueStep(115.7, 158.6, 8),)
    assert len(left_out) == 1


def test_an_empty_file_means_that_no_step_was_done(tmp_path: Path) -> None:
    assert strict(tidy(tmp_path, ""), "meccano")[0].recordings[0].annotation.steps == ()


def test_text_that_is_not_utf_8_is_reported_or_left_out(tmp_path: Path) -> None:
    tidy(tmp_path)
    (tmp_path / "annotations/meccano/0003.csv").write_bytes(b"1,2,3 caf\xe9\n")
    with pytest.raises(DatasetError, match=r"0003\.csv: is not UTF-8 text"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert [task.name for task in tasks] == ["Brownie.cmu", "tent"]
    assert len(left_out) == 1


def test_labels_without_a_duration_are_labels_without_a_recording(
    tmp_path: Path,
) -> None:
    write(tidy(tmp_path) / "annotations/meccano/0004.csv")
    with pytest.raises(DatasetError, match=r"0004\.csv: labels without a recording"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert [take.name for take in tasks[1].recordings] == ["0003"]
    assert len(left_out) == 1


def test_a_listed_recording_without_labels_is_reported_unless_another_task_is_requested(
    tmp_path: Path,
) -> None:
    (tidy(tmp_path) / "annotations/meccano/0003.csv").unlink()
    write(tmp_path / "annotations/meccano/0004.csv")
    with pytest.raises(DatasetError, match=r"durations\.csv, line 3: a recording without labels"):
        strict(tmp_path)
    assert [task.name for task in strict(tmp_path, "cmu")] == ["Brownie.cmu"]
    tasks, left_out = skipped(tmp_path)
    assert [task.name for task in tasks] == ["Brownie.cmu", "tent"]
    assert len(left_out) == 2  # 0003 has no labels, 0004 is not listed


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("meccano,0003,1,20\n", "line 5: 0003 of meccano is listed twice"),
        ("meccano,0004,1,long\n", "line 5: 'long' is not a duration"),
        ("meccano,0004\n", "line 5: 2 columns; expected task, video"),
    ],
)
def test_wrong_rows_of_durations_are_reported_or_left_out(
    tmp_path: Path, row: str, message: str
) -> None:
    path = tidy(tmp_path) / "durations.csv"
    path.write_text(path.read_text() + row)
    with pytest.raises(DatasetError, match=rf"durations\.csv, {message}"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert len(tasks) == 3
    assert len(left_out) == 1


def test_durations_without_their_columns_are_refused(tmp_path: Path) -> None:
    write(tidy(tmp_path) / "durations.csv", "task,video,seconds\n")
    with pytest.raises(DatasetError, match=r"durations\.csv, line 1: no column 'duration_s'"):
        skipped(tmp_path)


@pytest.mark.parametrize("name", ["durations.csv", "steps.csv"])
def test_a_table_that_is_not_text_is_refused(tmp_path: Path, name: str) -> None:
    (tidy(tmp_path) / name).write_bytes(b"task,caf\xe9\n")
    with pytest.raises(DatasetError, match=rf"{name}: is not UTF-8 text \(byte 9\)"):
        skipped(tmp_path)


@pytest.mark.parametrize("number", ["0", "-1", "x", "\N{SUPERSCRIPT TWO}", "9" * 19, "9" * 5000])
def test_impossible_step_numbers_are_reported_or_left_out(tmp_path: Path, number: str) -> None:
    write(tidy(tmp_path) / "steps.csv", f"{STEPS}tent,10,spread,3\ntent,{number},x,4\n")
    with pytest.raises(DatasetError, match=r"steps\.csv, line 3: '.*' is not a step's number; ex"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert (len(tasks), len(left_out)) == (3, 1)


def test_without_durations_videos_or_features_there_is_nothing_to_score(tmp_path: Path) -> None:
    (tidy(tmp_path) / "durations.csv").unlink()
    with pytest.raises(DatasetError, match=r"columns task, video, duration_s"):
        skipped(tmp_path)


def test_videos_are_found_by_their_exact_name_below_their_own_dataset(tmp_path: Path) -> None:
    (released(tmp_path) / "durations.csv").unlink()
    write(tmp_path / "annotations/pc_assembly/Head_6.csv")
    for name in [
        "CMU-MMAC/S07_Brownie_Video/S07_Brownie_7150991-1431.avi",
        "EGTEA/OP01-R03-BaconAndEggs.mp4",
        "EpicTent/2ite3tu1u53n42hjfh3886sa86/data/01/01.tent.090617.gopro.MP4",
        "MECCANO/MECCANO_RGB_Videos/0003.mp4",
        "MECCANO/MECCANO_RGB_Videos/00031.mp4",
        "pc_assembly/Head_5.mp4",
        "pc_assembly/Head_6.mp4",
        "pc_disassembly/Head_6.mp4",
    ]:
        write(tmp_path / "videos" / name, "")
    recordings = {
        (task.name, take.name): take for task in strict(tmp_path) for take in task.recordings
    }
    videos_of = {
        key: take.video and take.video.relative_to(tmp_path) for key, take in recordings.items()
    }
    videos = Path("videos")
    assert videos_of["meccano", "0003"] == videos / "MECCANO/MECCANO_RGB_Videos/0003.mp4"
    assert videos_of["tent", "01.tent.090617.gopro"] == (
        videos / "EpicTent/2ite3tu1u53n42hjfh3886sa86/data/01/01.tent.090617.gopro.MP4"
    )
    assert videos_of["pc_assembly", "Head_6"] == videos / "pc_assembly/Head_6.mp4"
    assert videos_of["pc_disassembly", "Head_6"] == videos / "pc_disassembly/Head_6.mp4"
    assert None not in videos_of.values()
    assert {take.annotation.duration_seconds for take in recordings.values()} == {None}


def test_a_recording_without_video_among_others_with_one_is_left_out(tmp_path: Path) -> None:
    (tidy(tmp_path) / "durations.csv").unlink()
    write(tmp_path / "videos/MECCANO/0003.mp4", "")
    with pytest.raises(DatasetError, match=r"Brownie_subj00\.csv: labels without a recording"):
        strict(tmp_path)
    tasks, left_out = skipped(tmp_path)
    assert [task.name for task in tasks] == ["meccano"]
    assert len(left_out) == 2


def test_two_videos_with_the_same_name_are_reported(tmp_path: Path) -> None:
    tidy(tmp_path)
    write(tmp_path / "videos/MECCANO/a/0003.mp4", "")
    write(tmp_path / "videos/MECCANO/b/0003.mp4", "")
    with pytest.raises(DatasetError, match=r"0003\.mp4 have the same name"):
        strict(tmp_path)


def test_links_to_a_parent_folder_are_not_followed(tmp_path: Path) -> None:
    folder = tidy(tmp_path) / "videos/MECCANO"
    write(folder / "0003.mp4", "")
    (folder / "again").symlink_to("..", target_is_directory=True)
    (folder / "here").symlink_to(".", target_is_directory=True)
    assert strict(tmp_path, "meccano")[0].recordings[0].video == folder / "0003.mp4"


def test_a_folder_of_videos_without_permission_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tidy(tmp_path) / "videos"
    folder.mkdir()
    listed = os.scandir

    def scandir(path: str) -> object:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(DatasetError, match=r"videos: cannot be opened \(Permission denied"):
        strict(tmp_path)


def test_features_are_read_only_when_needed(tmp_path: Path) -> None:
    folder = tidy(tmp_path) / "features/meccano"
    folder.mkdir(parents=True)
    np.savez(folder / "0003.npz", gaze=np.ones((4, 2)), hands=np.zeros((4, 3)))
    request = Request(tmp_path, Problems(), "meccano", cues=("hands",), fps=2.0)
    features = read(request)[0].recordings[0].features
    assert features is not None
    track = features().tracks["hands"]
    assert track.times.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert track.features.shape == (4, 3)


def test_a_label_folder_of_another_dataset_is_reported(tmp_path: Path) -> None:
    write(tidy(tmp_path) / "annotations/knitting/a.csv")
    with pytest.raises(DatasetError, match="knitting: is not part of EgoProceL"):
        strict(tmp_path)
    assert len(skipped(tmp_path)[1]) == 1


def test_a_missing_dataset_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetMissingError, match="annotations: the folder of labels does not exist"
    ):
        strict(tmp_path)
    (tmp_path / "annotations").mkdir()
    with pytest.raises(DatasetMissingError, match="contains no folder of a task"):
        strict(tmp_path)
    assert "annotations/" in FORMAT.layout


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no copy of EgoProceL's labels in {REAL}")
def test_the_real_labels_are_read_without_a_problem() -> None:
    tasks = strict(REAL)
    assert sum(len(task.recordings) for task in tasks) == 333
    groups = [task.group for task in tasks]
    assert {group: groups.count(group) for group in groups} == {
        "egtea": 7,
        "cmu-mmac": 5,
        "meccano": 1,
        "pc-assembly": 1,
        "pc-disassembly": 1,
        "epic-tents": 1,
    }
    meccano = next(task for task in tasks if task.name == "meccano")
    assert (len(meccano.recordings), len(meccano.step_names)) == (17, 17)
