from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError, RecordingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.jigsaws import FORMAT
from stepreel.evaluation.truth.annotation import Problems


def write_trial(root: Path, trial: str, gestures: str, frames: int = 10) -> None:
    """Write a trial as published: blanks at the ends of lines, three blanks between numbers."""
    task = root / trial.rsplit("_", 1)[0]
    for folder in ("transcriptions", "kinematics/AllGestures", "video"):
        (task / folder).mkdir(parents=True, exist_ok=True)
    (task / "transcriptions" / f"{trial}.txt").write_text(gestures)
    row = "   ".join(f"{column:.6f}" for column in range(1, 77))
    (task / "kinematics" / "AllGestures" / f"{trial}.txt").write_text(f"   {row}   \n" * frames)
    (task / "video" / f"{trial}_capture1.avi").touch()
    (task / "video" / f"{trial}_capture2.avi").touch()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_trial(tmp_path, "Suturing_B001", "3 5 G1 \n6 8 G10 \n")
    return tmp_path


def request(root: Path, **more: object) -> Request:
    return Request(root, Problems(), **more)  # type: ignore[arg-type]


def lenient(root: Path) -> Request:
    return Request(root, Problems(lenient=True))


def test_frames_count_from_one_and_the_last_one_is_included(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    times = take.features().tracks["slave_left"].times
    assert take.annotation.labels_at(times).tolist() == [0, 0, 1, 1, 1, 10, 10, 10, 0, 0]
    assert take.annotation.duration_seconds == pytest.approx(10 / 30)
    assert task.step_names == {1: "G1", 10: "G10"}
    assert take.video == root / "Suturing" / "video" / "Suturing_B001_capture1.avi"
    assert (take.name, task.name, task.group) == ("Suturing_B001", "Suturing", "jigsaws")


def test_no_frame_of_a_long_trial_moves_to_a_neighbour(root: Path) -> None:
    rows = "".join(f"{first} {first + 6} G{1 + first % 2} \n" for first in range(1, 6994, 7))
    write_trial(root, "Suturing_B001", rows, frames=6993)
    (task,) = FORMAT.read(request(root))
    labels = task.recordings[0].annotation.labels_at(np.arange(6993) / 30)
    expected = [1 + (1 + frame // 7 * 7) % 2 for frame in range(6993)]
    assert labels.tolist() == expected


def test_every_arm_is_a_cue_and_those_of_the_robot_are_the_default(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    tracks = task.recordings[0].features().tracks
    assert list(tracks) == ["slave_left", "slave_right"]
    assert tracks["slave_left"].features[0].tolist() == list(range(39, 58))
    assert tracks["slave_right"].features[0].tolist() == list(range(58, 77))
    (task,) = FORMAT.read(request(root, cues=("master_right", "master_left")))
    tracks = task.recordings[0].features().tracks
    assert list(tracks) == ["master_right", "master_left"]
    assert tracks["master_right"].features[0].tolist() == list(range(20, 39))
    assert tracks["master_left"].features[0].tolist() == list(range(1, 20))
    with pytest.raises(DatasetError, match="no cue 'left_arm'; known here: slave_left"):
        FORMAT.read(request(root, cues=("left_arm",)))


def test_the_folder_of_one_task_is_enough(root: Path) -> None:
    write_trial(root, "Knot_Tying_B001", "1 2 G12 \n")
    assert [task.name for task in FORMAT.read(request(root))] == ["Knot_Tying", "Suturing"]
    assert [task.name for task in FORMAT.read(request(root / "Knot_Tying"))] == ["Knot_Tying"]
    assert [task.name for task in FORMAT.read(request(root, task="suturing"))] == ["Suturing"]
    with pytest.raises(DatasetError, match="no task 'Sewing'; known here: Knot_Tying, Suturing"):
        FORMAT.read(request(root, task="Sewing"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("9 10", "line 3: '9 10'; expected first frame, last frame, gesture"),
        ("9 x G1", "line 3: '9 x G1'; expected"),
        ("10 9 G1", "line 3: frames 10 to 9"),
        ("0 1 G1", "line 3: frames 0 to 1"),
        ("9 10 G16", "line 3: unknown step 'G16'"),
        ("9 " + 5000 * "9" + " G2", "line 3: '9 9999.*; expected first frame"),
        ("8 10 G2", r"line 3: frames 8 to 10 \(G2\) overlap frames 6 to 8 \(G10, line 2\)"),
        ("9 13 G2", r"line 3: frames 9 to 13 \(G2\) lie past the end .*\(10 frames\)"),
    ],
)
def test_a_wrong_line_is_reported_and_left_out_if_lenient(
    root: Path, line: str, message: str
) -> None:
    path = root / "Suturing" / "transcriptions" / "Suturing_B001.txt"
    path.write_text(f"3 5 G1 \n6 8 G10 \n{line} \n")
    with pytest.raises(DatasetError, match=rf"Suturing_B001\.txt, {message}"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [step.step for step in task.recordings[0].annotation.steps] == [1, 10]
    assert len(query.problems.skipped) == 1


def test_a_gesture_may_last_two_frames_longer_than_the_kinematics(root: Path) -> None:
    write_trial(root, "Suturing_B001", "3 5 G1 \n9 12 G2 \n")
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    labels = take.annotation.labels_at(take.features().tracks["slave_left"].times)
    assert labels.tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 2, 2]


def test_a_trial_without_gestures_or_without_kinematics_is_reported(root: Path) -> None:
    write_trial(root, "Suturing_D002", "1 2 G1 \n")
    (root / "Suturing" / "transcriptions" / "Suturing_D002.txt").unlink()
    with pytest.raises(DatasetError, match=r"Suturing_D002\.txt: has kinematics, but no trans"):
        FORMAT.read(request(root))
    write_trial(root, "Suturing_C001", "1 2 G1 \n")
    (root / "Suturing" / "kinematics" / "AllGestures" / "Suturing_C001.txt").unlink()
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["Suturing_B001"]
    assert len(query.problems.skipped) == 2


@pytest.mark.parametrize("gestures", [None, "", " \n\n"])
def test_trials_that_the_release_does_not_label_are_noted(root: Path, gestures: str | None) -> None:
    write_trial(root, "Suturing_H002", gestures or "")
    if gestures is None:
        (root / "Suturing" / "transcriptions" / "Suturing_H002.txt").unlink()
    query = request(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["Suturing_B001"]
    assert query.problems.notes == ["Suturing_H002: left out: not labelled in the release"]
    write_trial(root, "Suturing_H002", "1 2 G1 \n")  # as if labelled later
    assert len(FORMAT.read(request(root))[0].recordings) == 2


@pytest.mark.parametrize(("gestures", "n_problems"), [("", 1), ("\n \n", 1), ("1 2 G77\n", 2)])
def test_a_transcription_without_gestures_is_reported(
    root: Path, gestures: str, n_problems: int
) -> None:
    write_trial(root, "Suturing_C001", gestures)
    with pytest.raises(DatasetError, match=r"Suturing_C001\.txt"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["Suturing_B001"]
    assert len(query.problems.skipped) == n_problems
    assert query.problems.skipped[-1].startswith(
        "transcriptions/Suturing_C001.txt: a recording without labels"
    )


def test_without_kinematics_there_are_videos_and_gestures(root: Path) -> None:
    (root / "Suturing" / "kinematics").rename(root / "elsewhere")
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    assert take.features is None
    assert take.video is not None
    assert take.annotation.duration_seconds is None


@pytest.mark.parametrize("folder", ["transcriptions", "kinematics/AllGestures"])
def test_text_that_is_not_utf_8_is_reported(root: Path, folder: str) -> None:
    (root / "Suturing" / folder / "Suturing_B001.txt").write_bytes(b"\xfe\xff")
    with pytest.raises(DatasetError, match=rf"^{folder}: Suturing_B001\.txt: is not UTF-8 text"):
        FORMAT.read(request(root))
    assert FORMAT.read(lenient(root)) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2 3\n" * 10, "has 3 columns; expected 76"),
        ("", "contains no numbers; expected 76 per frame"),
        (" \n\n", "contains no numbers; expected 76 per frame"),
        ("no such thing\n" * 10, "is not a table of numbers"),
        ("\0" * 50, "is not a table of numbers"),
    ],
)
def test_wrong_kinematics_are_reported_as_such(root: Path, content: str, message: str) -> None:
    path = root / "Suturing" / "kinematics" / "AllGestures" / "Suturing_B001.txt"
    path.write_text(content)
    with pytest.raises(DatasetError, match=rf"^kinematics/AllGestures/{path.name}: {message}"):
        FORMAT.read(request(root))
    query = lenient(root)
    assert FORMAT.read(query) == []
    assert len(query.problems.skipped) == 1


def test_damage_after_the_first_line_is_found_when_kinematics_are_read(root: Path) -> None:
    path = root / "Suturing" / "kinematics" / "AllGestures" / "Suturing_B001.txt"
    path.write_text(path.read_text() + "1 2 3\n")
    (task,) = FORMAT.read(request(root))
    with pytest.raises(RecordingError, match=r"^kinematics/AllGestures/Suturing_B001\.txt: is no"):
        task.recordings[0].features()
    path.unlink()
    with pytest.raises(RecordingError, match=r"^kinematics/AllGestures: .* does not exist"):
        task.recordings[0].features()


def test_a_byte_order_mark_and_other_line_ends_are_accepted(root: Path) -> None:
    for folder in ("transcriptions", "kinematics/AllGestures"):
        path = root / "Suturing" / folder / "Suturing_B001.txt"
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r"))
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    assert len(take.annotation.steps) == 2
    assert take.features().tracks["slave_left"].features[0].tolist() == list(range(39, 58))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="Knot_Tying, Needle_Passing, Suturing"):
        FORMAT.read(request(tmp_path))
    (tmp_path / "Suturing").mkdir()
    with pytest.raises(DatasetMissingError, match="transcriptions"):
        FORMAT.read(request(tmp_path))
