from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from stepreel.errors import OutputError
from stepreel.storyboard.folders import name_folders
from stepreel.system.files import check_writable
from stepreel.system.names import safe_name


def folders(output, *files):
    recordings = {n: SimpleNamespace(path=Path(file)) for n, file in enumerate(files)}
    return [folder.name for folder in name_folders(recordings, output).values()]


def test_names_that_collide_get_a_number(tmp_path):
    assert folders(tmp_path, "a/take.mp4", "b/take.mp4", "b/TAKE.mov") == [
        "take",
        "take-2",
        "TAKE-3",
    ]


def test_a_folder_that_is_a_file_is_left_alone(tmp_path):
    (tmp_path / "take").write_text("mine")
    assert folders(tmp_path, "take.mp4") == ["take-2"]


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
