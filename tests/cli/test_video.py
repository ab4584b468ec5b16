"""`stepreel run --video`: what the page plays, chosen on the command line and in Python."""

from __future__ import annotations

import numpy as np
import pytest
from videos import busy_task, steady, write_video

from cli.commands import FAST, stepreel
from stepreel import find_key_steps
from stepreel.storyboard.schema import read_storyboard


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    paint = busy_task()
    return write_video(
        tmp_path_factory.mktemp("recordings") / "take.mov",
        steady(180, fps=20),
        lambda number: np.ascontiguousarray(paint(number)),
        codec="libx265",
        options={"x265-params": "log-level=none", "preset": "ultrafast"},
    )


def test_a_recording_that_browsers_cannot_play_gets_a_playable_copy(recording, tmp_path):
    done = stepreel("run", recording, "-o", tmp_path / "out", "-q", *FAST)
    assert (done.returncode, done.stderr) == (0, "")
    assert "video: The video shown is a copy in H.264, because browsers cannot play HEVC." in (
        done.stdout
    )
    folder = tmp_path / "out" / "take"
    assert (folder / "recording-h264.mp4").is_file()
    board = read_storyboard(folder / "storyboard.json")
    assert board.recording.playable.kind == "proxy"
    assert board.recording.file.endswith("take.mov")
    made = (folder / "recording-h264.mp4").stat().st_ino
    assert stepreel("run", recording, "-o", tmp_path / "out", *FAST).returncode == 0
    assert (folder / "recording-h264.mp4").stat().st_ino == made


def test_an_embedded_video_is_chosen_in_python_by_the_same_name(recording, tmp_path):
    labels = []
    result = find_key_steps(
        recording,
        tmp_path / "out",
        video="embed",
        extract__cues=["motion"],
        progress=lambda label, done, total: labels.append(label),
    )
    page = (tmp_path / "out" / "take" / "storyboard.html").read_text(encoding="utf-8")
    assert "data:video/mp4;base64," in page
    assert "copying video" in labels
    board = result.write(tmp_path / "again", video="copy")
    assert (tmp_path / "again" / "recording.mov").is_file()
    assert board.recording.playable.kind == "proxy"
    with pytest.raises(ValueError, match="expected link, copy, proxy, embed"):
        result.write(tmp_path / "again", video="dvd")
    with pytest.raises(ValueError, match="expected link, copy, proxy, embed"):
        find_key_steps(recording, video="dvd")


def test_whoever_stops_the_copying_keeps_the_storyboard(recording, tmp_path):
    def interrupt(label, done, total):
        if label == "copying video" and done > 1:
            raise KeyboardInterrupt

    settings = {"extract__cues": ["motion"]}
    with pytest.raises(KeyboardInterrupt):
        find_key_steps(recording, tmp_path / "out", progress=interrupt, **settings)
    folder = tmp_path / "out" / "take"
    board = read_storyboard(folder / "storyboard.json")
    assert board.steps
    assert board.recording.playable.kind == "none"
    assert "run the same command again to finish it" in (folder / "storyboard.html").read_text()
    assert not list(folder.glob("*.mp4"))
    assert not list(folder.glob(".*.part"))
    find_key_steps(recording, tmp_path / "out", **settings)
    assert read_storyboard(folder / "storyboard.json").recording.playable.kind == "proxy"


def test_an_unknown_choice_is_refused(recording):
    done = stepreel("run", recording, "--video", "dvd")
    assert done.returncode == 2
    assert "embed" in done.stderr
