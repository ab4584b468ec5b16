"""Other numbers of steps on the page, in a real browser: each is a whole storyboard."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board, pictures_of

from stepreel.report.write import write_report
from stepreel.storyboard.assemble import as_alternative
from stepreel.video.previews import encode_jpeg

MAIN = [(0.0, 5.0, 10.0, 0), (10.0, 15.0, 20.0, 1), (20.0, 25.0, 30.0, 0)]
FEWER = [(0.0, 5.0, 15.0, 0), (15.0, 22.0, 30.0, 1)]  # the first picture is shared


def board_with_alternative():
    board = make_board(MAIN, duration=30.0)
    other = make_board(FEWER, duration=30.0)
    alternative = as_alternative(other, board, "2 steps", "--steps 2")
    return board.model_copy(update={"alternatives": [alternative]})


@pytest.fixture
def page(browser, tmp_path):
    board = board_with_alternative()
    small = encode_jpeg(np.full((90, 160, 3), 77, np.uint8), 70)
    others = {step.picture: small for step in board.alternatives[0].steps if step.picture}
    write_report(board, tmp_path, pictures=pictures_of(board), other_pictures=others, strip=None)
    context = browser.new_context()
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda m: problems.append(m.text) if "policy" in m.text else None)
    opened.goto((tmp_path / "storyboard.html").as_uri())
    yield opened
    assert problems == []
    context.close()


def shown(page):
    return {
        "count": page.locator("[data-part=count]").inner_text(),
        "cards": page.locator("#steps .card").count(),
        "marks": page.locator("#timeline .mark").count(),
        "pictures": page.locator("#steps .picture img").count(),
    }


def test_a_button_shows_another_number_of_steps_and_the_first_comes_back(page):
    before = shown(page)
    assert before == {"count": "3 steps of 2 kinds", "cards": 3, "marks": 3, "pictures": 3}
    page.get_by_role("button", name="2 steps").click()
    assert shown(page) == {"count": "2 steps", "cards": 2, "marks": 2, "pictures": 2}
    assert page.get_by_text("stepreel tune . --steps 2").is_visible()
    page.get_by_role("button", name="3 steps").click()
    assert shown(page) == before
    assert not page.get_by_text("stepreel tune . --steps 2").is_visible()


def test_keys_and_timeline_follow_the_number_that_is_shown(page):
    page.get_by_role("button", name="2 steps").click()
    page.keyboard.press("2")
    assert page.locator("#now-detail").inner_text().startswith("Step 2 of 2")
    assert page.locator("#steps [aria-current]").count() == 1
    page.get_by_role("button", name="3 steps").click()
    page.keyboard.press("3")
    assert page.locator("#now-detail").inner_text().startswith("Step 3 of 3")


def test_pictures_of_other_numbers_can_be_seen(page):
    page.get_by_role("button", name="2 steps").click()
    images = page.locator("#steps .picture img")
    widths = images.evaluate_all("all => all.map((each) => each.naturalWidth)")
    assert all(width > 0 for width in widths)


def test_buttons_say_which_number_is_shown(page):
    def pressed():
        return page.locator("button[data-version][aria-pressed=true]").inner_text()

    assert pressed() == "3 steps"
    page.get_by_role("button", name="2 steps").click()
    assert pressed() == "2 steps"


def test_the_number_that_is_shown_stays_after_reloading(page):
    page.get_by_role("button", name="2 steps").click()
    page.reload()
    assert shown(page)["count"] == "2 steps"
    page.get_by_role("button", name="3 steps").click()
    page.reload()
    assert shown(page)["count"] == "3 steps of 2 kinds"
