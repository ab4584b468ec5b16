"""Progress as people see it: bars on a terminal, lines in a log, and honest estimates."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time

import pytest
from limits import HANG_SECONDS
from rich.console import Console
from rich.progress import Progress as RichProgress
from videos import busy_task, steady, write_video

from cli.commands import FAST, TRAINED, on_terminal, stepreel
from stepreel import find_key_steps
from stepreel.cli.progress import MOST_BARS, Stage, _BarReports, progress_lines
from stepreel.types import AtMost

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="opens a pseudo-terminal")


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    for number in (1, 2):
        write_video(folder / f"take{number}.mkv", steady(190), busy_task(number))
    return folder


def last_calls(*arguments, **options):
    """Return the last progress call of every stage."""
    calls = {}
    find_key_steps(
        *arguments,
        **options,
        extract__cues=["motion"],
        progress=lambda label, done, total: calls.update({label: (done, total)}),
    )
    return calls


def test_every_stage_ends_with_all_done(takes, tmp_path):
    files = [takes / "take1.mkv", takes / "take2.mkv"]
    learn = {"key_steps__decoder": "kmeans", "train__epochs": 4, "train__n_chunks": 16}
    calls = last_calls(files, cache=tmp_path, **learn)
    assert list(calls) == [
        "extracting 1 of 2: take1.mkv",
        "extracting 2 of 2: take2.mkv",
        "learning",
    ]
    assert all(done == total > 0 for done, total in calls.values())


def test_a_recording_that_is_cut_off_ends_with_all_done(takes, tmp_path):
    whole = (takes / "take1.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    calls = last_calls(tmp_path / "cut.mkv", cache=tmp_path / "cache")
    done, total = calls["extracting"]
    assert done == total < 6


def test_a_recording_that_cannot_be_read_to_its_end_does_not_leave_an_open_stage(takes, tmp_path):
    from stepreel.config import ExtractSettings
    from stepreel.errors import RecordingError
    from stepreel.features.sources import extract_recordings
    from stepreel.system.store import Store

    def refuse(recording):
        raise RecordingError("does not fit")

    calls = []
    loaded = extract_recordings(
        [takes / "take1.mkv"],
        ExtractSettings(cues=["motion"]),
        Store(tmp_path),
        check=refuse,
        progress=lambda *call: calls.append(call),
    )
    assert loaded.failures == {0: "does not fit"}
    assert calls[-1][1] == calls[-1][2]


def test_training_that_may_stop_early_says_so_and_ends_with_all_done(takes, tmp_path):
    calls = []
    find_key_steps(
        takes / "take1.mkv",
        cache=tmp_path,
        extract__cues=["motion"],
        key_steps__decoder="kmeans",
        train__n_chunks=16,
        train__epochs=2000,
        train__stop_when_settled=True,
        progress=lambda *call: calls.append(call),
    )
    learning = [(done, total) for label, done, total in calls if label == "learning"]
    assert learning[0] == (0, 2000)
    assert isinstance(learning[0][1], AtMost)
    assert learning[-1][0] == learning[-1][1] < 2000


def test_the_time_left_is_about_or_at_most_what_the_speed_so_far_gives():
    for total, words in [(100.0, "about 10 min left"), (AtMost(100), "at most 10 min left")]:
        stage = Stage("learning", done=40, total=total)  # resumed at 40
        assert stage.left == ""
        stage.began -= 290
        stage.report(60, total)  # 20 took 290 s, so the other 40 will take 580 s
        assert stage.left == words
        stage.report(60, 0)
        assert (stage.left, stage.percent) == ("", "")
        stage.report(100, 100)
        assert (stage.left, stage.percent, stage.is_finished) == ("", "100 %", True)


def test_the_time_spent_is_never_more_than_has_passed():
    stage = Stage("learning", done=0, total=0)
    stage.began -= 61
    assert stage.so_far == "1 min so far"


def test_a_hundred_percent_is_shown_only_at_the_end():
    stage = Stage("extracting", done=0, total=1000)
    stage.report(999.9, 1000)
    assert stage.percent == "99 %"


def test_only_the_latest_stages_have_bars():
    shown = RichProgress(console=Console(file=io.StringIO()))
    progress = _BarReports(shown)
    for number in range(30):
        progress(f"extracting {number + 1} of 30", 1, 2)
    assert len(shown.tasks) == MOST_BARS
    assert shown.tasks[-1].description == "extracting 30 of 30"
    progress("extracting 1 of 30", 2, 2)  # one that had to give way comes back
    assert shown.tasks[-1].finished


def test_a_log_gets_one_line_per_stage_and_none_if_quiet(takes, tmp_path):
    files = [takes / "take1.mkv", takes / "take2.mkv"]
    command = ["run", *files, *FAST, *TRAINED, "-o", tmp_path / "out"]
    done = stepreel(*command, cache=tmp_path / "a")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "stepreel: extracting 1 of 2: take1.mkv",
        "stepreel: extracting 2 of 2: take2.mkv",
        "stepreel: learning",
        "stepreel: copying video 1 of 2: take1.mkv",  # browsers cannot play Matroska
        "stepreel: copying video 2 of 2: take2.mkv",
    ]
    quiet = stepreel(*command, "--quiet", cache=tmp_path / "b")
    assert quiet.stderr == ""
    assert quiet.stdout == done.stdout


def test_waiting_is_announced_by_the_log_alone(capsys):
    with progress_lines(every_seconds=0.1) as progress:
        progress("waiting 1 of 2: a.mp4", 0, 0)
        progress("steps 1/3: waiting", 0, 0)
        assert capsys.readouterr().err == ""
        time.sleep(0.3)
    assert "stepreel: steps 1/3: waiting: 0 s so far\n" in capsys.readouterr().err


def test_a_stage_that_lasts_is_reported_regularly_until_it_ends(capsys):
    lines = []
    with progress_lines(every_seconds=0.05) as progress:
        progress("learning", 0, AtMost(300))
        progress("learning", 150, AtMost(300))
        deadline = time.monotonic() + HANG_SECONDS
        while len(lines) < 3 and time.monotonic() < deadline:
            lines += capsys.readouterr().err.splitlines()
            time.sleep(0.02)
        progress("learning", 150, 150)
        capsys.readouterr()
        time.sleep(0.3)
        assert capsys.readouterr().err == ""
    assert lines[0] == "stepreel: learning"
    assert re.fullmatch(r"stepreel: learning: 50 %, \d+ s so far, at most \d+ s left", lines[1]), (
        lines
    )


@pytest.mark.skipif(sys.platform != "linux", reason="writes to /dev/full")
def test_a_log_that_is_full_does_not_stop_the_work():
    code = (
        "import sys; from stepreel.cli.progress import progress_bar\n"
        "with progress_bar() as progress: progress('learning', 0, 1)\n"
        "print('finished')"
    )
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run([sys.executable, "-c", code], stderr=full, stdout=subprocess.PIPE)
    assert done.stdout == b"finished\n"


@needs_terminal
def test_finished_bars_end_at_a_hundred_percent_and_disappear(takes, tmp_path):
    command = [sys.executable, "-m", "stepreel", "run", takes / "take1.mkv", *FAST, *TRAINED]
    command += ["-o", tmp_path]
    status, shown, _ = on_terminal(*command, STEPREEL_CACHE=str(tmp_path / "cache"))
    assert status == 0, shown
    for stage in ("extracting", "learning"):
        assert re.findall(rf"{stage}.*? (\d+) %", shown)[-1] == "100"
    assert "stepreel: extracting" not in shown  # no lines beside the bars
    assert "storyboard.html" in shown


@needs_terminal
def test_results_reach_a_file_while_bars_are_on_the_terminal(takes, tmp_path):
    command = [sys.executable, "-m", "stepreel", "train", takes / "take1.mkv", *FAST, *TRAINED]
    status, shown, results = on_terminal(
        *command, "-o", tmp_path / "task", stdout_too=False, STEPREEL_CACHE=str(tmp_path)
    )
    assert status == 0, shown
    assert "kinds of step)" in results
    assert "kinds of step)" not in shown
