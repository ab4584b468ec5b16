from __future__ import annotations

from pathlib import Path

import pytest

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.elan import read_eaf
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import Row

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
Annotation = tuple[str, str, str]


def read(path: Path) -> list[Row]:
    return read_eaf(SourceFile(path))


def tier(name: str, *annotations: Annotation) -> str:
    inside = "".join(
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{number}" TIME_SLOT_REF1="{start}" '
        f'TIME_SLOT_REF2="{end}"><ANNOTATION_VALUE>{value}</ANNOTATION_VALUE>'
        "</ALIGNABLE_ANNOTATION></ANNOTATION>\n"
        for number, (start, end, value) in enumerate(annotations, 1)
    )
    return f'<TIER LINGUISTIC_TYPE_REF="default-lt" TIER_ID="{name}">\n{inside}</TIER>\n'


def remarks(name: str) -> str:
    return (
        f'<TIER LINGUISTIC_TYPE_REF="note" PARENT_REF="steps" TIER_ID="{name}"><ANNOTATION>'
        '<REF_ANNOTATION ANNOTATION_ID="a99" ANNOTATION_REF="a1"><ANNOTATION_VALUE>well done'
        "</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>\n"
    )


def write(
    path: Path,
    slots: dict[str, int | None],
    *tiers: str,
    units: str = "milliseconds",
    media: str = "",
) -> Path:
    order = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="{name}"'
        + ("/>" if value is None else f' TIME_VALUE="{value}"/>')
        for name, value in slots.items()
    )
    path.write_text(
        f'{HEAD}<ANNOTATION_DOCUMENT AUTHOR="" FORMAT="3.0" VERSION="3.0">\n'
        f'<HEADER MEDIA_FILE="" TIME_UNITS="{units}">{media}</HEADER>\n'
        f"<TIME_ORDER>{order}</TIME_ORDER>\n{''.join(tiers)}</ANNOTATION_DOCUMENT>\n",
        encoding="utf-8",
    )
    return path


SLOTS: dict[str, int | None] = {"ts1": 0, "ts2": 1500, "ts3": 4000, "ts4": 5250}


def test_slots_are_milliseconds_and_values_are_steps(tmp_path: Path) -> None:
    steps = tier("default", ("ts1", "ts2", "1 cut &amp; peel"), ("ts3", "ts4", " 2  stir\n"))
    path = write(tmp_path / "a.eaf", SLOTS, steps)
    assert read(path) == [Row(0.0, 1.5, "1 cut & peel"), Row(4.0, 5.25, "2 stir")]


def film(name: str, origin: str = "", mime: str = "video/mp4") -> str:
    offset = f' TIME_ORIGIN="{origin}"' if origin else ""
    return f'<MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/films/{name}" MIME_TYPE="{mime}"{offset}/>'


@pytest.mark.parametrize(
    ("media", "start"),
    [
        (film("a.mp4"), 1.5),
        (film("a.mp4", "2000"), 3.5),
        (film("b.mp4", "-500"), 1.0),
        (film("b.mp4", "2000") + film("my%20take.mp4", "250"), 1.75),
        (film("sound.wav", "700", "audio/x-wav") + film("b.mp4", "2000"), 3.5),
        (film("b.mp4", "2000") + film("c.mp4", "2000"), 3.5),
    ],
)
def test_times_count_from_the_beginning_of_the_video_though_elan_skips_it(
    tmp_path: Path, media: str, start: float
) -> None:
    steps = tier("x", ("ts2", "ts3", "cut"))
    (row,) = read(write(tmp_path / "my take.eaf", SLOTS, steps, media=media))
    assert (row.start, row.end) == (start, start + 2.5)


@pytest.mark.parametrize("origin", ["0", "soon", "9" * 5000])
def test_media_of_different_offsets_are_refused_unless_one_is_named_like_the_file(
    tmp_path: Path, origin: str
) -> None:
    media = film("b.mp4", "2000") + film("c.mp4", origin)
    path = write(tmp_path / "a.eaf", SLOTS, tier("x", ("ts2", "ts3", "cut")), media=media)
    with pytest.raises(DatasetError, match=r"a\.eaf: TIME_ORIGIN of its media .* called a$"):
        read(path)


def test_slots_without_a_time_are_placed_evenly_between_their_neighbours(tmp_path: Path) -> None:
    slots = {"ts1": 1000, "ts2": None, "ts3": None, "ts4": 4000}
    steps = tier("x", ("ts1", "ts2", "a"), ("ts2", "ts3", "b"), ("ts3", "ts4", "c"))
    path = write(tmp_path / "a.eaf", slots, steps)
    assert read(path) == [Row(1.0, 2.0, "a"), Row(2.0, 3.0, "b"), Row(3.0, 4.0, "c")]


@pytest.mark.parametrize("slots", [{"ts1": 0, "ts2": None}, {"ts1": None, "ts2": None}, {"ts1": 0}])
def test_slots_that_have_no_time_and_no_neighbour_are_an_error(
    tmp_path: Path, slots: dict[str, int | None]
) -> None:
    path = write(tmp_path / "a.eaf", slots, tier("x", ("ts1", "ts2", "a")))
    with pytest.raises(DatasetError, match=r"a\.eaf: annotation a1: time slot 'ts\d' is missing"):
        read(path)


@pytest.mark.parametrize("name", ["Key Steps", "key_steps", "steps", "STEPS"])
def test_the_tier_called_steps_is_taken_though_another_has_more(tmp_path: Path, name: str) -> None:
    hands = tier("hands", ("ts1", "ts2", "left"), ("ts2", "ts3", "right"))
    path = write(tmp_path / "a.eaf", SLOTS, hands, tier(name, ("ts1", "ts4", "cut")))
    assert [row.label for row in read(path)] == ["cut"]


def test_the_tier_key_steps_is_preferred_to_steps(tmp_path: Path) -> None:
    tiers = tier("steps", ("ts1", "ts2", "all")), tier("key steps", ("ts1", "ts2", "key"))
    assert [row.label for row in read(write(tmp_path / "a.eaf", SLOTS, *tiers))] == ["key"]


def test_without_such_names_the_first_tier_with_the_most_annotations_is_taken(
    tmp_path: Path,
) -> None:
    one = tier("one", ("ts1", "ts2", "alone"))
    two = tier("two", ("ts1", "ts2", "a"), ("ts2", "ts3", "b"))
    three = tier("three", ("ts1", "ts2", "c"), ("ts2", "ts3", "d"))
    path = write(tmp_path / "a.eaf", SLOTS, one, two, three)
    assert [row.label for row in read(path)] == ["a", "b"]


def test_annotations_that_refer_to_others_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eaf", SLOTS, remarks("notes"), tier("x", ("ts1", "ts2", "cut")))
    assert [row.label for row in read(path)] == ["cut"]
    with pytest.raises(DatasetError, match="no annotation with its own times; all refer"):
        read(write(tmp_path / "b.eaf", SLOTS, remarks("notes")))


def test_an_empty_document_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"a\.eaf: contains no annotation with its own times$"):
        read(write(tmp_path / "a.eaf", {}, tier("steps")))


@pytest.mark.parametrize(
    "trick",
    ["<!DOCTYPE x>", '<!ENTITY a "aaaa">', '<!DOCTYPE x [<!ENTITY b SYSTEM "/etc/hosts">]>'],
)
def test_documents_that_declare_entities_are_refused(tmp_path: Path, trick: str) -> None:
    path = write(tmp_path / "a.eaf", SLOTS, tier("x", ("ts1", "ts2", "&b;")))
    path.write_text(path.read_text(encoding="utf-8").replace(HEAD, HEAD + trick), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"a\.eaf: declares a DOCTYPE or ENTITY"):
        read(path)


def test_entities_cannot_hide_behind_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.eaf"
    path.write_bytes('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x><x/>'.encode("utf-16"))
    with pytest.raises(DatasetError, match=r"a\.eaf: is not UTF-8 text"):
        read(path)


def test_files_that_are_not_xml_or_not_elan_are_reported_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.eaf"
    path.write_text("<ANNOTATION_DOCUMENT>\n<TIER>\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"a\.eaf, line 2: is not XML"):
        read(path)
    path.write_text("<html/>", encoding="utf-8")
    with pytest.raises(DatasetError, match="begins with <html>"):
        read(path)


def test_other_units_and_times_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eaf", SLOTS, tier("x", ("ts1", "ts2", "a")), units="PAL-frames")
    with pytest.raises(DatasetError, match="times are in PAL-frames; expected milliseconds"):
        read(path)
    path = write(tmp_path / "b.eaf", SLOTS, tier("x", ("ts1", "ts2", "a")))
    path.write_text(path.read_text(encoding="utf-8").replace('"1500"', '"1.5s"'), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"b\.eaf: time slot ts2 is '1.5s'"):
        read(path)
