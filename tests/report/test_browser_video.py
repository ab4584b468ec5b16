"""Videos of every kind in a real Chromium: what plays is offered, and nothing else."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest
from boards import make_board, pictures_of
from browsing import Opened, eventually
from videos import gray, write_video

from stepreel.report import write_report
from stepreel.report.video import PROXY_FILE, with_playable_video
from stepreel.types import readable
from stepreel.video.decode import probe
from stepreel.video.moments import walk_moments

pytestmark = pytest.mark.browser

STEPS = ((0.0, 1.0, 2.0, 0), (2.0, 2.5, 4.0, 1), (4.0, 4.75, 6.0, 2))


@pytest.fixture
def open_recording(browser, tmp_path: Path):
    """Return a function that writes a recording, its page, and opens the page."""
    opened: list[Opened] = []

    def open_it(name, choice="link", *, before=lambda folder: None, mail=False, **options):
        # The frames of a variable rate lie at 0.1 s, then at 0.3 s.
        times = [i / 10 for i in range(30)] + [3.0 + 0.3 * i for i in range(11)]
        path = write_video(tmp_path / name, times, numbered, **options)
        folder = tmp_path / "out"
        before(folder)
        board = make_board(STEPS, duration=6.3, file="../" + readable(path.name), size=(128, 96))
        board = with_playable_video(board, probe(path), folder, choice)
        write_report(board, folder, pictures=pictures_of(board), strip=None)
        page = folder / "storyboard.html"
        if mail:
            (tmp_path / "mail").mkdir()
            page = Path(shutil.copy(page, tmp_path / "mail" / "page.html"))
            shutil.rmtree(folder)
            path.rename(tmp_path / "elsewhere")
            path = tmp_path / "elsewhere"
        opened.append(Opened(browser, page))
        opened[-1].recording = path
        return opened[-1]

    yield open_it
    for page in opened:
        page.context.close()


def numbered(number: int) -> np.ndarray:
    """Paint a frame in a gray level that tells its number."""
    return gray(20 + 5 * number, width=128, height=96)


def shown_level(opened: Opened) -> float:
    """Return the gray level that the video shows, as the browser paints it."""
    picture = opened.page.locator("#video").screenshot()
    decoded = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_GRAYSCALE)
    height, width = decoded.shape
    return float(decoded[height // 4 : height // 2, width // 3 : width // 2].mean())


def is_playing_offered(opened: Opened) -> bool:
    return opened.page.is_visible("[data-play='1']")


HEVC = {"codec": "libx265", "options": {"x265-params": "log-level=none"}}


@pytest.mark.parametrize(
    ("name", "choice", "options"),
    [
        ("take.mp4", "link", {}),
        ("take.mov", "link", HEVC),
        ("late.mkv", "link", {"audio_start": 0.0}),
        ("take.mp4", "embed", {}),
        ("take.mp4", "copy", {}),
    ],
)
def test_a_click_on_a_step_shows_the_picture_of_that_moment(open_recording, name, choice, options):
    opened = open_recording(name, choice, **options)
    opened.wait_for("video.readyState >= 2 && video.videoWidth > 0")
    assert is_playing_offered(opened)
    moments = {m.time: m.rgb.mean() for m in walk_moments(probe(opened.recording), rate=4)}
    for index, (_, time, _, _) in enumerate(STEPS, start=1):
        opened.page.click(f"#step-{index} .go")
        # A busy browser paints the new frame long after it has sought it.
        level = partial(shown_level, opened)
        eventually(opened.page, level, pytest.approx(moments[time], abs=6))
    assert opened.complaints == []


def test_the_page_says_why_it_shows_a_copy(open_recording):
    opened = open_recording("take.mov", **HEVC)
    opened.wait_for("video.readyState >= 1")
    assert "because browsers cannot play HEVC" in opened.page.inner_text("#which")
    assert not opened.page.is_visible("#missing")


def test_a_mailed_page_plays_the_video_inside_it(open_recording):
    opened = open_recording("take.mov", "embed", mail=True, **HEVC)
    opened.wait_for("video.readyState >= 1")
    opened.value("video.muted = true")
    opened.page.click("[data-play='2']")
    opened.wait_for("video.paused && video.currentTime > 3.5")
    assert "inside the page" in opened.page.inner_text("#which")
    assert {url.split(":")[0] for url in opened.requests} <= {"file", "data"}
    assert opened.complaints == []


def test_a_mailed_page_without_its_copy_offers_no_play(open_recording):
    opened = open_recording("take.mov", "link", mail=True, **HEVC)
    opened.wait_for("!document.getElementById('missing').hidden")
    assert not is_playing_offered(opened)
    assert PROXY_FILE in opened.page.inner_text("#missing")


def test_a_recording_without_a_playable_copy_offers_no_play_until_one_is_chosen(
    open_recording, place_video
):
    opened = open_recording(
        "take.mov", before=lambda folder: (folder / PROXY_FILE / "x").mkdir(parents=True), **HEVC
    )
    opened.wait_for("!document.getElementById('missing').hidden")
    assert "No video to play" in opened.page.inner_text("#missing")
    assert "cannot play HEVC" in opened.page.inner_text("#missing")
    assert opened.page.is_visible("#choose")
    assert not is_playing_offered(opened)
    opened.page.keyboard.press("?")
    opened.wait_for("shortcuts.open")
    assert "next step" in opened.page.inner_text("#shortcuts")
    assert "Space" not in opened.page.inner_text("#shortcuts")
    opened.page.keyboard.press("Escape")
    opened.wait_for("!shortcuts.open")
    opened.page.set_input_files("#chosen", str(place_video("elsewhere.mp4")))
    opened.wait_for("!document.getElementById('video').hidden")
    assert is_playing_offered(opened)


def test_a_link_to_what_the_browser_cannot_play_after_all_offers_no_play(open_recording):
    opened = open_recording("take.mp4")
    opened.recording.write_bytes(b"no longer a video" * 100)
    opened.page.reload()
    opened.wait_for("!document.getElementById('missing').hidden")
    assert not is_playing_offered(opened)
    assert opened.page.is_visible("#choose")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_not_utf8_is_found(open_recording):
    opened = open_recording(os.fsdecode(b"take \xff\xfe.mp4"))
    opened.wait_for("video.readyState >= 1")
    assert opened.value("video.videoWidth") == 128
