"""What the page plays: the recording, a copy beside the page, or one inside it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from boards import make_board, pictures_of
from videos import gray, gray_steps, steady, write_video

from stepreel.report import read_embedded_video, render_page, write_report
from stepreel.report.video import (
    EMBEDDED_FILE,
    MOST_EMBEDDED_BYTES,
    PROXY_FILE,
    embedded_recipe,
    proxy_recipe,
    with_playable_video,
)
from stepreel.storyboard.schema import PlayableVideo, Storyboard, read_storyboard
from stepreel.video.decode import fingerprint_of, probe


def provided(path: Path, choice: str, *, folder: Path | None = None, duration: float = 1.0):
    folder = folder or path.parent / "out"
    board = make_board([(0, 0.5, 1.0, 0)], duration=duration, file=f"../{path.name}")
    return with_playable_video(board, probe(path), folder, choice)


@pytest.fixture
def mp4(tmp_path: Path) -> Path:
    return write_video(tmp_path / "take 1.mp4", steady(30), gray_steps, audio_start=0.0)


@pytest.fixture
def hevc(tmp_path: Path) -> Path:
    return write_video(
        tmp_path / "take 2.mov",
        steady(30),
        lambda i: gray(20 + i, width=128, height=96),
        codec="libx265",
        options={"x265-params": "log-level=none"},
    )


def test_a_playable_recording_is_linked_and_nothing_is_made(mp4):
    playable = provided(mp4, "link").recording.playable
    assert playable == PlayableVideo(
        kind="original",
        address="../take%201.mp4",
        player_offset_seconds=probe(mp4).player_offset_seconds,
    )
    assert not (mp4.parent / "out").exists()


def test_a_recording_that_browsers_cannot_play_gets_a_copy_in_h264(hevc):
    board = provided(hevc, "link")
    playable = board.recording.playable
    assert (playable.kind, playable.address) == ("proxy", f"./{PROXY_FILE}")
    assert "because browsers cannot play HEVC" in playable.explanation
    assert board.notes == make_board().notes
    assert probe(hevc.parent / "out" / PROXY_FILE).width == 128
    page = render_page(board, pictures={})
    assert f'src="./{PROXY_FILE}"' in page
    assert "browsers cannot play HEVC" in page


def test_copy_copies_the_recording_and_a_second_run_does_not(mp4):
    playable = provided(mp4, "copy").recording.playable
    copy = mp4.parent / "out" / "recording.mp4"
    assert (playable.kind, playable.address) == ("copy", "./recording.mp4")
    assert fingerprint_of(copy) == fingerprint_of(mp4)
    before = copy.stat().st_ino
    provided(mp4, "copy")
    assert copy.stat().st_ino == before


def test_copy_of_what_browsers_cannot_play_comes_with_a_playable_one(hevc):
    playable = provided(hevc, "copy").recording.playable
    assert playable.kind == "proxy"
    names = {path.name for path in (hevc.parent / "out").iterdir()}
    assert names == {"recording.mov", PROXY_FILE}


def test_proxy_makes_a_copy_in_h264_of_anything(mp4):
    playable = provided(mp4, "proxy").recording.playable
    assert (playable.kind, playable.player_offset_seconds) == ("proxy", 0.0)
    assert "because" not in playable.explanation


def test_embed_puts_a_small_copy_into_the_page(mp4, tmp_path: Path):
    folder = tmp_path / "out"
    board = provided(mp4, "embed", folder=folder)
    write_report(board, folder, pictures=pictures_of(board), strip=None)
    page = (folder / "storyboard.html").read_text(encoding="utf-8")
    assert 'src="data:video/mp4;base64,' in page
    assert "data:video" not in (folder / "storyboard.json").read_text(encoding="utf-8")
    stored = read_storyboard(folder / "storyboard.json")
    assert stored.recording.playable.kind == "embedded"
    again = render_page(
        stored,
        pictures=pictures_of(board),
        strip=None,
        video=read_embedded_video(stored, folder),
    )
    assert again == page


def test_a_longer_recording_is_embedded_smaller_and_one_too_long_is_not(mp4, tmp_path: Path):
    minutes = [0.5, 5, 20, 45]
    recipes = [embedded_recipe(60 * m) for m in minutes]
    assert [recipe.longest for recipe in recipes] == [960, 640, 320, 320]
    assert [bool(recipe.sound_bits) for recipe in recipes] == [True, True, False, False]
    assert embedded_recipe(46 * 60) is None
    for recipe, length in zip(recipes, minutes, strict=True):
        bits = recipe.bits_per_second + recipe.sound_bits
        assert bits * 60 * length / 8 <= MOST_EMBEDDED_BYTES
    board = provided(mp4, "embed", duration=3 * 3600)
    assert board.recording.playable.kind == "proxy"
    assert "too long to be inside the page, which may contain 15 MB" in board.notes[-1]
    assert f"send {PROXY_FILE} with it" in board.notes[-1]


def test_three_hours_are_copied_within_two_gigabytes():
    recipe = proxy_recipe(3 * 3600)
    assert (recipe.bits_per_second + recipe.sound_bits) * 3 * 3600 / 8 < 2e9
    assert recipe.longest < proxy_recipe(600).longest


@pytest.mark.parametrize("choice", ["link", "copy", "proxy", "embed"])
def test_a_copy_that_cannot_be_made_costs_the_video_alone(hevc, choice):
    for name in (PROXY_FILE, EMBEDDED_FILE, "recording.mov"):
        (hevc.parent / "out" / name / "in the way").mkdir(parents=True)
    board = provided(hevc, choice)
    assert board.recording.playable.kind == "none"
    assert board.recording.playable.address is None
    assert "in the way" in board.notes[-1]
    page = render_page(board, pictures={})
    assert "No video to play" in page
    assert page.count("could not be made") == 1
    assert "<video" in page
    assert " src=" not in page.split("<video")[1].split(">")[0]


def test_a_copy_of_a_playable_recording_that_cannot_be_made_leaves_the_link(mp4):
    (mp4.parent / "out" / "recording.mp4" / "x").mkdir(parents=True)
    board = provided(mp4, "copy")
    assert board.recording.playable.kind == "original"
    assert "in the way" in board.notes[-1]


def test_a_recording_that_is_gone_does_not_cost_the_storyboard(hevc):
    video = probe(hevc)
    hevc.unlink()
    board = with_playable_video(make_board(), video, hevc.parent / "out", "link")
    assert board.recording.playable.kind == "none"
    assert "does not exist" in board.notes[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_not_utf8_is_linked_by_its_bytes(mp4):
    raw = os.fsdecode(b"take \xff\xfe.mp4")
    path = mp4.rename(mp4.parent / raw)
    board = with_playable_video(make_board(), probe(path), mp4.parent / "out", "link")
    assert board.recording.playable.address == "../take%20%FF%FE.mp4"
    assert 'src="../take%20%FF%FE.mp4"' in render_page(board, pictures={})
    assert Storyboard.model_validate_json(board.to_json()) == board


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_reason_that_contains_such_a_name_can_be_written(hevc):
    video = probe(hevc.rename(hevc.parent / os.fsdecode(b"gone \xff.mov")))
    video.path.unlink()
    board = with_playable_video(make_board(), video, hevc.parent / "out", "link")
    assert "gone \N{REPLACEMENT CHARACTER}.mov: does not exist" in board.notes[-1]
    assert Storyboard.model_validate_json(board.to_json()) == board


def test_a_file_outside_of_the_folder_is_not_embedded(mp4, tmp_path: Path):
    board = provided(mp4, "embed", folder=tmp_path / "out")
    shutil.move(tmp_path / "out" / EMBEDDED_FILE, tmp_path / "secret.mp4")
    stolen = board.recording.playable.model_copy(update={"address": "../secret.mp4"})
    recording = board.recording.model_copy(update={"playable": stolen})
    board = board.model_copy(update={"recording": recording})
    assert read_embedded_video(board, tmp_path / "out") is None


def test_only_mp4_files_are_embedded():
    board = make_board()
    playable = PlayableVideo(kind="embedded", address="./x.mp4")
    recording = board.recording.model_copy(update={"playable": playable})
    board = board.model_copy(update={"recording": recording})
    assert "data:video" not in render_page(board, pictures={}, video=b"<script>alert(1)</script>")
