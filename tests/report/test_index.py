from __future__ import annotations

from pathlib import Path

from boards import as_features, make_board, pictures_of

from stepreel.report import write_index, write_report


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
