from __future__ import annotations

import re
from pathlib import Path

import pytest
from boards import Extent, as_features, jpeg, make_board, pictures_of

from stepreel.report import write_index, write_report
from stepreel.report.index import rebuild_index
from stepreel.report.index_contents import IndexContents
from stepreel.storyboard.editing import seal
from stepreel.storyboard.review_notes import UNCLEAR_NOTE
from stepreel.storyboard.schema import DecisionFacts, Storyboard


def test_the_index_links_every_recording_and_names_the_failed_ones(tmp_path: Path):
    names = ["take 1", "a#b", "javascript:x"]
    page = write_index(
        tmp_path,
        [(name, make_board()) for name in names],
        failed=[("r9.mp4", "no video stream <b>")],
    ).read_text(encoding="utf-8")
    assert 'href="./take%201/storyboard.html"' in page
    assert 'href="./a%23b/storyboard.html"' in page
    assert 'href="./javascript%3Ax/storyboard.html"' in page
    assert "no video stream &lt;b&gt;" in page


def test_a_kind_of_step_has_the_same_colour_in_every_recording(tmp_path: Path):
    boards = [("one", make_board()), ("two", make_board([(0, 1, 20, 2)]))]
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    assert page.count(".kind-2 {") == 1
    assert page.count('class="bar step kind-2"') == 2
    assert "in 2 of 2" in page


def test_the_index_shows_only_pictures_that_are_there(tmp_path: Path):
    board = make_board()
    pictures = pictures_of(board)
    del pictures[2]
    write_report(board, tmp_path / "one", pictures=pictures, strip=None)
    page = write_index(tmp_path, [("one", board)], failed=[]).read_text(encoding="utf-8")
    assert 'src="./one/pictures/step-01.jpg"' in page
    assert "step-02.jpg" not in page


def test_timelines_share_a_scale_unless_the_short_ones_would_vanish(tmp_path: Path):
    long, short = make_board(duration=40), make_board([(0, 1, 2, 0)], duration=2)
    together = write_index(tmp_path, [("a", long), ("b", make_board())], failed=[]).read_text()
    assert 'width="50.0%"' in together
    apart = write_index(tmp_path, [("a", long), ("b", short)], failed=[]).read_text()
    assert "share one scale" not in apart


def test_an_index_of_failures_only_can_be_written(tmp_path: Path):
    page = write_index(tmp_path, [], failed=[("a.mp4", "empty")]).read_text(encoding="utf-8")
    assert "Key steps of 0 recordings" in page


def test_an_index_of_features_says_so_and_has_no_pictures(tmp_path: Path):
    board = as_features(make_board())
    page = write_index(tmp_path, [("a", board), ("b", board)], failed=[]).read_text()
    assert "features, no video" in page
    assert "<img" not in page


def test_the_index_names_a_folder_only_if_it_differs_from_the_title(tmp_path: Path):
    boards = [("Fold a box", make_board()), ("Fold a box-2", make_board())]
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    assert page.count('class="folder"') == 1


def in_turn(count: int, *, kinds: int = 7) -> list[Extent]:
    """Return steps of 2 s each, the kinds of which follow one another."""
    return [(2.0 * n, 2.0 * n + 1, 2.0 * n + 2, n % kinds) for n in range(count)]


def tiles_of(page: str) -> list[str]:
    """Return the letter and caption of every tile."""
    found = re.findall(r'class="chip">(\w+)</span> <span class="caption">([^<]+)<', page)
    return [" ".join(tile) for tile in found]


def test_every_step_is_shown_with_its_letter_and_time(tmp_path: Path):
    boards = [
        (f"take{n}", make_board(in_turn(30), title=f"take{n}", duration=60)) for n in range(20)
    ]
    for name, board in boards:
        write_report(board, tmp_path / name, pictures=pictures_of(board), strip=None)
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    shown = tiles_of(page)
    assert len(shown) == 600
    assert shown[:9] == [
        *("A 0:00.0", "B 0:02.0", "C 0:04.0", "D 0:06.0", "E 0:08.0", "F 0:10.0", "G 0:12.0"),
        *("A 0:14.0", "B 0:16.0"),
    ]
    assert page.count('loading="lazy"') == page.count("<img") == 600
    assert 'href="./take3/storyboard.html#step-30"' in page
    assert "(A, visit 2 of 5), 0:14.0 – 0:16.0" in page


def test_hundreds_of_steps_have_a_picture_per_kind_and_a_list(tmp_path: Path):
    board = make_board(in_turn(300), duration=600)
    write_report(board, tmp_path / "one", pictures=pictures_of(board), strip=None)
    page = write_index(tmp_path, [("one", board)], failed=[]).read_text(encoding="utf-8")
    assert "300 steps of 7 kinds. One picture per kind" in page
    shown = tiles_of(page)
    assert shown[:7] == [
        *("A 43 visits", "B 43 visits", "C 43 visits", "D 43 visits", "E 43 visits", "F 43 visits"),
        "G 42 visits",
    ]
    assert len(shown) == 7 + 300
    assert page.count("<img") == 7
    assert "All 300 steps" in page


def test_a_step_without_its_picture_is_shown_too(tmp_path: Path):
    board = make_board()
    pictures = pictures_of(board)
    del pictures[2]
    write_report(board, tmp_path / "one", pictures=pictures, strip=None)
    page = write_index(tmp_path, [("one", board)], failed=[]).read_text(encoding="utf-8")
    assert tiles_of(page) == ["A 0:00.0", "B 0:04.0", "A 0:10.0", "C 0:14.0"]
    assert page.count("<img") == 3


def test_steps_of_features_are_listed_without_pictures(tmp_path: Path):
    board = as_features(make_board())
    page = write_index(tmp_path, [("one", board)], failed=[]).read_text(encoding="utf-8")
    assert tiles_of(page) == ["A 0:00.0", "B 0:04.0", "A 0:10.0", "C 0:14.0"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_pictures_are_whole_and_nothing_sticks_out(browser, tmp_path: Path, width: int):
    portrait = make_board(in_turn(30), duration=60, size=(90, 160))
    landscape = make_board(in_turn(5), duration=10, size=(160, 90))
    for name, board in [("portrait", portrait), ("landscape", landscape)]:
        recording = board.recording
        size = {"width": recording.width, "height": recording.height}
        pictures = {step.index: jpeg(99, **size) for step in board.steps}
        write_report(board, tmp_path / name, pictures=pictures, strip=None)
    boards = [("portrait", portrait), ("landscape", landscape)]
    index = write_index(tmp_path, boards, failed=[])
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(index.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("theme.offsetWidth") == page.evaluate("theme.offsetHeight")
    sizes = page.evaluate(
        "[...document.images].map(one => [one.width / one.height, one.height, "
        "getComputedStyle(one).objectFit])"
    )
    for (ratio, height, fit), expected in zip(sizes, [90 / 160] * 30 + [160 / 90] * 5, strict=True):
        assert fit == "contain"
        assert ratio == pytest.approx(expected, rel=0.05)
        assert height > 50
    page.click("[href='./landscape/storyboard.html#step-2']")
    page.wait_for_url("**/landscape/storyboard.html#step-2")
    context.close()


def test_the_index_says_in_which_recording_no_clear_structure_was_found(tmp_path: Path):
    unclear = make_board(title="two").model_copy(update={"notes": [UNCLEAR_NOTE]})
    boards = [("one", make_board(title="one")), ("two", unclear)]
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    assert page.count("No clear structure found") == 1
    assert page.index("./two/storyboard.html") < page.index("No clear structure found")
    assert "1 without clear structure" in page


def test_titles_that_were_given_are_in_the_legend_and_on_every_tile(tmp_path: Path):
    titles = ["Open <it>", "Step B", "Open <it>", "Step C"]
    board = make_board(titles=titles, title="one")
    page = write_index(tmp_path, [("one", board), ("two", board)], failed=[]).read_text()
    legend, tiles = page.split('<ul class="takes">')
    assert re.findall(r'class="kind-title"[^>]*>([^<]+)<', legend) == ["Open &lt;it&gt;"]
    assert re.findall(r'class="name" dir="auto">([^<]+)<', tiles) == ["Open &lt;it&gt;"] * 4
    many = make_board(in_turn(60), titles=["Fold"] * 60, duration=120)
    page = write_index(tmp_path, [("one", many)], failed=[]).read_text()
    assert page.count('class="name"') == 7 + 60
    assert "A, Fold: 9 visits" in page


@pytest.mark.browser
def test_a_long_title_does_not_widen_its_tile(browser, tmp_path: Path):
    boards = [
        (name, make_board(in_turn(8), titles=[text] * 8, duration=16, size=(90, 160)))
        for name, text in [("short", ""), ("long", "Press the crease " * 20)]
    ]
    for name, board in boards:
        pictures = {step.index: jpeg(99, width=90, height=160) for step in board.steps}
        write_report(board, tmp_path / name, pictures=pictures, strip=None)
    index = write_index(tmp_path, boards, failed=[])
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(index.as_uri())
    widths = page.evaluate("[...document.querySelectorAll('.tile')].map(tile => tile.offsetWidth)")
    assert set(widths[8:]) == set(widths[:8])
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()


def test_an_index_of_many_steps_of_features_does_not_speak_of_pictures(tmp_path: Path):
    board = as_features(make_board(in_turn(60), duration=120))
    page = write_index(tmp_path, [("one", board)], failed=[]).read_text(encoding="utf-8")
    assert "60 steps of 7 kinds. One link per kind, to its clearest visit." in page
    assert "picture" not in page.split("<body>")[1]


@pytest.mark.parametrize("name", ["..", "../one", "/", "a\x00b", "x" * 5000])
def test_an_index_that_names_no_folder_of_its_own_is_made_without_it(tmp_path: Path, name: str):
    board = make_board()
    for folder in (tmp_path, tmp_path / "one", tmp_path / "out" / "two"):
        write_report(board, folder, pictures={}, strip=None)
    contents = IndexContents.model_construct(folders=[name, "two"], failed=[])
    write_index(tmp_path / "out", [("two", board)], failed=[], contents=contents)
    rebuilt = rebuild_index(tmp_path / "out").read_text(encoding="utf-8")
    assert "Key steps of 1 recording<" in rebuilt
    assert re.findall(r'h2><a href="([^"]+)"', rebuilt) == ["./two/storyboard.html"]


def as_run(name: str, board: Storyboard) -> Storyboard:
    return board.model_copy(update={"clustering_id": name})


def test_letters_are_counted_only_within_recordings_that_share_their_clusters(tmp_path: Path):
    boards = [
        ("kept", as_run("old", make_board([(0, 1, 20, 0)], titles=["Open"]))),
        ("two", as_run("new", make_board())),
        ("three", as_run("new", make_board())),
    ]
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    assert "only within a group" in page
    assert "in every recording" not in page
    assert "kinds of step" not in page
    assert [line.strip() for line in re.findall(r'<h2 id="group-\d">([^<]+)<', page)] == [
        *("Group 1: 1 recording", "Group 2: 2 recordings")
    ]
    first, second = page.split('<ul class="takes">')[:2]
    assert "in 1 of 1" not in first  # says nothing
    assert "Open" in first
    legend = second[second.index("Group 2") :]
    assert "in 2 of 2" in legend
    assert "Open" not in legend
    assert page.count('<h3><a href="./') == 3


def test_recordings_of_one_run_form_one_group(tmp_path: Path):
    boards = [(name, as_run("same", make_board())) for name in ("one", "two")]
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    assert "mean the same kind of step in every recording." in page
    assert "3 kinds of step" in page
    assert "Group 1" not in page


def test_of_earlier_storyboards_it_is_not_claimed_that_they_share_their_kinds(tmp_path: Path):
    boards = [("one", make_board()), ("two", make_board())]
    page = write_index(tmp_path, boards, failed=[]).read_text(encoding="utf-8")
    assert "same kind of step in recordings that were run together." in page
    mixed = [*boards, ("three", as_run("new", make_board()))]
    page = write_index(tmp_path, mixed, failed=[]).read_text(encoding="utf-8")
    assert "Group 1: 2 recordings, storyboards of an earlier version" in page
    assert "Group 2: 1 recording<" in page


def test_the_index_names_recordings_that_were_edited_by_hand(tmp_path: Path):
    board = seal(make_board())
    edited = board.model_copy(update={"title": "Mine"})
    page = write_index(tmp_path, [("one", board), ("two", edited)], failed=[]).read_text()
    assert page.count("edited by hand") == 1
    assert page.index("edited by hand") > page.index("Mine")


def test_the_index_says_once_how_all_steps_were_found(tmp_path: Path):
    found = make_board().model_copy(
        update={"decision": DecisionFacts(sentence="Steps recur <as they do>.")}
    )
    page = write_index(tmp_path, [("a", found), ("b", found)], failed=[]).read_text("utf-8")
    assert page.count("Steps recur &lt;as they do&gt;.") == 1
    mixed = write_index(tmp_path, [("a", found), ("b", make_board())], failed=[]).read_text("utf-8")
    assert "Steps recur" not in mixed


def test_unclear_recordings_are_named_one_by_one_only_if_others_are_clear(tmp_path: Path):
    unclear = make_board().model_copy(update={"notes": [UNCLEAR_NOTE]})
    page = write_index(tmp_path, [("a", unclear), ("b", unclear)], failed=[]).read_text("utf-8")
    assert page.count("No clear structure found") == 1
    mixed = write_index(tmp_path, [("a", unclear), ("b", make_board())], failed=[])
    assert mixed.read_text("utf-8").count("No clear structure found:") == 1
