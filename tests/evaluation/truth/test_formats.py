from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.sample import read_sample_steps
from stepreel.evaluation.truth import formats
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.truth.formats import (
    FORMATS,
    LabelFormat,
    find_label_files,
    guess_format,
    guess_line_format,
)
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import Row
from stepreel.storyboard.schema import KeyStep, RecordingReference, Storyboard

EAF = (
    '<ANNOTATION_DOCUMENT><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="0"/>'
    '<TIME_SLOT TIME_SLOT_ID="b" TIME_VALUE="1500"/></TIME_ORDER><TIER TIER_ID="steps"><ANNOTATION>'
    '<ALIGNABLE_ANNOTATION TIME_SLOT_REF1="a" TIME_SLOT_REF2="b"><ANNOTATION_VALUE>2 cut'
    "</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>"
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read_label_rows(path: Path, fps: float | None = None) -> list[Row]:
    return read_label_file(path, fps).rows


def board(path: Path) -> Path:
    facts = {"title": "", "distance": 0.0, "confidence": 1.0}
    steps = [
        KeyStep(index=1, start=1, end=3, time=2, cluster=1, occurrence=1, occurrences=1, **facts),
        KeyStep(index=2, start=4, end=6, time=5, cluster=0, occurrence=1, occurrences=1, **facts),
    ]
    recording = RecordingReference(
        kind="video",
        name="a.mp4",
        file="../a.mp4",
        fingerprint="0",
        duration_seconds=9,
        width=4,
        height=3,
        fps=30,
        first_frame_seconds=0,
        player_offset_seconds=0,
    )
    content = Storyboard(
        title="a", recording=recording, steps=steps, timeline=[], uncertain=[], background=[]
    )
    return write(path, content.model_dump_json())


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("107.5,114.8,4 break eggs", "egoprocel"),
        ('1,2.5,"3. cut, peel"', "egoprocel"),
        ("107.5,114.8,4", "egoprocel"),
        ("4,107.5,114.8", "crosstask"),
        ("1,12,15", "crosstask"),
        ("pour milk,12.0,15.0", "crosstask"),
        ("80 150 G1", "jigsaws"),
        ("SIL", "frames"),
        ("pour_milk", "frames"),
        ("pour milk", "frames"),
        ("3", "frames"),
        ("start,end,step", "egoprocel"),
        ("Step,start_s,end_s", "crosstask"),
        ("start_s,end_s,N step name", "egoprocel"),
        ("begin,end,step", None),
        ("1.5,2.5,0.5", None),
        ("1;2;cut", None),
        ("1\t2\tcut it", None),
    ],
)
def test_a_format_is_recognized_by_a_line(line: str, kind: str | None) -> None:
    assert guess_line_format(line) == kind


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.csv", "\n\n1.0,2.0,3 cut\n", "egoprocel"),
        ("a.csv", "\ufeff1,2.0,3.0\n", "crosstask"),
        ("a.txt", "1 30 G1\n", "jigsaws"),
        ("a", "SIL\nSIL\n", "frames"),
        ("a.EAF", "", "elan"),
        ("a.npz", "", "npz"),
        ("a.json", "", "json"),
    ],
)
def test_the_suffix_decides_before_the_first_line(
    tmp_path: Path, name: str, text: str, kind: str
) -> None:
    assert guess_format(SourceFile(write(tmp_path / name, text))) == kind


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_has_no_format(tmp_path: Path, text: str) -> None:
    with pytest.raises(DatasetError, match=r"a\.csv: is empty; expected `start_s,end_s,N step"):
        guess_format(SourceFile(write(tmp_path / "a.csv", text)))


def test_a_line_of_no_known_format_is_reported_with_what_was_expected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "\nbegin,end,step\n")
    with pytest.raises(
        DatasetError, match=r"a\.csv, line 2: 'begin,end,step' is not a line of a kno"
    ):
        read_label_rows(path)


def test_rows_of_every_format_are_in_seconds(tmp_path: Path) -> None:
    assert read_label_rows(write(tmp_path / "a.csv", "1.0,2.0,3 cut\n")) == [
        Row(1.0, 2.0, "3 cut", 1)
    ]
    assert read_label_rows(write(tmp_path / "a.eaf", EAF)) == [Row(0.0, 1.5, "2 cut")]
    (row,) = read_label_rows(write(tmp_path / "b.csv", "1,2.0,3.0\n"))
    assert (row.start, row.end, row.line) == (2.0, 3.0, 1)
    frames = write(tmp_path / "a.txt", "SIL\nSIL\ncut\ncut\n")
    assert read_label_rows(frames, 2.0) == [Row(0.0, 0.75, "SIL", 1), Row(0.75, 2.0, "cut", 3)]
    (row,) = read_label_rows(write(tmp_path / "b.txt", "31 60 G1\n"))
    assert (row.start, row.end, row.label) == (
        pytest.approx(1, abs=0.02),
        pytest.approx(2, abs=0.02),
        "G1",
    )
    np.savez(tmp_path / "a.npz", times=np.arange(3) + 5.0, labels=np.array([0, 4, 4]))
    assert read_label_rows(tmp_path / "a.npz") == [Row(4.5, 5.5, "0"), Row(5.5, 7.5, "4")]
    assert read_label_rows(board(tmp_path / "a.json")) == [
        Row(1.0, 3.0, "2 kind B"),
        Row(4.0, 6.0, "1 kind A"),
    ]


def test_a_header_is_no_step_and_decides_which_column_is_which(tmp_path: Path) -> None:
    by_step = write(tmp_path / "a.csv", "step,start,end\n4,0.5,2\npour,2,7\n")
    assert read_label_rows(by_step) == [Row(0.5, 2.0, "4", 2), Row(2.0, 7.0, "pour", 3)]
    by_time = write(tmp_path / "b.csv", '\n"Start_s","End_s","Step"\n1,2,4\n')
    assert read_label_rows(by_time) == [Row(1.0, 2.0, "4", 3)]  # without it: step 1, from 2 to 4
    twice = write(tmp_path / "c.csv", "step,start,end\n4,0.5,2\nstep,start,end\n")
    with pytest.raises(DatasetError, match=r"c\.csv, line 3"):
        read_label_rows(twice)


def test_a_stated_format_is_not_guessed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "1,12,15\n")
    assert read_label_file(path, format_name="egoprocel").rows == [Row(1.0, 12.0, "15", 1)]
    with pytest.raises(
        DatasetError, match="unknown format 'srt'; known: egoprocel, crosstask, jigsaws"
    ):
        read_label_file(path, format_name="srt")


def test_the_truth_of_the_sample_is_read_the_same_way(tmp_path: Path) -> None:
    path = write(tmp_path / "work-bench.steps.csv", "1.000,2.500,3 wipe\n4.000,5.000,1 screw\n")
    expected = [
        (step.start, step.end, f"{step.step} {step.name}") for step in read_sample_steps(path)
    ]
    assert [(row.start, row.end, row.label) for row in read_label_rows(path)] == expected


def test_labels_per_frame_need_a_frame_rate(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"a\.txt: one label per frame .* give --fps"):
        read_label_rows(write(tmp_path / "a.txt", "SIL\n"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "1.0,2.0,3 cut\n1.0;2.0;3 cut\n", r"a\.csv, line 2: '1\.0;2\.0;3 cut'"),
        ("a.json", "{}", r"a\.json: not a storyboard"),
        ("a.npz", "no archive", r"a\.npz: cannot be read as \.npz"),
        ("a.eaf", "<x", r"a\.eaf, line 1: is not XML"),
        ("a.txt", "1 30 G1\n31 x G2\n", r"a\.txt, line 2: "),
        ("a.csv", "1,2.0,3.0\n1,two,3.0\n", r"a\.csv, line 2: "),
    ],
)
def test_mistakes_are_reported_with_file_and_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        read_label_rows(write(tmp_path / name, text))


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"1,2,3 caf\xe9\n")
    with pytest.raises(DatasetError, match=r"a\.csv: is not UTF-8 text"):
        read_label_rows(tmp_path / "a.csv")


def test_label_files_are_found_by_the_name_of_the_recording(tmp_path: Path) -> None:
    names = ["b.csv", "01.tent.gopro.egoprocel.ann.csv", "bench.steps.csv", "c.TXT", "d", "e.eaf"]
    for name in [*names, ".hidden.csv", "README.txt", "LICENSE", "steps.csv", "bench.gaze.csv"]:
        write(tmp_path / name, "")
    for name in ["b.mp4", "notes.pdf", "empty/other.json", ".cache/storyboard.json"]:
        write(tmp_path / name, "")
    board(tmp_path / "take 1" / "storyboard.json")
    files = find_label_files(tmp_path, Problems())
    assert {stem: str(path.relative_to(tmp_path)) for stem, path in files.items()} == {
        "01.tent.gopro": "01.tent.gopro.egoprocel.ann.csv",
        "b": "b.csv",
        "bench": "bench.steps.csv",
        "c": "c.TXT",
        "d": "d",
        "e": "e.eaf",
        "take 1": str(Path("take 1/storyboard.json")),
    }
    assert list(files) == sorted(files)


def test_two_label_files_of_one_recording_are_reported_or_the_second_left_out(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a.csv", "")
    write(tmp_path / "a.txt", "")
    with pytest.raises(DatasetError, match=r"a\.txt: a\.csv also contains labels of a"):
        find_label_files(tmp_path, Problems())
    problems = Problems(lenient=True)
    assert find_label_files(tmp_path, problems) == {"a": tmp_path / "a.csv"}
    assert len(problems.skipped) == 1


def test_a_missing_label_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="there is no such folder"):
        find_label_files(tmp_path / "nowhere", Problems())


def test_a_new_format_needs_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(1.0, 2.0, "cut")]
    srt = LabelFormat(lambda _file, _fps: rows, (".srt",))
    arrows = LabelFormat(lambda _file, _fps: rows, (".txt",), lambda line: "->" in line, "`a -> b`")
    monkeypatch.setattr(formats, "FORMATS", {"arrows": arrows, **FORMATS})
    monkeypatch.setitem(formats.FORMATS, "srt", srt)
    write(tmp_path / "a.srt", "")
    write(tmp_path / "b.txt", "1 -> 2\n")
    files = find_label_files(tmp_path, Problems())
    assert [guess_format(SourceFile(path)) for path in files.values()] == ["srt", "arrows"]
    with pytest.raises(DatasetError, match=r"is empty; expected `a -> b` \(arrows\), `start_s"):
        guess_format(SourceFile(write(tmp_path / "c.csv", "")))


def test_every_format_has_suffixes_and_a_line_to_show_if_lines_decide() -> None:
    for name, label_format in FORMATS.items():
        assert label_format.suffixes, name
        assert bool(label_format.is_line) == bool(label_format.line), name


@pytest.mark.parametrize("form", ["", "egoprocel"])
def test_a_header_alone_is_refused_however_the_format_is_known(tmp_path: Path, form: str) -> None:
    path = write(tmp_path / "a.csv", "\nstart_s,end_s,N step name\n\n")
    with pytest.raises(DatasetError, match=r"a\.csv, line 2: has the header .* and no step below"):
        read_label_file(path, format_name=form)


def test_a_second_header_is_a_wrong_line_with_an_example_of_a_right_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "start,end,step\n1,2,1 cut\nstart,end,step\n")
    with pytest.raises(DatasetError, match=r"line 3: 'start,end,step'; .* such as `12\.5,20,3 fol"):
        read_label_rows(path)
