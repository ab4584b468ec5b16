from __future__ import annotations

import json

import cv2
import pytest
from boards import make_board
from videos import gray, steady, write_video

from cli.commands import FAST, stepreel
from stepreel.report import write_report
from stepreel.storyboard.editing import seal
from stepreel.storyboard.schema import read_storyboard


@pytest.fixture
def folder(tmp_path):
    """A storyboard as `stepreel run` writes it."""
    pictures = dict.fromkeys(range(1, 5), b"\xff\xd8 picture")
    write_report(seal(make_board()), tmp_path / "box", pictures=pictures, strip=b"\xff\xd8 strip")
    return tmp_path / "box"


def edit(folder, change):
    path = folder / "storyboard.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_render_shows_an_edit_on_the_page_and_in_every_export(folder):
    def change(content):
        content["steps"][0]["title"] = "Open <the> box"
        del content["steps"][2]

    edit(folder, change)
    done = stepreel("render", folder)
    assert done.returncode == 0, done.stderr
    assert "3 steps" in done.stdout
    assert "Open &lt;the&gt; box" in (folder / "storyboard.html").read_text()
    for file in ("steps.csv", "chapters.vtt", "chapters.ffmeta"):
        assert "box" in (folder / file).read_text()
    board = read_storyboard(folder / "storyboard.json")
    assert [step.index for step in board.steps] == [1, 2, 3]
    assert (folder / "pictures" / "step-03.jpg").exists()  # an edit can be taken back
    again = stepreel("render", folder / "storyboard.json")
    assert again.returncode == 0


def test_a_step_with_a_new_moment_gets_its_picture_from_the_recording(tmp_path):
    shades = [20, 120, 220]
    video = write_video(tmp_path / "shelf.mp4", steady(90), lambda i: gray(shades[i // 30]))
    done = stepreel("run", video, "-o", tmp_path / "out", *FAST, "-k", "2", cache=tmp_path / "c")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / "shelf"
    edit(folder, lambda content: content["steps"][0].update(start=0, time=0.5, end=0.9))
    edit(folder, lambda content: content["steps"].__delitem__(slice(1, None)))
    assert stepreel("render", folder).returncode == 0
    (step,) = read_storyboard(folder / "storyboard.json").steps
    picture = cv2.imread(str(folder / step.picture))
    assert step.picture.endswith("-at-0.50s.jpg")
    assert abs(float(picture.mean()) - 20) < 8

    video.unlink()
    edit(folder, lambda content: content["steps"][0].update(time=0.75))
    done = stepreel("render", folder)
    assert done.returncode == 0
    assert "no picture of their moment" in done.stderr
    assert read_storyboard(folder / "storyboard.json").steps[0].picture is None


def test_render_names_what_does_not_fit_the_schema_and_does_the_rest(folder, tmp_path):
    edit(folder, lambda content: content["steps"][0].update(time="soon"))
    before = (folder / "storyboard.html").read_bytes()
    write_report(seal(make_board()), tmp_path / "good", pictures={}, strip=None)
    done = stepreel("render", folder, tmp_path / "good", tmp_path / "missing.json")
    assert done.returncode == 1
    assert "steps, item 1, time" in done.stderr
    assert "stepreel schema" in done.stderr
    assert "missing.json" in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "storyboard.html").read_bytes() == before
