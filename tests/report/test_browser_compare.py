"""The page of a comparison in a real Chromium: what a click plays, and the layouts."""

from __future__ import annotations

from pathlib import Path

import pytest
from boards import as_features, pictures_of
from browsing import Opened
from compared_takes import board_of

from stepreel.comparison.run import compare_takes
from stepreel.report import write_report

pytestmark = pytest.mark.browser

ORDERS = {"take1": "ABCD", "take2": "ABCD", "take3": "ACBD", "take4": "ABD"}


@pytest.fixture
def open_takes(browser, tmp_path: Path):
    """Return a function that writes takes and their comparison, and opens it."""
    opened: list[Opened] = []

    def open_it(make=lambda board: board, orders=ORDERS, **options) -> Opened:
        out = tmp_path / "out"
        for name, order in orders.items():
            board = make(board_of(order, title=name, file=f"../../{name}.mp4"))
            write_report(board, out / name, pictures=pictures_of(board), strip=None)
        compare_takes(out, out)
        opened.append(Opened(browser, out / "compare.html", **options))
        return opened[-1]

    yield open_it
    for page in opened:
        page.context.close()


@pytest.fixture
def with_videos(open_takes, place_video):
    def open_it(**options) -> Opened:
        for name in ORDERS:
            place_video(f"{name}.mp4")
        opened = open_takes(**options)
        opened.value("video.muted = true")
        return opened

    return open_it


def test_a_click_on_a_picture_plays_that_step_of_that_take_and_stops_at_its_end(with_videos):
    opened = with_videos()
    opened.page.click(".cell[data-play='2:1']")  # take3 does C from 4 to 8 s
    opened.wait_for("video.currentSrc.endsWith('/take3.mp4') && video.currentTime >= 4")
    assert opened.value("video.currentTime") < 8.5
    opened.wait_for_text("#dock-words", "take3 · C · 0:04.0 – 0:08.0")
    opened.value("video.currentTime = 7.6")  # a seek of the reader's own cancels the end
    opened.page.click(".cell[data-play='3:0']")
    opened.wait_for("video.currentSrc.endsWith('/take4.mp4')")
    opened.wait_for("video.paused && video.currentTime >= 3.9 && video.currentTime < 5")
    assert {url.split(":")[0] for url in opened.requests} <= {"file", "data"}
    assert opened.complaints == []


def test_the_same_step_of_the_next_take_is_one_click_away(with_videos):
    opened = with_videos()
    opened.page.click(".cell[data-play='1:2']")  # C, which take4 skips
    opened.page.click("#later-take")
    opened.wait_for_text("#dock-words", "take3 · C · 0:04.0 – 0:08.0")
    opened.page.click("#later-take")
    opened.wait_for_text("#dock-words", "take1 · C · 0:08.0 – 0:12.0")
    opened.wait_for("video.currentSrc.endsWith('/take1.mp4') && video.currentTime >= 8")
    href = opened.value("document.getElementById('dock-page').getAttribute('href')")
    assert href == "./take1/storyboard.html#step-3"
    opened.page.keyboard.press("Escape")
    opened.wait_for("document.getElementById('dock').hidden && video.paused")


def test_a_departure_plays_the_step_it_is_about(with_videos):
    opened = with_videos()
    opened.page.click(".said [data-play='2:1']")
    opened.wait_for("video.currentSrc.endsWith('/take3.mp4') && video.currentTime >= 4")


def left_edge(opened: Opened, play: str) -> float:
    rect = f"document.querySelector(\"#lanes [data-play='{play}'] .body\")"
    return opened.value(f"{rect}.getBoundingClientRect().left")


def test_the_switch_puts_the_same_steps_below_each_other(with_videos):
    opened = with_videos(viewport={"width": 1200, "height": 900})
    # D is the fourth step of take1, and the third one of take4.
    assert left_edge(opened, "0:3") > left_edge(opened, "3:2") + 50
    opened.page.click("[data-layout='2']")
    opened.wait_for("document.getElementById('lanes').dataset.shown === '2'")
    assert left_edge(opened, "0:3") == pytest.approx(left_edge(opened, "3:2"), abs=1)
    assert opened.page.is_visible("[data-axis='2']")
    assert not opened.page.is_visible("[data-axis='0']")
    opened.page.click("[data-layout='1']")
    opened.wait_for("document.getElementById('lanes').dataset.shown === '1'")
    width = "document.querySelectorAll('.lane .rail')[3].getBoundingClientRect().width"
    assert opened.value(width) == pytest.approx(
        opened.value("document.querySelector('#lanes .wide').clientWidth"), abs=1
    )


def test_timelines_are_used_with_the_keyboard(with_videos):
    opened = with_videos()
    opened.value("document.querySelector('#lanes [data-play=\"3:0\"]').focus()")
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Enter")
    opened.wait_for("video.currentSrc.endsWith('/take4.mp4') && video.currentTime >= 4")
    assert opened.value("document.querySelectorAll('.lane [tabindex=\"0\"]').length") == 4


def test_without_the_video_its_picture_is_shown_and_its_page_linked(open_takes):
    opened = open_takes()
    opened.page.click(".cell[data-play='0:1']")
    opened.wait_for("!document.getElementById('missing').hidden")
    assert "could not be shown" in opened.page.inner_text("#missing")
    assert opened.value("document.getElementById('still').src.startsWith('data:image/jpeg')")
    assert opened.page.is_visible("#dock-page")


@pytest.mark.parametrize("selector", [".cell", "#lanes .bar"])
def test_a_step_of_a_take_without_video_leads_to_it_on_the_page_of_the_take(open_takes, selector):
    opened = open_takes(as_features)
    assert opened.value("document.querySelectorAll('[data-play]').length") == 0
    opened.page.locator(f"{selector}[href*='take1/'][href$='#step-2']").first.click()
    opened.page.wait_for_url("**/take1/storyboard.html#step-2")
    assert opened.complaints == []


def test_a_departure_of_a_take_without_video_is_shown_not_played(open_takes):
    opened = open_takes(as_features)
    assert opened.page.inner_text(".said .show >> nth=0") == "Show"
    assert opened.value("document.querySelectorAll('.play svg').length") == 0
    assert opened.page.is_hidden("#dock")


def test_timelines_of_takes_without_video_are_used_with_the_keyboard(open_takes):
    opened = open_takes(as_features)
    opened.value(
        "document.querySelector('#lanes [href$=\"take4/storyboard.html#step-1\"]').focus()"
    )
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_url("**/take4/storyboard.html#step-2")


@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_is_never_wider_than_the_window(open_takes, width):
    opened = open_takes(viewport={"width": width, "height": 900})
    for layout in range(3):
        opened.page.click(f"[data-layout='{layout}']")
        assert opened.value("document.documentElement.scrollWidth") == width


def width_of(opened: Opened, selector: str) -> list[float]:
    elements = f'[...document.querySelectorAll("{selector}")]'
    return opened.value(f"{elements}.map((one) => one.getBoundingClientRect().width)")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("make", [lambda board: board, as_features], ids=["videos", "features"])
def test_the_column_of_letters_is_narrow_and_all_takes_are_equally_wide(open_takes, make, width):
    opened = open_takes(make, viewport={"width": width, "height": 900})
    assert width_of(opened, ".matrix thead th:first-child")[0] <= 70
    columns = width_of(opened, ".matrix thead th:not(:first-child)")
    assert columns == pytest.approx([columns[0]] * 4, abs=1)
    assert 90 <= columns[0] <= 260


def test_the_letters_of_the_table_stay_in_view_beside_many_takes(open_takes):
    opened = open_takes(viewport={"width": 390, "height": 900})
    before = opened.value("document.querySelector('.matrix tbody th').getBoundingClientRect().left")
    opened.value("document.querySelector('.matrix-scroller').scrollLeft = 150")
    opened.wait_for_value("document.querySelector('.matrix-scroller').scrollLeft", 150)
    assert before == opened.value(
        "document.querySelector('.matrix tbody th').getBoundingClientRect().left"
    )


@pytest.mark.parametrize("width", [390, 1440])
def test_all_arrows_are_in_view_however_many_there_are(open_takes, width):
    orders = ["ABCDEFG", "ABCDEFG", "GFEDCBA", "ADGCFBE", "CAEBGDF", "FCAGEBD"]
    named = {f"take{number}": order for number, order in enumerate(orders)}
    opened = open_takes(orders=named, viewport={"width": width, "height": 900})
    panel = "document.querySelector('.graph-panel')"
    assert opened.value(f"{panel}.scrollWidth <= {panel}.clientWidth")
    outer, inner = box(opened, ".graph-panel"), box(opened, ".graph")
    assert outer["left"] <= inner["left"] < inner["right"] <= outer["right"]


def box(opened: Opened, selector: str) -> dict[str, float]:
    return opened.value(f"document.querySelector('{selector}').getBoundingClientRect().toJSON()")


def test_where_a_skipped_step_would_be_is_said_beside_what_is_played(with_videos):
    opened = with_videos()
    opened.page.click(".said [data-play='3:1']")  # take4 does A, B, D
    place = "C would be here, after B (0:04) and before D (0:08)"
    opened.wait_for_text("#dock-note", place)
    assert place in opened.page.inner_text("#departures")
    opened.page.click(".cell[data-play='3:1']")
    opened.wait_for("document.getElementById('dock-note').hidden")
    assert opened.complaints == []


def unclear_in_take4(board):
    """Make all steps of take4 unclear: what is said of it is uncertain."""
    if board.title != "take4":
        return board
    steps = [step.model_copy(update={"confidence": 0.1}) for step in board.steps]
    return board.model_copy(update={"steps": steps})


def test_what_is_uncertain_is_folded_behind_what_is_clear_below_the_timelines(open_takes):
    opened = open_takes(unclear_in_take4)
    assert "1 of 4 takes departs" in opened.page.inner_text("#departures-title")
    assert opened.page.inner_text(".doubts > summary") == "1 uncertain departure"
    skipped = ".said [data-play='3:1']"
    assert opened.page.is_visible(".said [data-play='2:1']")
    assert opened.page.is_hidden(skipped)
    assert box(opened, "#lanes")["bottom"] < box(opened, "#departures")["top"]
    opened.page.focus(".doubts > summary")
    opened.page.keyboard.press("Enter")
    assert opened.page.is_visible(skipped)


def test_paper_shows_what_is_folded_and_nothing_to_press(open_takes):
    opened = open_takes(unclear_in_take4, viewport={"width": 794, "height": 1100})
    opened.page.click(".cell[data-play='0:1']")
    opened.wait_for("!document.getElementById('dock').hidden")
    opened.page.emulate_media(media="print")
    opened.value("dispatchEvent(new Event('beforeprint'))")
    assert "Skips C" in opened.page.inner_text(".doubts")
    for control in ("#dock", "#theme", ".switch", ".said .play"):
        assert opened.page.locator(f"{control}:visible").count() == 0
    assert opened.value("document.documentElement.scrollWidth") == 794
    opened.value("dispatchEvent(new Event('afterprint'))")
    assert not opened.value("document.querySelector('.doubts').open")
