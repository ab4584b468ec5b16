from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.crosstask_csv import read_crosstask_csv
from stepreel.evaluation.truth.egoprocel_csv import read_egoprocel_csv
from stepreel.evaluation.truth.frame_text import read_frame_text
from stepreel.evaluation.truth.jigsaws_text import read_jigsaws_text
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.lines import SourceFile, read_lines
from stepreel.evaluation.truth.npz_labels import read_npz_labels
from stepreel.evaluation.truth.rows import Row


def write(path: Path, text: str) -> SourceFile:
    path.write_bytes(text.encode())
    return SourceFile(path)


def test_egoprocel_lines_are_start_end_and_a_numbered_name_with_commas(tmp_path: Path) -> None:
    text = '37.9,78.4,10 align, then screw\r\n\r\n80,81.5,"2. say ""no"", twice"\n'
    assert read_egoprocel_csv(write(tmp_path / "0003.csv", text)) == [
        Row(37.9, 78.4, "10 align, then screw", 1),
        Row(80.0, 81.5, '2. say "no", twice', 3),
    ]


def test_crosstask_rows_keep_their_overlaps_and_fractions_of_seconds(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "1,0.5,3.5\nstir,3.2,5\n")
    assert [(row.start, row.end, row.label) for row in read_crosstask_csv(file)] == [
        (0.5, 3.5, "1"),
        (3.2, 5.0, "stir"),
    ]
    with pytest.raises(DatasetError, match=r"a\.csv, line 1: 2 to 1 s"):
        read_crosstask_csv(write(tmp_path / "a.csv", "1,2,1\n"))


def test_jigsaws_files_have_thirty_frames_per_second_by_default(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "1 3 G1\n")
    (row,) = read_jigsaws_text(file, None)
    assert (row.start, row.end, row.label) == (0.0, pytest.approx(2.5 / 30), "G1")
    (row,) = read_jigsaws_text(file, 10.0)
    assert row.end == pytest.approx(0.25)
    with pytest.raises(DatasetError, match=r"a\.txt, line 3"):
        read_jigsaws_text(write(tmp_path / "a.txt", "1 3 G1\n\n1 G1\n"), None)


def test_one_label_per_frame_needs_a_frame_rate(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "\ufeffa\r\na\r\nb")
    assert read_lines(file.path) == ["a", "a", "b"]
    rows = read_frame_text(file, 2.0).rows
    assert rows == [Row(0.0, 0.75, "a", 1), Row(0.75, 1.5, "b", 3)]
    with pytest.raises(DatasetError, match=r"one label per frame .* give --fps"):
        read_frame_text(file, None)


def test_rows_of_npz_labels_meet_halfway_between_the_times_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, times=10 + np.arange(8) / 2, labels=np.array([0, 0, 3, 3, 3, 1, 1, 0]))
    assert read_npz_labels(SourceFile(path)).rows == [
        Row(9.75, 10.75, "0"),
        Row(10.75, 12.25, "3"),
        Row(12.25, 13.25, "1"),
        Row(13.25, 13.75, "0"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "1.0,2.0,3 cut\n"), ("a.txt", "cut\ncut\n"), ("b.txt", "1 2 G1\n")],
)
def test_a_text_file_is_read_once_though_its_format_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    write(tmp_path / name, text)
    reads: list[Path] = []

    def counted(path: Path) -> list[str]:
        reads.append(path)
        return read_lines(path)

    monkeypatch.setattr("stepreel.evaluation.truth.lines.read_lines", counted)
    assert read_label_file(tmp_path / name, 10.0).rows
    assert reads == [tmp_path / name]
