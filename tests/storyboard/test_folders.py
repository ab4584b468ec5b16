from __future__ import annotations

from pathlib import Path

import pytest

from stepreel.errors import OutputError
from stepreel.storyboard.folders import check_writable, name_folders, safe_name


def test_names_that_collide_get_a_number(tmp_path):
    paths = [Path("a/take.mp4"), Path("b/take.mp4"), Path("b/TAKE.mov")]
    names = [folder.name for folder in name_folders(paths, tmp_path).values()]
    assert names == ["take", "take-2", "TAKE-3"]


def test_a_folder_that_is_a_file_is_left_alone(tmp_path):
    (tmp_path / "take").write_text("mine")
    assert name_folders([Path("take.mp4")], tmp_path)[Path("take.mp4")].name == "take-2"


@pytest.mark.parametrize(
    "stem", ["..", "a/b", "con", "COM1.txt", "x" * 300, "a\nb", "\u202e", "*?"]
)
def test_no_name_leaves_the_folder_or_breaks_a_system(stem):
    name = safe_name(stem)
    assert 0 < len(name) <= 90
    assert not set('/\\:*?"<>|\n\u202e') & set(name)
    assert not name.startswith((".", "-"))
    assert name.lower() not in {"con", "com1.txt"}


def test_a_file_in_the_way_of_the_output_folder_is_said(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="in the way"):
        check_writable(tmp_path / "out")
