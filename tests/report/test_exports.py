from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import av
import pytest
from boards import as_features, make_board

from stepreel.report import EXPORTS
from stepreel.report.exports.chapters import chapters_of
from stepreel.report.exports.youtube import youtube_problem
from stepreel.storyboard.schema import TimelineSpan


def starts_of(extents, **options):
    return [chapter.start / 1000 for chapter in chapters_of(make_board(extents, **options))]


def test_every_step_becomes_one_csv_row_with_the_named_columns():
    rows = list(csv.DictReader(io.StringIO(EXPORTS["csv"].make(make_board()))))
    assert rows[2] == {
        "index": "3",
        "title": "Step 3",
        "time_s": "12.000",
        "start_s": "10.000",
        "end_s": "14.000",
        "duration_s": "4.000",
        "cluster": "0",
        "occurrence": "2",
        "occurrences": "2",
        "distance": "0.125",
        "confidence": "0.7500",
        "picture": "pictures/step-03.jpg",
        "is_repeat": "1",
    }


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_a_title_that_looks_like_a_formula_is_made_plain_text_in_csv(start):
    board = make_board(titles=[f'{start}HYPERLINK("x")'])
    rows = list(csv.DictReader(io.StringIO(EXPORTS["csv"].make(board))))
    assert rows[0]["title"] == f'\'{start}HYPERLINK("x")'


def test_a_title_cannot_break_out_of_its_markdown_cell():
    text = EXPORTS["markdown"].make(make_board(titles=["a|b `c` <img>\n| d"]))
    row = next(line for line in text.splitlines() if "step-01.jpg" in line)
    assert r"a\|b \`c\` &lt;img&gt; \| d" in row
    assert len(re.findall(r"(?<!\\)\|", row)) == 8


def test_a_chapter_starts_and_ends_with_its_step():
    chapters = chapters_of(make_board())
    assert [(chapter.start, chapter.end) for chapter in chapters] == [
        (0, 4000),
        (4000, 8000),  # no step until 10 s
        (10000, 14000),
        (14000, 20000),
    ]


def test_chapters_are_in_player_time():
    assert starts_of([(1, 2, 3, 0), (5, 6, 7, 1)], offset=0.5) == [1.5, 5.5]


def test_of_two_steps_that_start_together_the_later_begins_where_the_earlier_ends():
    assert starts_of([(5, 6, 9, 0), (5, 12, 20, 1)]) == [5, 9]


def test_a_step_around_another_begins_no_later_than_its_own_moment():
    assert starts_of([(10, 15, 30, 0), (0, 25, 60, 1)]) == [10, 25]


def test_steps_that_only_overlap_keep_their_starts():
    assert starts_of([(0, 5, 12, 0), (10, 15, 20, 1)]) == [0, 10]


def test_two_steps_with_the_same_moment_share_a_chapter():
    board = make_board([(3, 3, 3, 0), (3, 3, 3, 1), (8, 9, 10, 0)])
    assert [(c.start, c.title) for c in chapters_of(board)] == [
        (3000, "Step 1 / Step 2"),
        (8000, "Step 3"),
    ]


def test_every_chapter_contains_its_steps_moment_however_steps_overlap():
    extents = [(start, 3.0 * i, 3.0 * i + 20, i) for i, start in enumerate([0, 0, 1, 9, 0, 14, 2])]
    board = make_board(extents, duration=60)
    chapters = chapters_of(board)
    assert len(chapters) == len(extents)
    for chapter, step in zip(chapters, board.steps, strict=True):
        assert chapter.start <= 1000 * step.time < chapter.end


def test_webvtt_escapes_what_would_end_a_cue():
    text = EXPORTS["webvtt"].make(make_board(titles=["a --> b & <i>c\n\n00:01 d"]))
    assert text.startswith("WEBVTT\n\n1\n00:00:00.000 --> 00:00:04.000\n")
    assert "\na --&gt; b &amp; &lt;i&gt;c 00:01 d\n" in text
    assert text.count("-->") == 4


def test_webvtt_writes_hours():
    text = EXPORTS["webvtt"].make(make_board([(3723.0456, 3724, 3725, 0)], duration=4000))
    assert "01:02:03.046 --> 01:02:05.000" in text


def test_ffmetadata_is_read_back_by_ffmpeg_as_it_was_meant(tmp_path: Path):
    titles = ["a=b;c#d\\e", "two\nlines"]
    path = tmp_path / "chapters.ffmeta"
    board = make_board(titles=titles, title="x = y", offset=0.25)
    path.write_text(EXPORTS["ffmetadata"].make(board), encoding="utf-8")
    with av.open(str(path), format="ffmetadata") as container:
        chapters = container.chapters()
        assert container.metadata["title"] == "x = y"
    assert [chapter["metadata"]["title"] for chapter in chapters[:2]] == ["a=b;c#d\\e", "two lines"]
    assert [chapter["start"] for chapter in chapters] == [250, 4250, 10250, 14250]
    assert chapters[-1]["end"] == 20250


def youtube(extents, **options):
    return EXPORTS["youtube"].make(make_board(extents, **options)).splitlines()


def test_youtube_starts_at_zero_with_an_opening_chapter():
    lines = youtube([(15, 16, 30, 0), (30, 31, 45, 1), (45, 50, 60, 2)], duration=3800)
    assert lines[:-1] == ["0:00 Start", "0:15 Step 1", "0:30 Step 2", "0:45 Step 3"]
    assert lines[-1] == "1:00 Between steps"


def test_youtube_does_not_stretch_a_step_over_what_is_not_shown():
    lines = youtube([(0, 5, 20, 0), (60, 61, 62, 1), (75, 80, 90, 2)], duration=95)
    assert lines == ["0:00 Step 1", "0:20 Between steps", "1:00 Step 2", "1:15 Step 3"]


def test_youtube_does_not_deny_steps_that_are_not_shown():
    board = make_board([(40, 45, 60, 0), (90, 95, 110, 1), (140, 145, 160, 2)], duration=190)

    def lines(*hidden, **settings):
        spans = [span for span in board.timeline if span.kind == "step"]
        spans += [
            TimelineSpan(start=start, end=end, kind="left-out", cluster=cluster)
            for start, end, cluster in hidden
        ]
        changes = {"timeline": spans, "settings": {"key_steps": settings}}
        text = EXPORTS["youtube"].make(board.model_copy(update=changes))
        return [line.partition(" ")[2] for line in text.splitlines()][::2]

    assert lines((10, 20, 3), (70, 71, 4)) == [
        *("Other steps", "Other steps", "Between steps", "Between steps"),
    ]
    # Too short for a step; a pause; too short for what was asked for.
    assert lines((70, 70.5, 3), (120, 125, None))[1:3] == ["Between steps", "Between steps"]
    assert lines((70, 72, 3), min_step_seconds=3.0)[1] == "Between steps"
    assert lines()[0] == "Start"


def test_youtube_moves_a_first_step_that_begins_soon_to_zero():
    lines = youtube([(9, 16, 30, 0), (30, 31, 45, 1), (45, 50, 60, 2)], duration=60)
    assert lines == ["0:00 Step 1", "0:30 Step 2", "0:45 Step 3"]


def test_youtube_merges_a_short_step_into_the_one_before():
    lines = youtube([(0, 1, 20, 0), (20, 21, 25, 1), (25, 30, 40, 2)], duration=40)
    assert lines == ["0:00 Step 1 / Step 2", "0:25 Step 3"]


def test_youtube_groups_many_short_steps_instead_of_losing_them_in_one():
    lines = youtube([(4.0 * i, 4.0 * i + 1, 4.0 * i + 4, i) for i in range(10)], duration=40)
    assert lines == [
        "0:00 Step 1 / Step 2 / Step 3",
        "0:12 Step 4 / Step 5 / Step 6",
        "0:24 Step 7 … Step 10",
    ]


def test_youtube_chapters_last_ten_whole_seconds_each():
    extents = [(i**2 / 3, i**2 / 3 + 0.1, i**2 / 3 + 1, i) for i in range(1, 40)]
    lines = youtube(extents, duration=520, offset=0.4)
    seconds = [int(m) * 60 + int(s) for m, s in (line.split()[0].split(":") for line in lines)]
    assert seconds[0] == 0
    assert all(b - a >= 10 for a, b in zip(seconds, [*seconds[1:], 520], strict=True))


def test_youtube_writes_hours_past_an_hour_and_no_angle_brackets():
    extents = [(0, 1, 9, 0), (600, 601, 602, 1), (3723, 3724, 3725, 2)]
    assert youtube(extents, titles=["a <b>"], duration=4000) == [
        "0:00 a ‹b›",
        "0:10 Between steps",
        "10:00 Step 2",
        "10:10 Between steps",
        "1:02:03 Step 3",
        "1:02:13 Between steps",
    ]


def test_youtube_says_when_there_are_too_few_chapters():
    assert "gives 2" in (youtube_problem(make_board([(0, 1, 2, 0)])) or "")
    assert (
        youtube_problem(make_board([(i, i + 1, i + 9, 0) for i in (0, 20, 40)], duration=60))
        is None
    )


@pytest.mark.parametrize("name", EXPORTS.own)
def test_a_board_without_steps_can_be_exported(name):
    text = EXPORTS[name].make(make_board([]))
    assert text.endswith("\n")
    assert text == text.strip() + "\n"


@pytest.mark.parametrize("name", EXPORTS.own)
def test_features_are_exported_like_a_video_but_without_pictures(name):
    board = make_board(file="take7")
    exported = EXPORTS[name].make(board)
    without = re.sub(r"pictures/step-\d+\.jpg", "", exported)
    if name == "markdown":
        without = re.sub(r" Picture \|| !\[Step \d\]\(\) \|", "", without)
        without = without.replace("| ---: | --- | --- |", "| ---: | --- |", 1)
    assert EXPORTS[name].make(as_features(board)) == without


def test_markdown_says_one_step_in_the_singular():
    assert "· 1 key step ·" in EXPORTS["markdown"].make(make_board([(0, 1, 2, 0)]))
