"""Which folders can be compared, and what is said about those that cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepreel.comparison.run import compare_takes
from stepreel.comparison.takes import read_takes
from stepreel.errors import OutputError, StepreelError
from stepreel.report.index import rebuild_index
from stepreel.storyboard.schema import read_storyboard

FILES = ("compare.html", "compare.json", "compare.csv")


def edit(folder: Path, **changes: object) -> None:
    path = folder / "storyboard.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_takes_come_in_the_order_of_the_index(write_takes):
    out = write_takes(second="ABC", first="AB")
    assert [take.folder for take in read_takes(out).takes] == ["second", "first"]
    (out / "index.html").unlink()
    assert [take.folder for take in read_takes(out).takes] == ["first", "second"]


@pytest.mark.parametrize(
    ("take", "message"),
    [
        ("nowhere", r"nowhere: does not exist; expected the output folder"),
        ("take1", r"take1: is the folder of one take; comparing needs at least two"),
        ("index.html", r"is a file; expected the output folder"),
        ("take1/pictures", r"there is no storyboard.json in the folders in it"),
    ],
)
def test_what_holds_no_takes_is_refused(write_takes, take, message):
    out = write_takes(take1="ABC", take2="ABC")
    with pytest.raises(StepreelError, match=message):
        compare_takes(out / take, out)
    assert not any((out / name).exists() for name in FILES)


def test_one_take_is_refused(write_takes):
    with pytest.raises(StepreelError, match=r"holds one take; comparing needs at least two"):
        read_takes(write_takes(take1="ABC"))


def test_a_broken_storyboard_is_left_out_and_named(write_takes):
    out = write_takes(take1="ABC", take2="ABC", take3="ABC")
    (out / "take2" / "storyboard.json").write_text("{")
    comparison = compare_takes(out, out)
    assert [take.folder for take in comparison.takes] == ["take1", "take3"]
    (left_out,) = comparison.left_out
    assert left_out.folder == "take2"
    assert "not valid JSON" in left_out.reason
    assert "not valid JSON" in (out / "compare.html").read_text()


def test_too_few_readable_takes_are_refused_with_the_reasons(write_takes):
    out = write_takes(take1="ABC", take2="ABC")
    (out / "take2" / "storyboard.json").write_text("{")
    with pytest.raises(StepreelError, match=r"one take that can be read; .* not valid JSON"):
        compare_takes(out, out)
    assert not any((out / name).exists() for name in FILES)


def test_takes_of_different_runs_are_refused(write_takes):
    out = write_takes(take1="ABC", take2="ABC", take3="ABC")
    edit(out / "take3", clustering_id="another run")
    with pytest.raises(StepreelError, match=r"of 2 different runs, .*: take1, take2; take3\. Run"):
        compare_takes(out, out)


def test_takes_of_unknown_runs_are_refused(write_takes):
    out = write_takes(take1="ABC", take2="ABC")
    for name in ("take1", "take2"):
        edit(out / name, clustering_id="")
    with pytest.raises(StepreelError, match="do not say whether they are of one run"):
        compare_takes(out)


def test_an_edited_take_is_compared_as_it_is_now(write_takes):
    out = write_takes(take1="ABC", take2="ABC", take3="ABC")
    steps = [s.model_dump() for s in read_storyboard(out / "take3" / "storyboard.json").steps]
    edit(out / "take3", steps=[steps[2], {**steps[0], "title": "Open"}])
    comparison = compare_takes(out)
    assert [d.sentence for d in comparison.departures] == ["take3 skips B; the others do it."]
    assert [take.is_edited for take in comparison.takes] == [False, False, True]


def test_an_edit_that_contradicts_itself_is_left_out(write_takes):
    out = write_takes(take1="ABC", take2="ABC", take3="ABC")
    steps = [s.model_dump() for s in read_storyboard(out / "take3" / "storyboard.json").steps]
    edit(out / "take3", steps=[{**steps[0], "end": 9.0}, *steps[1:]])
    assert "steps may not overlap" in compare_takes(out).left_out[0].reason


@pytest.mark.parametrize("obstacle", FILES)
def test_if_one_file_cannot_be_written_none_is(write_takes, obstacle):
    out = write_takes(take1="ABC", take2="AC")
    (out / obstacle).mkdir()
    with pytest.raises(OutputError, match=f"{obstacle} is in the way"):
        compare_takes(out, out)
    assert [name for name in FILES if (out / name).is_file()] == []
    assert [path.name for path in out.glob(".*")] == []


def test_the_index_links_the_comparison_and_says_when_it_is_out_of_date(write_takes):
    out = write_takes(take1="ABC", take2="AC")
    assert "compare.html" not in (out / "index.html").read_text()
    compare_takes(out, out)
    page = (out / "index.html").read_text()
    assert 'href="./compare.html"' in page
    assert "made before storyboards changed" not in page
    edit(out / "take1", title="Another")
    rebuild_index(out)
    assert "made before storyboards changed" in (out / "index.html").read_text()
    compare_takes(out, out)
    assert "made before storyboards changed" not in (out / "index.html").read_text()


def test_a_page_of_somebody_else_is_not_linked(write_takes):
    out = write_takes(take1="ABC", take2="AC")
    (out / "compare.html").write_text("<title>Prices</title>")
    rebuild_index(out)
    assert "compare.html" not in (out / "index.html").read_text()


def test_titles_that_are_not_unique_are_replaced_by_folders(write_takes):
    out = write_takes(take1="ABC", take2="AC")
    for name in ("take1", "take2"):
        edit(out / name, title="Shelf")
    assert [take.name for take in compare_takes(out).takes] == ["take1", "take2"]
