from __future__ import annotations

import errno
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from boards import as_features, make_board, pictures_of, with_background

from stepreel.errors import OutputError
from stepreel.report import EXPORTS, read_pictures, render_page, write, write_report
from stepreel.report.addresses import address_of, path_inside
from stepreel.report.cards import cards_of
from stepreel.report.palette import COLOURS, kind_of
from stepreel.storyboard.review_notes import UNCLEAR_NOTE
from stepreel.storyboard.schema import (
    DecisionFacts,
    Likeness,
    StepExplanation,
    read_storyboard,
)

NASTY = "</script><script>alert(1)</script>\"'&\u2028<img src=x onerror=alert(2)>"
STRIP = b"\xff\xd8strip"


class Elements(HTMLParser):
    """Collects start tags, and the text of the page's data."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data_text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][1].get("type") == "application/json":
            self.data_text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_report_contains_everything_and_its_json_reads_back(tmp_path: Path):
    board = make_board(title="Schachtel falten – 折り紙")
    written = write_report(board, tmp_path, pictures=pictures_of(board), strip=STRIP)
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    assert names == {
        "storyboard.json",
        "storyboard.html",
        "pictures/strip.jpg",
        *(f"pictures/step-0{index}.jpg" for index in range(1, 5)),
        *(export.file for export in EXPORTS.own.values()),
    }
    assert all(path.is_file() for path in written)
    assert read_storyboard(tmp_path / "storyboard.json") == board
    assert "折り紙" in (tmp_path / "storyboard.json").read_text(encoding="utf-8")


def test_pictures_of_an_earlier_run_are_removed_and_other_files_kept(tmp_path: Path):
    board = make_board()
    write_report(board, tmp_path, pictures=pictures_of(board), strip=None)
    (tmp_path / "pictures" / "mine.jpg").write_bytes(b"x")
    fewer = make_board([(0, 1, 2, 0)])
    write_report(fewer, tmp_path, pictures=pictures_of(fewer), strip=None)
    left = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert left == {"step-01.jpg", "mine.jpg"}


@pytest.mark.parametrize(
    ("number", "expected"), [(errno.ENOSPC, "MB free"), (errno.EACCES, "permissions")]
)
def test_a_report_that_cannot_be_written_says_what_to_do(tmp_path, monkeypatch, number, expected):
    def fail(*_):
        raise OSError(number, "no")

    monkeypatch.setattr(write, "write_all", fail)
    with pytest.raises(OutputError, match=expected) as caught:
        write_report(make_board(), tmp_path / "out", pictures={}, strip=None)
    assert str(tmp_path / "out") in str(caught.value)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path):
    (tmp_path / "out").write_text("not a folder")
    with pytest.raises(OutputError, match="in the way"):
        write_report(make_board(), tmp_path / "out", pictures={}, strip=None)


def test_a_picture_outside_of_the_folder_is_neither_written_nor_embedded(tmp_path: Path):
    assert path_inside(tmp_path / "out", "../secret.jpg") is None
    (tmp_path / "secret.jpg").write_bytes(b"\xff\xd8secret")
    board = make_board([(0, 1, 2, 0)])
    step = board.steps[0].model_copy(update={"picture": "../secret.jpg"})
    board = board.model_copy(update={"steps": [step]})
    with pytest.raises(ValueError, match="outside"):
        write_report(board, tmp_path / "out", pictures={1: b"x"}, strip=None)
    assert read_pictures(board, tmp_path / "out") == ({}, None)


def test_a_page_rendered_from_the_folder_is_the_one_that_was_written(tmp_path: Path):
    board = make_board()
    write_report(board, tmp_path, pictures=pictures_of(board), strip=STRIP)
    pictures, strip = read_pictures(board, tmp_path)
    page = render_page(board, pictures=pictures, strip=strip)
    assert page == (tmp_path / "storyboard.html").read_text(encoding="utf-8")


def test_pictures_are_embedded_from_memory_and_not_read_back(tmp_path: Path, monkeypatch):
    def refuse(path: Path) -> bytes:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    board = make_board()
    write_report(board, tmp_path, pictures=pictures_of(board), strip=STRIP)
    page = (tmp_path / "storyboard.html").read_text(encoding="utf-8")
    assert len([a for a in Elements(page).all("img") if "data:" in (a.get("src") or "")]) == 4


def test_only_jpegs_are_embedded():
    board = make_board([(0, 1, 2, 0), (2, 3, 4, 1)])
    page = render_page(board, pictures={1: b"<svg onload=alert(1)>"}, strip=b"GIF89a")
    assert page.count("No picture</p>") == 2
    assert "data:image" not in page


def test_names_and_titles_stay_text():
    board = make_board(titles=[NASTY], title=NASTY, file="../" + NASTY.replace("/", ""))
    elements = Elements(render_page(board, pictures={}))
    assert [attributes.get("type") for attributes in elements.all("script")] == [
        None,
        "application/json",
        None,
    ]
    assert not [a for _, a in elements.tags if "onerror" in a]
    assert json.loads(elements.data_text)["steps"][0]["title"] == NASTY
    assert not re.search("[<>&\u2028]", elements.data_text)


def test_the_page_asks_for_nothing_but_the_video(tmp_path: Path):
    board = make_board()
    write_report(board, tmp_path, pictures=pictures_of(board), strip=STRIP)
    elements = Elements((tmp_path / "storyboard.html").read_text(encoding="utf-8"))
    addresses = [a[key] for _, a in elements.tags for key in ("src", "href") if a.get(key)]
    outside = [a for a in addresses if not a.startswith(("data:", "#"))]
    assert outside == ["../box.mp4"]
    assert not [a for _, a in elements.tags if "style" in a or "onclick" in a]


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("../a b.mp4", "../a%20b.mp4"),
        ("a:b.mp4", "./a%3Ab.mp4"),
        ("file:b.mp4", "./file%3Ab.mp4"),
        ("javascript:alert(1)//.mp4", "./javascript%3Aalert%281%29//.mp4"),
        ("../x\"'<>#%?.mp4", "../x%22%27%3C%3E%23%25%3F.mp4"),
        ("Küche/日.mp4", "./K%C3%BCche/%E6%97%A5.mp4"),
        ("//host/a.mp4", "file:///host/a.mp4"),
        ("file:///D:/a%20b.mp4", "file:///D:/a%20b.mp4"),
    ],
)
def test_any_file_name_becomes_an_address_of_that_file(file, address):
    assert address_of(file) == address


@pytest.mark.parametrize("n_steps", [0, 1, 20, 60])
def test_pages_of_any_number_of_steps_can_be_made(n_steps):
    extents = [(100.0 * i, 100.0 * i + 9, 100.0 * i + 50, i % 17) for i in range(n_steps)]
    page = render_page(make_board(extents, duration=3 * 3600), pictures={})
    shown = [a for _, a in Elements(page).tags if "data-step" in a]
    assert len(shown) == n_steps
    assert ("No key steps were found" in page) == (n_steps == 0)


def test_a_repeated_step_links_the_others_of_its_kind():
    elements = Elements(render_page(make_board(), pictures={}))
    assert [a["data-go"] for a in elements.all("a") if "data-go" in a] == ["3", "1"]


def test_an_unclear_step_is_not_called_done_again():
    board = make_board()
    steps = [
        step.model_copy(update={"confidence": 0.03, "is_repeat": False}) for step in board.steps
    ]
    page = render_page(board.model_copy(update={"steps": steps}), pictures={})
    assert "done again" not in page.replace("is a step called done again", "")
    assert not [a for a in Elements(page).all("a") if "data-go" in a]


def test_hundreds_of_steps_are_folded_into_one_card_per_kind():
    extents = [(10.0 * i, 10.0 * i + 2, 10.0 * i + 9, i % 7) for i in range(300)]
    jpeg = b"\xff\xd8" + bytes(20_000)
    pictures = dict.fromkeys(range(1, 301), jpeg)
    page = render_page(make_board(extents, duration=3000), pictures=pictures)
    elements = Elements(page)
    assert len([a for a in elements.all("li") if "data-kind" in a]) == 7
    visits = [a for a in elements.all("button") if "data-step" in a]
    assert [int(a["data-step"]) for a in visits[:3]] == [1, 8, 15]
    assert len(visits) == 300
    assert len(elements.all("img")) == 8  # one per kind, and the player's still
    assert len(page) < 600_000


def test_the_same_board_gives_the_same_page():
    assert render_page(make_board(), pictures={}) == render_page(make_board(), pictures={})


@pytest.mark.parametrize("file", [None, "../take7.npz"])
def test_a_page_of_features_offers_nothing_that_needs_a_video(file):
    page = render_page(as_features(with_background(make_board()), file=file), pictures={})
    elements = Elements(page)
    assert {"video", "img", "input"}.isdisjoint(tag for tag, _ in elements.tags)
    assert not [a for _, a in elements.tags if "data-play" in a or a.get("class") == "picture"]
    assert not re.search(
        "No picture|[Cc]hoose the video|could not be shown|<kbd>Space|Player", page
    )
    assert "features, no video" in page
    assert (file or "arrays in memory") in page
    policy = next(a["content"] for a in elements.all("meta") if "http-equiv" in a)
    assert "media-src" not in policy


def test_features_without_steps_make_a_page_that_does_not_speak_of_a_video():
    page = render_page(as_features(make_board([])), pictures={})
    assert "No key steps were found" in page
    assert "watched" not in page


# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ np.clip(sight @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_colours_stay_apart_for_every_kind_of_sight(sight):
    seen = [lab(colour, np.asarray(SIGHTS[sight])) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 16


def test_kinds_past_the_palette_get_their_own_colours_and_letters():
    kinds = [kind_of(cluster) for cluster in range(40)]
    assert len({kind.colour for kind in kinds}) == 40
    assert [kinds[i].letter for i in (0, 25, 26)] == ["A", "Z", "AA"]


def test_a_short_step_is_written_with_tenths_of_a_second():
    board = make_board([(3.2, 3.5, 3.9, 0), (4.0, 9.0, 18.0, 1)])
    page = render_page(board, pictures={})
    text = re.sub(r"\s+", " ", page)
    assert "0:03.2 – 0:03.9<span" in text
    assert "0:04 – 0:18<span" in text
    assert ">0:03.5</time>" in text
    assert [step["extent"] for step in json.loads(Elements(page).data_text)["steps"]] == [
        *("0:03.2 – 0:03.9", "0:04 – 0:18")
    ]
    assert "0:03.2 – 0:03.9" in EXPORTS.own["markdown"].make(board)


def test_a_page_without_clear_structure_says_so_once_near_its_top():
    board = make_board()
    board = board.model_copy(update={"notes": [UNCLEAR_NOTE, *board.notes]})
    page = render_page(board, pictures={})
    assert page.count("No clear structure found") == 1
    assert page.index("No clear structure found") < page.index('id="timeline"')
    assert "other or more takes of the same task" in page  # true of one recording and of several
    assert board.notes[1] in page
    assert "No clear structure" not in render_page(make_board(), pictures={})


def test_the_page_says_how_steps_were_found():
    board = make_board()
    assert "How steps were found" not in render_page(board, pictures={})
    decision = DecisionFacts(sentence="Steps recur: <b>grouped</b>.", figures={"time_weight": 0.0})
    page = render_page(board.model_copy(update={"decision": decision}), pictures={})
    assert "<dt>How steps were found</dt><dd>Steps recur: &lt;b&gt;grouped&lt;/b&gt;.</dd>" in page


def test_the_legend_names_kinds_that_have_a_title():
    board = make_board(titles=["Open", "Step B", "Open", "Close <it>"])
    legend = render_page(board, pictures={}).split('class="kinds"')[1].split("</ul>")[0]
    assert re.findall(r'class="kind-title"[^>]*>([^<]+)<', legend) == ["Open", "Close &lt;it&gt;"]


def test_one_step_with_a_title_of_its_own_does_not_rename_its_kind():
    extents = [(2.0 * i, 2.0 * i + 1, 2.0 * i + 2, i % 2) for i in range(60)]
    titles = ["Fold" if i % 2 == 0 else f"Turn {i}" for i in range(60)]
    titles[2] = "Fold, then glue"
    board = make_board(extents, titles=titles, duration=120)
    assert [card.title for card in cards_of(board)] == ["Fold", "Step B"]


def test_the_card_of_a_kind_shows_the_median_of_its_visits_and_their_range():
    extents = [(2.0 * i, 2.0 * i + 1, 2.0 * i + 2, 0) for i in range(41)]
    board = make_board(extents, duration=82)
    steps = [
        step.model_copy(update={"confidence": 0.9 if step.index == 1 else step.index / 200})
        for step in board.steps
    ]
    page = render_page(board.model_copy(update={"steps": steps}), pictures={})
    words = "Confidence 11 %, the median of 41 visits, 1 to 90 %"
    assert f'title="{words}: {board.confidence.meaning}"' in page
    assert f'aria-label="{words}"' in page
    assert 'aria-hidden="true">11 %</span>' in page


def explained(board, explanations):
    """Give steps explanations: cues at start and end, and the steps that look alike."""
    steps = []
    for step in board.steps:
        start, end, *alike = explanations.get(step.index, (None, None))
        found = StepExplanation(
            start_cues=None if start is None else dict.fromkeys(start, 3.0),
            end_cues=None if end is None else dict.fromkeys(end, 3.0),
            looks_like=[Likeness(step=n, similarity=0.75) for n in alike],
        )
        steps.append(step.model_copy(update={"explanation": found}))
    return board.model_copy(update={"steps": steps})


def lines_of_explanation(page):
    return [re.sub(r"<[^>]+>", "", line) for line in re.findall(r'<p class="why">(.*?)</p>', page)]


def test_a_card_says_what_changes_where_it_starts_and_which_steps_look_alike():
    board = explained(
        make_board(),
        {
            1: (None, ["motion"], 2),
            2: (["motion", "appearance"], ["gaze"], 1, 4, 3),
            3: (["gaze"], [], 1),
            4: ([], None),
        },
    )
    page = render_page(board, pictures={})
    assert lines_of_explanation(page) == [
        "Looks like 2",
        "Starts with a change in motion and appearance; looks like 1, 3 and 4",
        "Starts with a change in gaze",  # that 1 is the same step is said already
    ]
    links = [a for a in Elements(page).all("a") if "looks like" in (a.get("aria-label") or "")]
    assert [a["href"] for a in links] == ["#step-2", "#step-1", "#step-3", "#step-4"]
    assert links[0]["data-go"] == "2"
    assert "Steps at most half as different" in page


def test_a_page_without_explanations_does_not_explain_them():
    for board in (make_board(), explained(make_board(), {})):
        page = render_page(board, pictures={})
        assert lines_of_explanation(page) == []
        assert "Looks like" not in page


def test_names_of_cues_are_escaped_and_steps_that_are_gone_are_not_linked():
    board = explained(make_board(), {1: ([NASTY], [NASTY], 2, 9, 1)})
    page = render_page(board, pictures={})
    assert NASTY not in page
    assert "onerror=alert(2)&gt;" in page
    (line,) = lines_of_explanation(page)
    assert line.endswith("; looks like 2")


def test_a_card_of_a_kind_explains_no_single_step():
    extents = [(float(n), n + 0.4, n + 0.9, n % 3) for n in range(50)]
    board = make_board(extents, duration=60.0)
    board = explained(board, {n: (["motion"], ["motion"], 1 + n % 50) for n in range(1, 51)})
    assert lines_of_explanation(render_page(board, pictures={})) == []
