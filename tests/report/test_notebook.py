from __future__ import annotations

from html.parser import HTMLParser

import pytest
from boards import as_features, make_board, pictures_of

from stepreel.report.notebook import MOST_STEPS, render_notebook

NASTY = "</div><script>alert(1)</script>\"'&<img src=x onerror=alert(2)><a href=javascript:x>"
VOID = {"img", "br"}


class Elements(HTMLParser):
    """Collects start tags and text, and checks that tags close in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_hostile_titles_and_notes_stay_text_without_script_or_handlers():
    board = make_board(titles=[NASTY], title=NASTY).model_copy(update={"notes": [NASTY]})
    elements = Elements(render_notebook(board, pictures_of(board)))
    assert {tag for tag, _ in elements.tags} == {"div", "p", "strong", "bdi", "span", "img", "br"}
    names = {name for _, attributes in elements.tags for name in attributes}
    assert names == {"style", "src", "alt", "dir"}
    assert elements.text.count(NASTY) == 3
    sources = [a["src"] or "" for tag, a in elements.tags if tag == "img"]
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)


def test_only_jpegs_are_shown():
    html = render_notebook(make_board(), {1: b"<svg onload=alert(1)>", 2: b"\xff\xd8jpeg"})
    assert html.count("<img") == 1


def test_features_have_no_pictures_and_an_untitled_step_has_a_name():
    html = render_notebook(as_features(make_board(titles=[" "])), {})
    assert "features, no video" in html
    assert "<img" not in html
    assert ">Step 1<" in html


@pytest.mark.parametrize(
    ("n_steps", "words"), [(0, "0 steps"), (1, "1 step ·"), (26, "and 2 more")]
)
def test_the_first_steps_are_shown_and_the_others_counted(n_steps, words):
    extents = [(2.0 * i, 2.0 * i + 1, 2.0 * i + 2, i % 3) for i in range(n_steps)]
    text = " ".join(Elements(render_notebook(make_board(extents, duration=60), {})).text.split())
    assert words in text
    assert text.count("Step ") == min(n_steps, MOST_STEPS)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("page", "ink"), [("#ffffff", "rgb(0, 0, 0)"), ("#111111", "rgb(1, 2, 3)")]
)
def test_text_has_the_notebooks_own_colour_and_nothing_runs(browser, page, ink):
    board = make_board(titles=[NASTY])
    context = browser.new_context(viewport={"width": 500, "height": 600})
    tab = context.new_page()
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    html = render_notebook(board, pictures_of(board))
    tab.set_content(f'<body style="background: {page}; color: {ink}; margin: 0">{html}')
    colours = tab.evaluate(
        "[...document.querySelectorAll('p, strong')].map(e => getComputedStyle(e).color)"
    )
    assert set(colours) == {ink}
    assert tab.evaluate("document.documentElement.scrollWidth") == 500
    assert dialogs == []
    context.close()
