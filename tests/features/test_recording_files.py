"""What users name instead of files: folders, wildcards and web addresses."""

from __future__ import annotations

import numpy as np
import pytest

from stepreel import find_key_steps
from stepreel.errors import RecordingError
from stepreel.features.recording_files import expand_sources, list_folder, why_not_a_recording


def fill(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


def test_a_folder_stands_for_its_videos_in_natural_order(tmp_path):
    names = ["take10.mp4", "Take2.MOV", "take1.mkv"]
    folder = fill(tmp_path / "takes", *names, "take1.csv", "take1.json", ".hidden.mp4", "notes")
    fill(folder / "old", "take0.mp4")
    paths, (contents,) = expand_sources([folder])
    assert [path.name for path in paths] == ["take1.mkv", "Take2.MOV", "take10.mp4"]
    assert contents.ignored == ["notes", "old/", "take1.csv", "take1.json"]
    assert str(contents) == (
        f"{folder}: 3 videos: take1.mkv, Take2.MOV, take10.mp4; "
        "ignored: notes, old/, take1.csv, take1.json"
    )


def test_where_there_are_videos_feature_files_are_ignored_and_named(tmp_path):
    contents = list_folder(fill(tmp_path, "take1.mp4", "take1.npz", "take2.mp4"))
    assert [path.name for path in contents.recordings] == ["take1.mp4", "take2.mp4"]
    assert "ignored: take1.npz" in str(contents)


def test_our_own_outputs_and_files_of_times_are_no_recordings(tmp_path):
    fill(tmp_path, "a.npz", "a.embedding.npz", "b.h5", "model.safetensors", "model.json", "t.npy")
    contents = list_folder(tmp_path, other_files=[tmp_path / "t.npy"])
    assert [path.name for path in contents.recordings] == ["a.npz", "b.h5"]
    (tmp_path / "model.json").unlink()  # then it is no model
    assert len(list_folder(tmp_path).recordings) == 4


def test_many_ignored_files_are_counted(tmp_path):
    fill(tmp_path, "take.mp4", *(f"{number}.txt" for number in range(1, 101)))
    assert str(list_folder(tmp_path)).endswith("1.txt, 2.txt, 3.txt, 4.txt, 5.txt and 95 more")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "is an empty folder; expected videos or feature files"),
        (["notes.txt"], "contains no video and no feature file, only notes.txt"),
        (["storyboard.json"], "contains storyboards, no recordings"),
    ],
)
def test_a_folder_without_recordings_is_explained(tmp_path, names, words):
    folder = fill(tmp_path / "takes", *names)
    assert expand_sources([folder]) == ([folder], [])
    assert words in why_not_a_recording(folder)


def test_a_wildcard_that_a_shell_left_is_expanded(tmp_path):
    fill(tmp_path, "take10.mp4", "take2.mp4", "[1].mp4")
    paths, _ = expand_sources([tmp_path / "take*.mp4", tmp_path / "[1].mp4"])
    assert [path.name for path in paths] == ["take2.mp4", "take10.mp4", "[1].mp4"]
    assert "no file has such a name" in why_not_a_recording(tmp_path / "*.mov")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://www.youtube.com/watch?v=a", "https://www.youtube.com/watch?v=a"),
        ("http://example.org/a.npz", "http://example.org/a.npz"),
        ("s3://bucket/*.mp4", "s3://bucket/*.mp4"),
        ("youtu.be/abc", "https://youtu.be/abc"),
        ("https://example.org/" + 400 * "a", "https://example.org/" + 400 * "a"),
    ],
)
def test_an_address_must_be_downloaded_first(tmp_path, address, shown):
    with pytest.raises(RecordingError, match="download the video first") as caught:
        find_key_steps(address, cache=tmp_path)
    assert str(caught.value).startswith(f"{shown}: is a web address")


def test_the_address_of_a_file_is_answered_with_its_name(tmp_path):
    with pytest.raises(RecordingError, match=r"name the file itself: /home/take\.mp4"):
        find_key_steps("file:///home/take.mp4", cache=tmp_path)


def test_a_file_that_looks_like_an_address_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "s3:" / "bucket", "a.mp4")
    (name,) = (tmp_path / "s3:" / "bucket").iterdir()
    assert why_not_a_recording(name.relative_to(tmp_path)) is None


def test_find_key_steps_takes_a_folder_and_gives_a_list(tmp_path):
    takes = tmp_path / "takes"
    takes.mkdir()
    rng = np.random.default_rng(0)
    for number in (10, 9):
        np.savez(takes / f"take{number}.npz", times=np.arange(40) / 4, x=rng.normal(size=(40, 3)))
    options = {"cache": tmp_path / "cache", "clusters": 2}
    for source in (takes, [takes], str(takes / "*.npz")):
        results = find_key_steps(source, **options)
        assert [result.recording.name for result in results] == ["take9", "take10"]
    with pytest.raises(RecordingError, match="is an empty folder"):
        find_key_steps(fill(tmp_path / "none"), **options)
