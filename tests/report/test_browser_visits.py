"""Pages of many steps in a real Chromium: one card per kind, with a list of its visits."""

from __future__ import annotations

import pytest
from boards import make_board
from browsing import Opened

pytestmark = pytest.mark.browser


def many_visits(count: int = 150, kinds: int = 7):
    """Return a storyboard of steps that follow one another every 8 s."""
    extents = [(8.0 * n, 8.0 * n + 2, 8.0 * n + 6, n % kinds) for n in range(count)]
    return make_board(extents, duration=8.0 * count)


def visible_visits(opened: Opened) -> int:
    return opened.value(
        "[...document.querySelectorAll('#visits-0 li')].filter(li => li.offsetHeight).length"
    )


def test_a_long_list_of_visits_ends_with_a_whole_row_and_can_be_shown_whole(open_board):
    opened = open_board(many_visits())
    assert visible_visits(opened) == 12
    size = "((list) => [list.scrollHeight, list.clientHeight])(document.getElementById('visits-0'))"
    needed, available = opened.value(size)
    assert needed <= available
    opened.page.click("text=Show all 22 visits >> nth=0")
    opened.wait_for("document.querySelector('[data-unfold]').ariaExpanded === 'true'")
    assert visible_visits(opened) == 22
    opened.page.click("text=Show fewer")
    opened.wait_for("document.querySelector('[data-unfold]').ariaExpanded === 'false'")
    assert visible_visits(opened) == 12


def test_a_visit_that_is_not_listed_at_first_is_shown_while_it_is_the_current_one(open_board):
    opened = open_board(many_visits())
    opened.value("location.hash = '#step-148'")
    opened.wait_for("document.getElementById('step-148').offsetHeight > 0")
    opened.value("location.hash = ''")
    opened.wait_for("document.getElementById('step-148').offsetHeight === 0")
    opened.page.keyboard.press("1")
    for _ in range(147):
        opened.page.keyboard.press("j")
    opened.wait_for("document.querySelector('#step-148[aria-current]')?.offsetHeight > 0")


def test_paper_shows_every_visit(open_board):
    opened = open_board(many_visits())
    opened.page.emulate_media(media="print")
    assert visible_visits(opened) == 22
    assert not opened.page.is_visible("[data-unfold]")


def test_without_a_video_a_folded_page_shows_pictures_only_of_their_own_moments(open_board):
    opened = open_board(many_visits())
    opened.wait_for("!document.getElementById('still').hidden")
    opened.page.click(".card .go >> nth=1")
    opened.wait_for("still.src === document.querySelectorAll('.picture img')[1].src")
    opened.page.click("#step-9")
    opened.wait_for("!document.getElementById('no-still').hidden")


@pytest.mark.parametrize("width", [400, 1280])
def test_the_list_of_visits_is_as_wide_as_its_card(open_board, width):
    opened = open_board(many_visits(), viewport={"width": width, "height": 800})
    card, visits = opened.value(
        "['.card', '#visits-0'].map(name => document.querySelector(name).offsetWidth)"
    )
    assert visits > 0.85 * card
    assert opened.value("document.documentElement.scrollWidth") == width
