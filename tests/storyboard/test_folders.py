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


def test_a_file_with_the_folders_name_is_not_overwritten(tmp_path):
    (tmp_path / "take").write_text("mine")
    assert folders(tmp_path, "take.mp4") == ["take-2"]


@pytest.mark.parametrize(
    "stem", ["..", "a/b", "con", "COM1.txt", "x" * 300, "a\nb", "\u202e", "*?"]
)
def test_names_are_safe_on_every_system(stem):
    name = safe_name(stem)
    assert 0 < len(name) <= 90
    assert not set('/\\:*?"<>|\n\u202e') & set(name)
    assert not name.startswith((".", "-"))
    assert name.lower() not in {"con", "com1.txt"}


def test_a_file_in_the_way_of_the_output_folder_is_reported(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        check_writable(tmp_path / "out")
