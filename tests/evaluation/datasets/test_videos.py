from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from videos import write_video

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import LabelledTask, Request
from stepreel.evaluation.datasets.videos import read
from stepreel.evaluation.truth.annotation import Problems, TrueStep
from stepreel.evaluation.truth.lines import read_lines
from stepreel.types import VideoFile
from stepreel.video.decode import probe

FPS = 10


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Ten seconds of video, ten frames a second."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    picture = np.zeros((16, 16, 3), np.uint8)
    write_video(path, [i / FPS for i in range(10 * FPS)], lambda _: picture, last_seconds=1 / FPS)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path, film: bytes) -> Path:
    path = tmp_path / "bench"
    path.mkdir()
    for name in ["b.mp4", "a.MP4"]:
        (path / name).write_bytes(film)
    return path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def strict(folder: Path, truth: Path | None = None, fps: float | None = None) -> LabelledTask:
    (task,) = read(Request(folder, Problems(), truth=truth, fps=fps))
    return task


def lenient(folder: Path, fps: float | None = None) -> tuple[list[str], int]:
    problems = Problems(lenient=True)
    tasks = read(Request(folder, problems, fps=fps))
    return [take.name for task in tasks for take in task.recordings], len(problems.skipped)


def test_videos_and_labels_of_one_folder_are_paired_by_name(folder: Path) -> None:
    put(folder / "a.csv", "1.0,2.0,7 cut\n")
    put(folder / "b.csv", "1.0,2.0,3 stir\n5.0,6.0,7 cut\n")
    task = strict(folder)
    assert (task.name, task.step_names) == ("bench", {3: "stir", 7: "cut"})
    assert [take.name for take in task.recordings] == ["a", "b"]
    assert [take.video for take in task.recordings] == [folder / "a.MP4", folder / "b.mp4"]
    truth = task.recordings[1].annotation
    assert truth.steps == (TrueStep(1.0, 2.0, 3), TrueStep(5.0, 6.0, 7))
    assert truth.duration_seconds == pytest.approx(10.0, abs=0.01)
    assert task.recordings[0].features is None


def test_labels_may_be_in_another_folder_and_in_several_formats(
    folder: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels"
    put(labels / "b.steps.csv", "1.0,2.0,1 cut\n")
    np.savez(labels / "a.npz", times=np.arange(100) / FPS, labels=np.repeat([0, 2], 50))
    task = strict(folder, labels)
    assert task.recordings[0].annotation.steps[0].start == pytest.approx(4.95)
    assert task.recordings[1].annotation.steps == (TrueStep(1.0, 2.0, 1),)


def test_every_label_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder / "a.txt", "stir\n" * 100)
    put(folder / "b.csv", "1.0,2.0,7 cut\n")
    names: list[str] = []

    def counted(path: Path) -> list[str]:
        names.append(path.name)
        return read_lines(path)

    monkeypatch.setattr("stepreel.evaluation.truth.lines.read_lines", counted)
    assert len(strict(folder).recordings) == 2
    assert names == ["a.txt", "b.csv"]


def test_steps_are_numbered_by_name_over_all_recordings(folder: Path) -> None:
    put(folder / "a.txt", "stir\n" * 50 + "background\n" * 50)
    put(folder / "b.txt", "cut\n" * 20 + "stir\n" * 80)
    task = strict(folder)
    assert task.step_names == {1: "cut", 2: "stir"}
    labels = task.recordings[1].annotation.labels_at(np.arange(100) / FPS)
    assert labels.tolist() == [1] * 20 + [2] * 80


def test_labels_per_frame_at_the_wrong_rate_suggest_the_rate_that_fits(folder: Path) -> None:
    put(folder / "a.txt", "cut\n" * 150)
    put(folder / "b.txt", "cut\n" * 150)
    assert len(strict(folder, fps=15.0).recordings) == 2
    message = (
        r"a\.txt: 150 labels at 30 per second last 5\.0 s, but a\.MP4 lasts 10\.0 s: "
        r"is the frame rate wrong\? --fps \(fps=…\) 15 would fit"
    )
    with pytest.raises(DatasetError, match=message):
        strict(folder, fps=30.0)
    put(folder / "b.txt", "cut\n" * 305)  # a sixth of a second more than the video
    assert lenient(folder, fps=30.0) == (["b"], 1)


def test_rows_of_frames_count_the_frames_of_their_video(folder: Path) -> None:
    for name in ["a.txt", "b.txt"]:
        put(folder / name, "1 50 G1\n51 100 G2\n")
    labels = strict(folder).recordings[0].annotation.labels_at(np.arange(100) / FPS)
    assert labels.tolist() == [1] * 50 + [2] * 50
    labels = strict(folder, fps=20.0).recordings[0].annotation.labels_at(np.arange(100) / FPS)
    assert labels.tolist() == [1] * 25 + [2] * 25 + [0] * 50


def test_rows_of_frames_need_a_frame_rate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rateless(path: Path) -> VideoFile:
        return replace(probe(path), fps=0.0)

    monkeypatch.setattr("stepreel.video.decode.probe", rateless)
    for name in ["a.txt", "b.txt"]:
        put(folder / name, "1 50 G1\n")
    with pytest.raises(DatasetError, match=r"a\.txt: counts frames, but a\.MP4 .* give --fps"):
        strict(folder)
    assert len(strict(folder, fps=10.0).recordings) == 2


@pytest.mark.parametrize(("first", "last"), [(0, 3), (3, 10), (0, 18), (100, 110)])
def test_labels_of_moments_must_cover_the_whole_video(folder: Path, first: int, last: int) -> None:
    times = np.arange(first, last, 1 / FPS)
    np.savez(folder / "a.npz", times=times, labels=np.ones(len(times), int))
    put(folder / "b.csv", "1,2,1 cut\n")
    message = (
        r"a\.npz: its labels go from .* to .* s, but a\.MP4 lasts 10\.0 s; "
        "expected a label for every moment"
    )
    with pytest.raises(DatasetError, match=message):
        strict(folder)
    assert lenient(folder) == (["b"], 1)


def test_few_moments_that_cover_the_whole_video_are_enough(folder: Path) -> None:
    np.savez(folder / "a.npz", times=[2.5, 7.5], labels=[1, 2])
    put(folder / "b.csv", "1,2,2 cut\n")
    labels = strict(folder).recordings[0].annotation.labels_at(np.array([1.0, 4.0, 6.0, 9.0]))
    assert labels.tolist() == [1, 1, 2, 2]


def test_labels_without_times_belong_to_the_frames_of_the_video(folder: Path) -> None:
    np.savez(folder / "a.npz", labels=np.repeat([0, 2], 50))
    put(folder / "b.csv", "1,2,2 cut\n")
    assert strict(folder).recordings[0].annotation.steps[0].start == pytest.approx(4.95)


def test_labels_that_end_a_little_after_the_video_end_with_it(folder: Path) -> None:
    put(folder / "a.csv", "8.0,10.9,1 cut\n10.3,10.8,2 wave\n")
    put(folder / "b.csv", "8.0,9.0,1 cut\n9.5,11.5,2 wave\n")
    with pytest.raises(DatasetError, match=r"b\.csv, line 2: 9\.5 to 11\.5 s \(2 wave\) lies past"):
        strict(folder)
    problems = Problems(lenient=True)
    first, second = read(Request(folder, problems))[0].recordings
    (step,) = first.annotation.steps
    assert (step.start, step.end) == (8.0, first.annotation.duration_seconds)
    assert second.annotation.steps == (TrueStep(8.0, 9.0, 1),)
    assert len(problems.skipped) == 1


def test_a_recording_without_labels_is_reported_or_left_out(folder: Path) -> None:
    put(folder / "a.csv", "1,2,3 cut\n")
    with pytest.raises(DatasetError, match=r"b\.mp4: a recording without labels; expected a file"):
        strict(folder)
    assert lenient(folder) == (["a"], 1)


def test_labels_without_a_recording_are_reported_or_left_out(folder: Path) -> None:
    for name in ["a", "b", "bb"]:
        put(folder / f"{name}.csv", "1,2,3 cut\n")
    with pytest.raises(DatasetError, match=r"bb\.csv: labels without a recording; .* called bb"):
        strict(folder)
    assert lenient(folder) == (["a", "b"], 1)


def test_two_videos_or_two_label_files_with_the_same_name_are_reported(
    folder: Path, film: bytes
) -> None:
    for name in ["a.csv", "b.csv"]:
        put(folder / name, "1,2,3 cut\n")
    (folder / "b.mkv").write_bytes(film)
    with pytest.raises(DatasetError, match=r"b\.mp4 and .*b\.mkv have the same name"):
        strict(folder)
    assert lenient(folder) == (["a", "b"], 1)
    (folder / "b.mkv").unlink()
    put(folder / "b.txt", "cut\n" * 100)
    with pytest.raises(DatasetError, match=r"b\.txt: b\.csv also contains labels of b"):
        strict(folder)


def test_an_unreadable_video_is_reported_or_left_out(folder: Path) -> None:
    for name in ["a.csv", "b.csv"]:
        put(folder / name, "1,2,3 cut\n")
    (folder / "b.mp4").write_bytes(b"no video")
    with pytest.raises(DatasetError, match=r"b\.mp4: "):
        strict(folder)
    assert lenient(folder) == (["a"], 1)


def test_an_unreadable_label_file_is_reported_or_left_out(folder: Path) -> None:
    put(folder / "a.csv", "1,2,3 cut\nrubbish\n")
    put(folder / "b.csv", "1,2,3 cut\n")
    with pytest.raises(DatasetError, match=r"a\.csv, line 2: 'rubbish'"):
        strict(folder)
    assert lenient(folder) == (["b"], 1)
    put(folder / "a.csv", "start,end,step\n")
    with pytest.raises(DatasetError, match=r"a\.csv, line 1: has the header .* and no step below"):
        strict(folder)
    assert lenient(folder) == (["b"], 1)


def test_a_folder_that_is_missing_or_without_videos_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="the folder of videos does not exist"):
        strict(tmp_path / "nowhere")
    with pytest.raises(DatasetMissingError, match="contains no video"):
        strict(tmp_path)
