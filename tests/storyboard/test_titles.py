from __future__ import annotations

import pytest

from stepreel.errors import SettingsError
from stepreel.storyboard.titles import read_titles, titles_by_name


def titles_of(tmp_path, text, **options):
    path = tmp_path / "titles.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_titles(path, **options)


def test_titles_name_kinds_and_single_steps(tmp_path):
    titles = titles_of(tmp_path, '\ufeffkind,title\nb,"Fold, then glue"\n3,Schließen\n\n')
    assert titles.title_of(1, cluster=1) == "Fold, then glue"
    assert titles.title_of(3, cluster=1) == "Schließen"
    assert titles.title_of(1, cluster=0) is None
    assert titles.unused(2, {0}) == ["kind B", "step 3"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_spreadsheets_of_any_country_can_be_read(tmp_path, delimiter):
    titles = titles_of(tmp_path, f"kind{delimiter}title\r\nA{delimiter}Open\r\n")
    assert titles.title_of(1, cluster=0) == "Open"


def test_titles_can_be_given_as_a_dict():
    titles = titles_by_name({"A": "Open", 2: "Close"})
    assert (titles.title_of(1, 0), titles.title_of(2, 0)) == ("Open", "Close")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "contains no titles"),
        ("kind,title\n", "contains no titles"),
        ("A", "expected two columns"),
        ("A,b,c", "put titles with commas in quotes"),
        ("A,", "empty title"),
        ("A,x\na,y", "line 2: a has a title already"),
        ("take one,x", "neither a kind"),
        ("0,x", "neither a kind"),
        ("-1,x", "neither a kind"),
        (f"{'9' * 5000},x", "neither a kind"),
        (b"A,\xff", "is not UTF-8"),
    ],
)
def test_a_wrong_file_of_titles_says_what_is_expected(tmp_path, text, problem):
    with pytest.raises(SettingsError, match=problem):
        titles_of(tmp_path, text)


def test_numbers_of_steps_need_a_single_recording(tmp_path):
    with pytest.raises(SettingsError, match="there are 2 recordings"):
        titles_of(tmp_path, "3,Close", n_recordings=2)
    with pytest.raises(SettingsError, match="is not a file"):
        read_titles(tmp_path)
