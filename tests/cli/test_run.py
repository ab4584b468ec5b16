"""`run` as users type it, rightly and wrongly: messages, exit status and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from limits import HANG_SECONDS
from videos import busy_task, gray, steady, write_audio, write_video

from cli.commands import FAST, TRAINED, stepreel


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    write_video(folder / "take1.mp4", steady(180), busy_task(0))
    write_video(folder / "take2.mp4", steady(150), busy_task(0))
    return folder


def assert_one_clear_message(done, status, *words):
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert 0 < len(done.stderr.strip().splitlines()) <= 3


def test_one_recording_gives_a_storyboard_and_prints_its_path(folder, tmp_path):
    done = stepreel("run", folder / "take1.mp4", "-o", tmp_path / "out", "-k", 3, *FAST)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "out" / "take1" / "storyboard.html") in done.stdout
    assert done.stderr.splitlines() == ["stepreel: extracting"]  # nothing is learned
    board = json.loads((tmp_path / "out" / "take1" / "storyboard.json").read_text())
    assert board["recording"]["name"] == "take1.mp4"
    assert board["settings"]["key_steps"]["n_clusters"] == 3
    assert not (tmp_path / "out" / "index.html").exists()
    assert "Warning" not in done.stderr


def test_several_recordings_share_clusters_and_get_an_index(folder, tmp_path):
    takes = [folder / "take1.mp4", folder / "take2.mp4"]
    done = stepreel("run", *takes, "-o", tmp_path, "-k", 3, *FAST)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "index.html").read_text()
    assert "take1/storyboard.html" in index
    assert "take2/storyboard.html" in index
    assert "2 done, 0 failed" in done.stdout
    first, second, summary = done.stdout.split("\n\n")
    assert first.startswith("take1.mp4: ")
    assert second.startswith("take2.mp4: ")
    assert summary.startswith("all recordings: ")


def test_a_broken_recording_is_reported_and_the_others_are_processed(folder, tmp_path):
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "words.mp4").write_text("not a video " * 99)
    write_audio(tmp_path / "sound.mp4")
    bad = [tmp_path / name for name in ("empty.mp4", "words.mp4", "sound.mp4", "absent.mp4")]
    done = stepreel("run", *bad, folder / "take1.mp4", "-o", tmp_path / "out", *FAST)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for words in [
        "empty.mp4: is empty",
        "words.mp4: is not a video",
        "sound.mp4: no video stream",
        "absent.mp4: does not exist",
    ]:
        assert words in done.stderr
    assert (tmp_path / "out" / "take1" / "storyboard.html").exists()
    assert "1 done, 4 failed" in done.stdout
    assert "is empty" in (tmp_path / "out" / "index.html").read_text()


def test_the_exit_status_is_two_if_no_recording_can_be_read(tmp_path):
    (tmp_path / "empty.mp4").write_bytes(b"")
    done = stepreel("run", tmp_path / "empty.mp4", "-o", tmp_path / "out")
    assert_one_clear_message(done, 2, "empty.mp4: is empty")
    assert list((tmp_path / "out").iterdir()) == []


def test_one_frame_gives_one_step_and_a_note(tmp_path):
    write_video(tmp_path / "one.mkv", [0.0], lambda i: gray(99))
    for options, note in (
        ((), "No clear structure found"),
        (("--decoder", "kmeans", "-k", "7"), "its moments differ too little for more"),
    ):
        done = stepreel("run", tmp_path / "one.mkv", "-o", tmp_path / "out", *options)
        assert done.returncode == 0, done.stderr
        board = json.loads((tmp_path / "out" / "one" / "storyboard.json").read_text())
        assert len(board["steps"]) == 1
        assert any(note in one for one in board["notes"])


def test_a_truncated_recording_is_used_with_a_note(folder, tmp_path):
    whole = write_video(tmp_path / "whole.mkv", steady(180), busy_task()).read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    done = stepreel("run", tmp_path / "cut.mkv", "-o", tmp_path / "out", *FAST)
    assert done.returncode == 0, done.stderr
    assert "Only the first" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="drops root's capabilities, which needs Linux")
def test_a_recording_without_read_permission_is_reported(folder, tmp_path):
    locked = tmp_path / "locked.mp4"
    locked.write_bytes((folder / "take1.mp4").read_bytes())
    locked.chmod(0)
    assert_one_clear_message(stepreel("run", locked, "-o", tmp_path / "out"), 2, "permission")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "quik"], ["unknown preset 'quik'", "known:", "quick"]),
        (["--set", "train.epoch=3"], ["unknown setting 'train.epoch'", "epochs"]),
        (["--set", "extract.cues=taste"], ["unknown cue 'taste'", "appearance", "motion"]),
        (["--set", "key_steps.n_clusters=0"], ["key_steps.n_clusters='0'", "from 1 to 1000"]),
        (["--set", "key_steps.top=0"], ["key_steps.top='0'", "from 1 to 1000000"]),
    ],
)
def test_invalid_options_are_explained(folder, tmp_path, arguments, words):
    done = stepreel("run", folder / "take1.mp4", "-o", tmp_path / "out", *arguments)
    assert_one_clear_message(done, 2, *words)
    assert not (tmp_path / "out").exists()


def test_an_unknown_option_is_reported_with_the_known_ones(folder):
    done = stepreel("run", folder / "take1.mp4", "--clutsers", "3")
    assert done.returncode == 2
    message = " ".join(done.stderr.replace("│", " ").split())
    assert "--clutsers" in message
    assert "Known options:" in message
    assert "--preset" in message
    assert "Traceback" not in done.stderr


def test_a_file_in_the_way_of_the_output_is_reported_first(folder, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = stepreel("run", folder / "take1.mp4", "-o", tmp_path / "out")
    assert_one_clear_message(done, 2, "is a file, not a folder", "-o")
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="drops root's capabilities, which needs Linux")
def test_a_read_only_output_folder_is_reported(folder, tmp_path):
    tmp_path.chmod(0o500)
    done = stepreel("run", folder / "take1.mp4", "-o", tmp_path / "out")
    assert_one_clear_message(done, 2, "cannot be written", "Permission denied", "-o")


ODD_NAMES = [
    "-rf.mp4",
    "a b.mp4",
    'it\'s "odd".mp4',
    "<script>alert(1)<.mp4",
    "Übung-步骤.mp4",
    "http:x.mp4",
    "[red]x.mp4",
    "tab\there\x1b[31m.mp4",
]


def test_unusual_file_names_work(folder, tmp_path):
    for name in ODD_NAMES:
        (tmp_path / name).write_bytes((folder / "take2.mp4").read_bytes())
    done = stepreel("run", "-o", "out", *FAST, "--", *ODD_NAMES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b[31m" not in done.stdout
    assert len(list((tmp_path / "out").glob("*/storyboard.html"))) == len(ODD_NAMES)
    for page in [tmp_path / "out" / "index.html", *(tmp_path / "out").glob("*/storyboard.html")]:
        assert "<script>alert" not in page.read_text()
    # A second run uses the same folders.
    stepreel("run", "-o", "out", *FAST, "--", *ODD_NAMES, cwd=tmp_path)
    assert len(list((tmp_path / "out").glob("*/storyboard.html"))) == len(ODD_NAMES)


def test_a_file_name_that_is_not_valid_utf_8_works(folder, tmp_path):
    name = os.fsdecode(b"take\xff.mp4")
    try:
        (tmp_path / name).write_bytes((folder / "take2.mp4").read_bytes())
    except OSError:
        pytest.skip("this file system allows only Unicode names")
    done = stepreel("run", name, "-o", "out", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
# At once, Python may not have started; `-X importtime` tells what has been loaded.
@pytest.mark.parametrize(
    "until", ["", "stepreel.cli.app", "| numpy", "stepreel: extracting", "stepreel: learning"]
)
def test_ctrl_c_at_any_point_gives_exit_status_130(folder, tmp_path, until):
    long = [*FAST, *TRAINED, "--set", "train.epochs=100000"]
    long += ["--set", "train.stop_when_settled=false"]
    command = [sys.executable, "-X", "importtime", "-m", "stepreel", "run", folder / "take1.mp4"]
    with subprocess.Popen(
        [*command, "-o", tmp_path, *long],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "STEPREEL_CACHE": str(tmp_path / "cache")},
        # Shells start background jobs, and so perhaps these tests, with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        hang = threading.Timer(HANG_SECONDS, process.kill)
        hang.start()
        reached = not until or any(until in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        hang.cancel()
    assert reached
    if until:
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
    assert not list(tmp_path.rglob("storyboard.*"))


@pytest.mark.skipif(sys.platform == "win32", reason="limits the file size, which needs POSIX")
@pytest.mark.parametrize("limit_kilobytes", [0, 8, 40])
def test_a_full_disk_leaves_no_partial_files(folder, tmp_path, limit_kilobytes):
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_kilobytes * 1024},) * 2);"
        "sys.argv[0] = 'stepreel'; from stepreel.cli import main; main()"
    )
    arguments = ["run", folder / "take1.mp4", "-o", tmp_path / "out", *FAST]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "STEPREEL_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "cannot write" in done.stderr or "cannot be written" in done.stderr, done.stderr
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]
    rerun = stepreel(*arguments, cache=tmp_path / "cache")
    assert rerun.returncode == 0, rerun.stderr


def test_videos_of_unusual_sizes_work(folder, tmp_path):
    # 118 pixels: rows are padded. 6 pixels after downscaling: too narrow for optical flow.
    write_video(tmp_path / "tall.mp4", steady(40), busy_task(0, width=118, height=256))
    write_video(tmp_path / "wide.mp4", steady(40), busy_task(0, width=640, height=16))
    takes = [tmp_path / "tall.mp4", tmp_path / "wide.mp4", folder / "take1.mp4"]
    done = stepreel("run", *takes, "-o", tmp_path / "out", *FAST)
    assert done.returncode == 0, done.stderr
    assert "3 done, 0 failed" in done.stdout
    wide = json.loads((tmp_path / "out" / "wide" / "storyboard.json").read_text())
    assert wide["steps"] == []


def test_a_recording_named_twice_is_used_once(folder, tmp_path):
    twice = [folder / "take1.mp4", folder / ".." / folder.name / "take1.mp4"]
    done = stepreel("run", *twice, "-o", tmp_path, *FAST)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "take1-2").exists()


def test_storyboards_are_kept_if_the_index_cannot_be_written(folder, tmp_path):
    (tmp_path / "index.html").mkdir()
    takes = [folder / "take1.mp4", folder / "take2.mp4"]
    done = stepreel("run", *takes, "-o", tmp_path, "-q", *FAST)
    assert_one_clear_message(done, 1, "index.html is in the way; move it")
    assert "take2.mp4: " in done.stdout


def test_a_video_that_never_changes_gives_a_note(tmp_path):
    write_video(tmp_path / "still.mp4", steady(240), lambda i: gray(120))
    still = ["--set", "extract.cues=appearance"]
    done = stepreel("run", tmp_path / "still.mp4", "-o", tmp_path / "out", *still)
    assert done.returncode == 0, done.stderr
    assert "The picture hardly changes" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--set", "train.seed=5000000000"], "from 0 to 4294967295"),
        (["--set", "extract.cues=motion,motion"], "named twice"),
        (["--set", "train.batch_size=10000000"], "from 1 to 1024"),
    ],
)
def test_settings_out_of_range_are_rejected_first(folder, tmp_path, wrong, words):
    done = stepreel("run", folder / "take1.mp4", "-o", tmp_path / "out", *wrong)
    assert_one_clear_message(done, 2, words)
