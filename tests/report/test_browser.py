"""What a person does with the page, done in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from boards import as_features, make_board, pictures_of, with_background
from browsing import Opened, eventually

from stepreel.report import write_index, write_report
from stepreel.storyboard.schema import Likeness, StepExplanation

pytestmark = pytest.mark.browser

NASTY = "a \"b\" 'c' #1 50% d?<script>window.hacked=1<&script>.mp4"


CURRENT = "document.querySelector('.card[aria-current]')?.id"


def wait_for_time(opened: Opened, seconds: float) -> None:
    """Wait until the video has been moved to a time."""
    opened.wait_for_value("video.currentTime", pytest.approx(seconds, abs=0.1))


def test_a_click_on_a_step_shows_its_moment_and_marks_it(with_video):
    opened = with_video(make_board())
    opened.page.click("#step-3", position={"x": 60, "y": 60})
    wait_for_time(opened, 12.0)
    opened.wait_for_value(CURRENT, "step-3")
    opened.wait_for_text("#now-detail", "Step 3 of 4 · 0:10.0 – 0:14.0")


def test_times_are_shifted_for_a_video_whose_picture_starts_late(with_video):
    opened = with_video(make_board(offset=0.5))
    opened.page.click("#step-2 .go")
    wait_for_time(opened, 6.5)


def test_a_click_on_the_timeline_seeks_and_hovering_previews(with_video):
    opened = with_video(make_board(titles=["Fold"]))
    box = opened.page.locator("#timeline").bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + 40)
    opened.wait_for_text("#preview", "0:02 1 · Fold")
    assert "data:image/jpeg" in opened.value(
        "getComputedStyle(document.getElementById('preview-picture')).backgroundImage"
    )
    opened.page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 40)
    wait_for_time(opened, 15.0)
    spoken = "document.getElementById('timeline').ariaValueText"
    opened.wait_for_value(spoken, "0:15 of 0:20, step 4: Step 4")


def test_a_link_to_a_step_that_looks_alike_goes_there(with_video):
    board = make_board()
    found = StepExplanation(looks_like=[Likeness(step=4, similarity=0.75)])
    first = board.steps[0].model_copy(update={"explanation": found})
    opened = with_video(board.model_copy(update={"steps": [first, *board.steps[1:]]}))
    opened.page.click("#step-1 .why a")
    wait_for_time(opened, 17.0)
    opened.wait_for_value(CURRENT, "step-4")


def test_keys_go_through_the_steps_and_along_the_timeline(with_video):
    opened = with_video(make_board())
    keys = ["j", "j", "ArrowRight", "k", "4"]
    for key, seconds in zip(keys, [6, 12, 17, 12, 17], strict=True):
        opened.page.keyboard.press(key)
        wait_for_time(opened, seconds)
    opened.page.focus("#timeline")
    opened.page.keyboard.press("ArrowLeft")
    wait_for_time(opened, 16)
    opened.page.keyboard.press("Shift+ArrowLeft")
    wait_for_time(opened, 6)
    opened.page.keyboard.press("?")
    opened.wait_for("shortcuts.open")


def test_enter_on_a_focused_card_goes_to_its_step(with_video):
    opened = with_video(make_board())
    opened.page.focus("#step-2 .go")
    opened.page.keyboard.press("Enter")
    wait_for_time(opened, 6)


def test_playing_a_step_plays_it_from_start_to_end_and_marks_it(with_video):
    opened = with_video(make_board([(0, 1, 4, 0), (4, 4.4, 5, 1), (5, 9, 20, 2)]))
    opened.value("document.getElementById('video').muted = true")
    # The step is marked only while it is played, which a busy machine may look at too late.
    opened.value("""void new MutationObserver(() => { window.wasMarked = true })
        .observe(document.getElementById("step-2"), { attributeFilter: ["aria-current"] })""")
    opened.page.click("[data-play='2']")
    opened.wait_for("window.wasMarked")
    opened.wait_for("document.getElementById('video').paused && video.currentTime > 4.5")
    # A busy browser stops late, but it does not play on to the end.
    assert 4.9 < opened.value("video.currentTime") < 15


def test_a_missing_video_is_explained_and_the_steps_still_work(open_board, place_video):
    opened = open_board(make_board())
    opened.wait_for("!document.getElementById('missing').hidden")
    assert "../box.mp4" in opened.page.inner_text("#missing")
    opened.page.click("#step-3", position={"x": 60, "y": 60})
    opened.wait_for("still.src === document.querySelector('#step-3 img').src && !still.hidden")

    opened.page.set_input_files("#chosen", str(place_video("elsewhere.mp4")))
    opened.wait_for("!document.getElementById('video').hidden")
    assert not opened.page.is_visible("#missing")
    wait_for_time(opened, 12.0)
    assert not opened.page.is_visible("#mismatch")


def test_another_recording_is_noticed(open_board, place_video):
    opened = open_board(make_board(duration=95.0))
    opened.wait_for("!document.getElementById('missing').hidden")
    opened.page.set_input_files("#chosen", str(place_video("elsewhere.mp4")))
    opened.wait_for("!document.getElementById('mismatch').hidden")
    assert "lasts 0:20" in opened.page.inner_text("#mismatch")


def test_a_file_that_is_not_a_video_is_explained(open_board, tmp_path: Path):
    opened = open_board(make_board())
    opened.wait_for("!document.getElementById('missing').hidden")
    (tmp_path / "notes.mp4").write_text("not a video")
    opened.page.set_input_files("#chosen", str(tmp_path / "notes.mp4"))
    opened.wait_for("document.getElementById('missing').innerText.includes('notes.mp4 could not')")


def test_nothing_is_run_or_fetched_but_the_page_and_its_video(with_video):
    board = make_board(
        titles=["<img src=x onerror=window.hacked=1>"], file=f"../{NASTY}", title=NASTY
    )
    opened = with_video(with_background(board))
    box = opened.page.locator("#timeline").bounding_box()
    opened.page.mouse.move(box["x"] + 30, box["y"] + 40)
    opened.page.click("#step-1 .go")
    opened.page.click("#theme")
    assert opened.value("window.hacked") is None
    assert opened.complaints == []
    assert {url.split(":")[0] for url in opened.requests} <= {"file", "data"}
    assert opened.page.inner_text("h1") == NASTY


def test_light_and_dark_differ_and_the_choice_is_remembered(open_board):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (
        open_board(make_board(), color_scheme=scheme).value(background)
        for scheme in ("light", "dark")
    )
    assert light != dark
    opened = open_board(make_board(), color_scheme="light")
    opened.page.click("#theme")
    opened.wait_for(f"{background} === '{dark}'")

    # The page stays open: one that is loaded again at once may lose what it has just stored.
    def remembered():
        again = opened.context.new_page()
        again.goto(opened.page.url)
        color = again.evaluate(background)
        again.close()
        return color

    eventually(opened.page, remembered, dark)


def test_the_page_works_where_storage_is_denied(open_board):
    opened = open_board(make_board())
    opened.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied') }})"
    )
    opened.page.reload()
    opened.page.click("#theme")
    opened.wait_for("document.documentElement.dataset.theme === 'dark'")


def test_paper_shows_the_steps_but_no_video_and_no_buttons(open_board):
    opened = open_board(make_board(), color_scheme="dark")
    opened.page.emulate_media(media="print")
    assert not opened.page.is_visible(".screen")
    assert not opened.page.is_visible(".actions")
    assert opened.page.is_visible("#step-4 img")
    assert opened.page.is_visible(".timeline svg")
    assert opened.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_chapters_are_copied_or_shown_for_copying(open_board):
    opened = open_board(make_board())
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.page.click("[data-copy=webvtt]")
    opened.wait_for("document.getElementById('toast').textContent.startsWith('Copied')")
    assert opened.value("navigator.clipboard.readText()").startswith("WEBVTT")

    opened.value("void (navigator.clipboard.writeText = () => Promise.reject(new Error('denied')))")
    opened.page.click("[data-copy=youtube]")
    opened.wait_for("document.getElementById('copy-dialog').open")
    assert opened.value("getSelection().toString()").startswith("0:00 ")


@pytest.mark.parametrize("shape", ["landscape", "portrait", "features"])
@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_nothing_sticks_out_of_the_window(open_board, shape, width):
    titles = ["Donaudampfschifffahrt" * 12, "مرحبا " * 30, "🧰 " * 40]
    size = (180, 320) if shape == "portrait" else (320, 180)
    board = make_board(titles=titles, title="w" * 300, size=size)
    board = as_features(board) if shape == "features" else board
    opened = open_board(board, viewport={"width": width, "height": 800})
    assert opened.value("document.documentElement.scrollWidth") == width
    cards = opened.value(
        "[...document.querySelectorAll('.card')].map(c => [c.scrollWidth, c.clientWidth])"
    )
    assert all(needed <= available for needed, available in cards)


def wait_for_position(opened: Opened, seconds: float) -> None:
    """Wait until the playhead is at a time."""
    place = "Number(document.getElementById('timeline').ariaValueNow)"
    opened.wait_for_value(place, pytest.approx(seconds, abs=0.1))


def test_cards_timeline_and_keys_move_through_features(open_board):
    opened = open_board(as_features(make_board()))
    opened.page.click("#step-3 .go")
    wait_for_position(opened, 12)
    opened.wait_for_value(CURRENT, "step-3")
    opened.wait_for_text("#now-detail", "Step 3 of 4 · 0:10.0 – 0:14.0")
    box = opened.page.locator("#timeline").bounding_box()
    opened.page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 40)
    wait_for_position(opened, 15)
    opened.wait_for_value(CURRENT, "step-4")
    for key, seconds in zip(["k", "k", "j", "1"], [12, 6, 12, 2], strict=True):
        opened.page.keyboard.press(key)
        wait_for_position(opened, seconds)
    opened.page.click("#step-1 [data-go='3']")
    wait_for_position(opened, 12)
    assert opened.complaints == []


def test_features_have_no_keys_and_no_help_for_playing(open_board):
    opened = open_board(as_features(make_board()))
    opened.page.click("#step-2 .go")
    opened.value("document.activeElement.blur()")
    wait_for_position(opened, 6)
    for key in ["Enter", "Space", "j"]:  # only the last one does something
        opened.page.keyboard.press(key)
    wait_for_position(opened, 12)
    opened.page.keyboard.press("?")
    opened.wait_for("shortcuts.open")
    keys = opened.value("[...document.querySelectorAll('#shortcuts kbd')].map(k => k.innerText)")
    assert {"Enter", "Space"}.isdisjoint(keys)
    assert opened.complaints == []


def test_the_preview_of_features_is_text_in_one_piece_at_both_ends(open_board):
    opened = open_board(as_features(make_board(titles=["Fold"])))
    box = opened.page.locator("#timeline").bounding_box()
    for place, words in [
        (0.01, "0:00 1 · Fold"),
        (0.99, "0:19 4 · Step 4"),
    ]:
        opened.page.mouse.move(box["x"] + box["width"] * place, box["y"] + 40)
        opened.wait_for_text("#preview", words)
        assert opened.page.locator("#preview").bounding_box()["height"] < 60


def test_paper_shows_the_cards_of_features(open_board):
    opened = open_board(as_features(make_board()), color_scheme="dark")
    opened.page.emulate_media(media="print")
    assert not opened.page.is_visible(".actions")
    assert not opened.page.is_visible(".now")
    assert opened.page.is_visible("#step-4 .moment")
    assert opened.page.is_visible(".timeline svg")
    colours = opened.value(
        "['body', '.card'].map(n => getComputedStyle(document.querySelector(n)).backgroundColor)"
    )
    assert colours == ["rgb(255, 255, 255)"] * 2


def test_chapters_of_features_are_copied(open_board):
    opened = open_board(as_features(make_board()))
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.page.click("[data-copy=webvtt]")
    opened.wait_for("document.getElementById('toast').textContent.startsWith('Copied')")
    assert opened.value("navigator.clipboard.readText()").count("-->") == 4


def test_the_index_of_features_leads_to_each_page(browser, tmp_path: Path):
    board = as_features(make_board())
    for name in ["one", "two"]:
        write_report(board, tmp_path / name, pictures={}, strip=None)
    opened = Opened(browser, write_index(tmp_path, [("one", board), ("two", board)], failed=[]))
    assert opened.value("document.images.length") == 0
    opened.page.click(".take h2 a")
    opened.page.wait_for_url("**/one/storyboard.html")
    assert opened.complaints == []
    opened.context.close()


def test_a_page_without_steps_opens_quietly(with_video):
    opened = with_video(make_board([]))
    opened.page.keyboard.press("j")
    assert opened.page.is_visible(".empty")
    assert opened.complaints == []


def test_the_index_leads_to_each_page(browser, tmp_path: Path):
    board = make_board()
    for name in ["take #1", "take 2"]:
        write_report(board, tmp_path / name, pictures=pictures_of(board), strip=None)
    index = write_index(tmp_path, [("take #1", board), ("take 2", board)], failed=[])
    opened = Opened(browser, index)
    assert opened.value("document.images.length") == 8
    opened.wait_for("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert opened.complaints == []
    opened.page.click(".take h2 a")
    opened.page.wait_for_url("**/take%20%231/storyboard.html")
    opened.context.close()
