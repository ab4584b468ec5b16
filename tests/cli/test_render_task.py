"""`stepreel render` of several recordings of a task, their index, names and videos."""

from __future__ import annotations

import json

import pytest
from boards import make_board, pictures_of
from videos import gray_steps, steady, write_video

from cli.commands import stepreel
from cli.test_render import edit
from stepreel.report import write_index, write_report
from stepreel.report.video import EMBEDDED_FILE, PROXY_FILE, with_playable_video
from stepreel.storyboard.editing import is_edited, seal
from stepreel.storyboard.schema import read_storyboard
from stepreel.video.decode import probe


@pytest.fixture
def task(tmp_path):
    """Two recordings in an order that is not alphabetical, and one that failed."""
    boards = [(name, seal(make_board(title=name))) for name in ("two", "one")]
    for name, board in boards:
        write_report(board, tmp_path / "out" / name, pictures=pictures_of(board), strip=None)
    write_index(tmp_path / "out", boards, failed=[("r9.mp4", "no video stream <b>")])
    return tmp_path / "out"


def index_of(task):
    return (task / "index.html").read_text(encoding="utf-8")


def test_the_index_above_follows_an_edit_and_keeps_order_and_failures(task):
    edit(task / "one", lambda content: content["steps"].__delitem__(slice(1, None)))
    edit(task / "one", lambda content: content["steps"][0].update(title="Open the box"))
    done = stepreel("render", "storyboard.json", cwd=task / "one")
    assert done.returncode == 0, done.stderr
    assert "all recordings: ../index.html\n" in done.stdout
    page = index_of(task)
    assert "Open the box" in page
    assert page.index("./two/storyboard.html") < page.index("./one/storyboard.html")
    assert "no video stream &lt;b&gt;" in page
    before = page
    assert stepreel("render", task / "one").returncode == 0
    assert index_of(task) == before


def test_paths_are_printed_in_the_form_in_which_they_were_given(task):
    (task.parent / "link").symlink_to(task / "one")
    for given, page, index in [
        ("out/one", "out/one/storyboard.html", "out/index.html"),
        (task / "one", task / "one" / "storyboard.html", task / "index.html"),
        ("link", "link/storyboard.html", task / "index.html"),
    ]:
        done = stepreel("render", given, cwd=task.parent)
        assert done.stdout.splitlines()[1:] == [
            *(f"  storyboard: {page}", f"all recordings: {index}"),
        ]


def test_the_index_names_what_cannot_be_read_now_and_finds_it_again(task):
    before = index_of(task)
    good = (task / "two" / "storyboard.json").read_text()
    (task / "two" / "storyboard.json").write_text("{")
    assert stepreel("render", task / "one").returncode == 0
    assert "Key steps of 1 recording" in index_of(task)
    assert "not a storyboard" in index_of(task)
    (task / "two" / "storyboard.json").write_text(good)
    assert stepreel("render", task / "one").returncode == 0
    assert index_of(task) == before


def test_a_page_of_somebody_else_is_left_alone(task):
    (task / "index.html").write_text("<title>My site</title>")
    assert stepreel("render", task / "one").returncode == 0
    assert index_of(task) == "<title>My site</title>"


def test_an_index_that_cannot_be_made_again_is_reported(task):
    (task / "index.html").write_text("<title>Key steps of 2 recordings</title>")
    done = stepreel("render", task / "one")
    assert done.returncode == 1
    assert "run all its recordings in one command" in done.stderr


def test_the_folder_of_a_task_stands_for_all_its_storyboards(task, tmp_path):
    (tmp_path / "titles.csv").write_text("A,Open the box\nQ,Never\n")
    done = stepreel("render", task, "--titles", tmp_path / "titles.csv")
    assert done.returncode == 0, done.stderr
    for name in ("one", "two"):
        board = read_storyboard(task / name / "storyboard.json")
        expected = {0: "Open the box", 1: "Step 2", 2: "Step 4"}
        assert [s.title for s in board.steps] == [expected[s.cluster] for s in board.steps]
        assert "kind Q" not in str(board.notes)
        assert is_edited(board)  # or `stepreel run` would overwrite the names
        for file in ("storyboard.html", "steps.csv", "steps.md", "chapters.vtt"):
            assert "Open the box" in (task / name / file).read_text(), file
    assert "Open the box" in index_of(task)
    unused = "stepreel: titles.csv: names kind Q, found in none of the recordings"
    assert done.stderr.splitlines().count(unused) == 1


def test_a_kind_that_only_one_of_several_recordings_has_is_no_problem(task, tmp_path):
    edit(task / "two", lambda content: content["steps"].pop())  # the only step of kind C
    (tmp_path / "titles.csv").write_text("C,Close the box\n")
    done = stepreel("render", task, "--titles", tmp_path / "titles.csv")
    assert (done.returncode, "kind C" in done.stderr + done.stdout) == (0, False)
    notes = [read_storyboard(task / name / "storyboard.json").notes for name in ("one", "two")]
    assert "kind C" not in str(notes)


def test_titles_that_the_only_recording_lacks_are_noted_and_printed(task, tmp_path):
    (tmp_path / "titles.csv").write_text("A,Open the box\nQ,Never\n")
    done = stepreel("render", task / "one", "--titles", tmp_path / "titles.csv")
    note = "Not found in this recording, but named in titles.csv: kind Q."
    assert read_storyboard(task / "one" / "storyboard.json").notes[-1] == note
    assert f"  note: {note}\n" in done.stdout
    assert "found in none" not in done.stderr


def test_numbers_of_steps_name_the_steps_of_one_recording_only(task, tmp_path):
    (tmp_path / "titles.csv").write_text("2,Turn it\n")
    refused = stepreel("render", task, "--titles", tmp_path / "titles.csv")
    assert refused.returncode == 2
    assert "there are 2 recordings" in refused.stderr
    assert stepreel("render", task / "one", "--titles", tmp_path / "titles.csv").returncode == 0
    assert read_storyboard(task / "one" / "storyboard.json").steps[1].title == "Turn it"


def test_a_folder_without_storyboards_is_named(tmp_path):
    done = stepreel("render", tmp_path)
    assert done.returncode == 2
    assert "there is no storyboard.json in it" in done.stderr


@pytest.mark.parametrize(("choice", "file"), [("embed", EMBEDDED_FILE), ("proxy", PROXY_FILE)])
def test_a_missing_copy_of_the_video_is_reported_and_not_offered(tmp_path, choice, file):
    video = write_video(tmp_path / "box.mp4", steady(30), gray_steps)
    folder = tmp_path / "out"
    board = make_board([(0, 0.5, 1, 0)], duration=1.0)
    board = seal(with_playable_video(board, probe(video), folder, choice))
    write_report(board, folder, pictures=pictures_of(board), strip=None)
    whole = (folder / "storyboard.html").read_text()
    stored = json.loads((folder / "storyboard.json").read_text())
    (folder / file).rename(tmp_path / file)

    done = stepreel("render", folder)
    assert done.returncode == 0
    assert f"{file}, the " in done.stderr
    assert "is missing" in done.stderr
    page = (folder / "storyboard.html").read_text()
    assert "No video to play" in page
    assert " src=" not in page.split("<video")[1].split(">")[0]
    assert json.loads((folder / "storyboard.json").read_text()) == stored

    (tmp_path / file).rename(folder / file)
    assert stepreel("render", folder).stderr == ""
    assert (folder / "storyboard.html").read_text() == whole


def test_a_recording_that_is_not_there_is_reported_and_stays_linked(tmp_path):
    video = write_video(tmp_path / "take 1.mp4", steady(30), gray_steps)
    board = make_board([(0, 0.5, 1, 0)], duration=1.0, file="../take 1.mp4")
    board = seal(with_playable_video(board, probe(video), tmp_path / "out", "link"))
    write_report(board, tmp_path / "out", pictures=pictures_of(board), strip=None)
    assert stepreel("render", tmp_path / "out").stderr == ""
    video.unlink()
    assert "the recording take 1.mp4 is not there" in stepreel("render", tmp_path / "out").stderr
    assert 'src="../take%201.mp4"' in (tmp_path / "out" / "storyboard.html").read_text()


def test_kinds_cannot_be_named_where_one_storyboard_does_not_say_what_it_shares(task, tmp_path):
    edit(task / "two", lambda content: content.update(clustering_id="known"))
    edit(task / "one", lambda content: content.update(clustering_id=""))
    (tmp_path / "titles.csv").write_text("A,Open the box\n")
    done = stepreel("render", task, "--titles", tmp_path / "titles.csv")
    assert done.returncode == 2
    assert "are of different runs" in done.stderr
    assert "Open the box" not in (task / "one" / "storyboard.json").read_text()
