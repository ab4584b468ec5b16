from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.crosstask import FORMAT
from stepreel.evaluation.truth.annotation import Problems

TASKS = """\
23521
Make Jello Shots
https://www.wikihow.com/Make-Jello-Shots
3
pour water,pour jello powder,stir mixture

44047
Make Kimchi Fried Rice
https://www.wikihow.com/Make-Kimchi-Fried-Rice
2
add ham,add kimchi
"""
VIDEO = "-2mxGTRGzQA"


def write_video(root: Path, task: int, video: str, steps: str, seconds: int = 10) -> None:
    release = root / "crosstask_release"
    (release / "annotations").mkdir(parents=True, exist_ok=True)
    (root / "crosstask_features").mkdir(exist_ok=True)
    with (release / "videos.csv").open("a") as file:
        file.write(f"{task},{video},https://www.youtube.com/watch?v={video}\n")
    (release / "annotations" / f"{task}_{video}.csv").write_text(steps)
    array = np.tile(np.arange(3200.0), (seconds, 1))
    np.save(root / "crosstask_features" / f"{video}.npy", array)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_video(tmp_path, 23521, VIDEO, "1,1.2,2.9\n2,4.0,6.5\n3,8.0,9.97\n")
    (tmp_path / "crosstask_release" / "tasks_primary.txt").write_text(TASKS)
    return tmp_path


def request(root: Path, **more: object) -> Request:
    return Request(root, Problems(), **more)  # type: ignore[arg-type]


def lenient(root: Path) -> Request:
    return Request(root, Problems(lenient=True))


def labels(take: object) -> list[int]:
    return take.annotation.labels_at(np.arange(10.0)).tolist()  # type: ignore[attr-defined]


def test_a_step_fills_the_seconds_it_begins_and_ends_in(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    (take,) = task.recordings
    assert labels(take) == [0, 1, 1, 0, 2, 2, 2, 0, 3, 3]
    assert (task.name, task.group, take.name) == ("make_jello_shots", "crosstask", VIDEO)
    assert task.step_names == {1: "pour water", 2: "pour jello powder", 3: "stir mixture"}
    assert take.annotation.duration_seconds == 10.0


def test_the_columns_are_motion_appearance_and_audio(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    tracks = task.recordings[0].features().tracks
    assert {cue: (t.features[0, 0], t.width) for cue, t in tracks.items()} == {
        "appearance": (1024.0, 2048),
        "motion": (0.0, 1024),
    }
    assert tracks["motion"].times.tolist() == list(range(10))
    (task,) = FORMAT.read(request(root, cues=("audio",)))
    audio = task.recordings[0].features().tracks["audio"]
    assert (audio.features[0, 0], audio.width) == (3072.0, 128)


def test_the_later_of_two_overlapping_steps_counts(root: Path) -> None:
    path = root / "crosstask_release" / "annotations" / f"23521_{VIDEO}.csv"
    path.write_text("2,3.7,6.0\n1,1.0,5.0\n3,3.2,3.9\n")
    (task,) = FORMAT.read(request(root))
    assert labels(task.recordings[0]) == [0, 1, 1, 2, 2, 2, 0, 0, 0, 0]


def test_a_task_is_picked_by_name_or_number_and_the_folder_may_be_the_release(root: Path) -> None:
    write_video(root, 44047, "abcdefghijk", "2,0.0,3.0\n")
    release = root / "crosstask_release"
    assert [task.name for task in FORMAT.read(request(release))] == [
        "make_jello_shots",
        "make_kimchi_fried_rice",
    ]
    for query in ("44047", "Make_Kimchi_Fried_Rice"):
        (task,) = FORMAT.read(request(release, task=query))
        assert task.name == "make_kimchi_fried_rice"
        assert task.recordings[0].features is not None
    with pytest.raises(DatasetError, match="no task '7'; known here: make_jello_shots, make_k"):
        FORMAT.read(request(root, task="7"))


def test_the_validation_set_is_the_test_split(root: Path) -> None:
    write_video(root, 23521, "abcdefghijk", "2,0.0,3.0\n")
    line = "23521,abcdefghijk,https://www.youtube.com/watch?v=abcdefghijk\n"
    (root / "crosstask_release" / "videos_val.csv").write_text(line)
    (task,) = FORMAT.read(request(root))
    assert [(take.name, take.split) for take in task.recordings] == [
        (VIDEO, "train"),
        ("abcdefghijk", "test"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,7.5,7.1", "7.5 to 7.1 s"),
        ("1,7,nan", "7 to nan s"),
        ("1,-1,1", "-1 to 1 s"),
        ("4,6.0,7.5", "unknown step '4'"),
        ("0,7.0,7.5", "unknown step '0'; steps count from 1"),
        ("1,10.2,10.8", "10.2 to 10.8 s .* past the end"),
        ("1,7.0,11.2", "7 to 11.2 s .* past the end"),
        ("1,7.0", "'1,7.0'; expected step, start, end"),
        ("1,7.0,late", "'1,7.0,late'; expected step, start, end"),
    ],
)
def test_a_wrong_line_is_reported_and_left_out_if_lenient(
    root: Path, line: str, message: str
) -> None:
    path = root / "crosstask_release" / "annotations" / f"23521_{VIDEO}.csv"
    path.write_text(f"1,1.2,2.9\n2,4.0,6.5\n{line}\n")
    with pytest.raises(DatasetError, match=rf"23521_{VIDEO}\.csv, line 3: {message}"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert labels(task.recordings[0]) == [0, 1, 1, 0, 2, 2, 2, 0, 0, 0]
    assert len(query.problems.skipped) == 1


@pytest.mark.parametrize(("content", "n_problems"), [("", 1), (" \n\n", 1), ("9,1,2\nx\n", 3)])
def test_a_recording_without_steps_is_reported(root: Path, content: str, n_problems: int) -> None:
    write_video(root, 23521, "empty", content)
    with pytest.raises(DatasetError, match=r"23521_empty\.csv"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == [VIDEO]
    assert len(query.problems.skipped) == n_problems
    assert query.problems.skipped[-1].startswith("23521_empty.csv: a recording without labels")


def test_a_step_may_end_within_the_second_after_the_last_row(root: Path) -> None:
    path = root / "crosstask_release" / "annotations" / f"23521_{VIDEO}.csv"
    path.write_text("1,8.5,10.9\n")
    (task,) = FORMAT.read(request(root))
    assert labels(task.recordings[0]) == [0] * 8 + [1, 1]


def test_files_without_a_counterpart_are_reported(root: Path) -> None:
    write_video(root, 23521, "no-features", "1,0,1\n")
    write_video(root, 23521, "no-labels", "1,0,1\n")
    release = root / "crosstask_release"
    (root / "crosstask_features" / "no-features.npy").unlink()
    (release / "annotations" / "23521_no-labels.csv").unlink()
    (release / "annotations" / "23521_unlisted.csv").write_text("1,0,1\n")
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == [VIDEO]
    assert query.problems.skipped == [
        "23521_no-features.csv: has no features (no-features.npy)",
        "no-labels: has no annotations/23521_no-labels.csv",
        "23521_unlisted.csv: videos.csv has no such video",
    ]
    with pytest.raises(DatasetError, match="has no features"):
        FORMAT.read(request(root))


def test_features_of_another_width_are_reported(root: Path) -> None:
    np.save(root / "crosstask_features" / f"{VIDEO}.npy", np.zeros((10, 2048)))
    with pytest.raises(DatasetError, match=r"shape \(10, 2048\); expected \(seconds, 3200\)"):
        FORMAT.read(request(root))
    assert FORMAT.read(lenient(root)) == []


def test_a_damaged_list_of_tasks_is_reported(root: Path) -> None:
    path = root / "crosstask_release" / "tasks_primary.txt"
    path.write_text(TASKS.replace("add ham,add kimchi", "add ham"))
    with pytest.raises(DatasetError, match=r"tasks_primary\.txt, line 7: a task needs five"):
        FORMAT.read(request(root))
    query = lenient(root)
    assert [task.name for task in FORMAT.read(query)] == ["make_jello_shots"]
    assert len(query.problems.skipped) == 1


def test_tasks_with_the_same_title_get_their_numbers_as_suffix(root: Path) -> None:
    path = root / "crosstask_release" / "tasks_primary.txt"
    path.write_text(TASKS.replace("Make Kimchi Fried Rice", "Make jello shots!"))
    write_video(root, 44047, "abcdefghijk", "2,0.0,3.0\n")
    tasks = {task.name: task for task in FORMAT.read(request(root))}
    assert list(tasks) == ["make_jello_shots_23521", "make_jello_shots_44047"]
    assert [len(task.step_names) for task in tasks.values()] == [3, 2]
    (task,) = FORMAT.read(request(root, task="44047"))
    assert [take.name for take in task.recordings] == ["abcdefghijk"]
    path.write_text(TASKS.replace("Make Jello Shots", "ゼリーショット"))
    assert [task.name for task in FORMAT.read(request(root))] == [
        "23521",
        "make_kimchi_fried_rice",
    ]


def test_a_task_number_listed_twice_is_reported(root: Path) -> None:
    path = root / "crosstask_release" / "tasks_primary.txt"
    path.write_text(TASKS.replace("44047", "23521"))
    with pytest.raises(DatasetError, match=r"tasks_primary\.txt, line 7: task 23521 is listed tw"):
        FORMAT.read(request(root))
    (task,) = FORMAT.read(lenient(root))
    assert task.name == "make_jello_shots"


def test_a_damaged_list_of_videos_is_reported(root: Path) -> None:
    with (root / "crosstask_release" / "videos.csv").open("a") as file:
        file.write("23521\n")
    with pytest.raises(DatasetError, match=r"videos\.csv, line 2: '23521'; expected task, video"):
        FORMAT.read(request(root))
    assert len(FORMAT.read(lenient(root))) == 1


def test_a_listed_name_never_leads_out_of_the_folder(root: Path) -> None:
    np.save(root / "secret.npy", np.zeros((10, 3200)))
    (root / "crosstask_release" / "23521_secret.csv").write_text("1,0,1\n")
    with (root / "crosstask_release" / "videos.csv").open("a") as file:
        file.write("23521,../secret,address\n")
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == [VIDEO]


def test_missing_files_are_named(root: Path) -> None:
    with pytest.raises(DatasetMissingError, match="tasks_primary"):
        FORMAT.read(request(root / "crosstask_features"))
    (root / "crosstask_release" / "videos.csv").unlink()
    with pytest.raises(DatasetMissingError, match=r"videos\.csv"):
        FORMAT.read(request(root))
