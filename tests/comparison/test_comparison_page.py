"""The page of a comparison: safe, self-contained, and small enough."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from boards import as_features, jpeg, make_board
from compared_takes import board_of

from stepreel.comparison.compare import compare
from stepreel.comparison.page import render_comparison
from stepreel.comparison.pictures import embedded_pictures, shrink, size_of
from stepreel.comparison.takes import Take, Takes
from stepreel.report import write_report

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


def render(*takes: Take) -> str:
    read = Takes(list(takes))
    return render_comparison(compare(read), read, Path("out").resolve())


def test_names_and_titles_are_escaped_everywhere():
    takes = [
        Take(
            f"{number} {HOSTILE}",
            Path(f"out/{number}"),
            board_of(order, title=f"{number} {HOSTILE}", titles=[HOSTILE] * 3),
        )
        for number, order in enumerate(("ABC", "ABC", "ACB"))
    ]
    page = render(*takes)
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def test_nothing_is_loaded_from_the_network_and_no_style_is_inline():
    page = render(*(Take(n, Path(f"out/{n}"), board_of("ABC", title=n)) for n in ("a", "b")))
    assert re.findall(r"""(?:src|href)=["']?https?:""", page) == []
    assert " style=" not in page
    assert "default-src &#39;none&#39;; img-src data:; media-src &#39;self&#39; file:" in page
    assert not re.search(r"\son\w+=", page)


def test_features_have_no_pictures_and_say_why_nothing_plays():
    boards = [as_features(board_of(order, title=order)) for order in ("ABC", "ACB")]
    page = render(*(Take(board.title, Path(f"out/{board.title}"), board) for board in boards))
    assert '<img src="data:' not in page
    assert "known by its features only" in page


def test_a_video_is_addressed_from_the_page(tmp_path):
    board = board_of("ABC", file="../../my clips/take #1.mp4")
    takes = Takes([Take(n, tmp_path / "out" / n, board) for n in ("a", "b")])
    comparison = compare(takes)
    assert '"../my%20clips/take%20%231.mp4"' in render_comparison(
        comparison, takes, tmp_path / "out"
    )
    hostile = board_of("ABC", file="javascript:alert(1)")
    takes = Takes([Take(n, tmp_path / "out" / n, hostile) for n in ("a", "b")])
    assert '"javascript:' not in render_comparison(compare(takes), takes, tmp_path / "out")


def test_pictures_outside_of_their_folder_are_not_read(tmp_path):
    (tmp_path / "secret.jpg").write_bytes(jpeg(80))
    (tmp_path / "take").mkdir()
    (tmp_path / "take" / "own.jpg").write_bytes(jpeg(80))
    files = {"own": (tmp_path / "take", "own.jpg"), "other": (tmp_path / "take", "../secret.jpg")}
    assert list(embedded_pictures(files)) == ["own"]


def noise(width: int, height: int) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), np.uint8)
    return cv2.imencode(".jpg", cv2.GaussianBlur(pixels, (0, 0), 1))[1].tobytes()


def test_the_page_of_twenty_takes_and_twelve_kinds_stays_below_five_megabytes(tmp_path):
    picture = noise(480, 270)
    takes = []
    for number in range(20):
        name = f"take{number}"
        board = board_of("ABCDEFGHIJKL", title=name)
        write_report(
            board,
            tmp_path / name,
            pictures={step.index: picture for step in board.steps},
            strip=None,
        )
        takes.append(Take(name, tmp_path / name, board))
    read = Takes(takes)
    page = render_comparison(compare(read), read, tmp_path)
    assert page.count("data:image/jpeg") == 240
    assert len(page) < 5_000_000


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xc0\x00", b"GIF89a", b"\xff\xd8\xff\xff\x00\x00"]
)
def test_what_is_no_picture_is_left_out(data):
    assert shrink(data, 100, 70) is None


def test_a_picture_that_states_a_huge_size_is_not_decoded():
    huge = bytearray(jpeg(80))
    place = huge.index(b"\xff\xc0") + 5
    huge[place : place + 4] = b"\xff\xff\xff\xff"
    assert size_of(bytes(huge)) == (65535, 65535)
    assert shrink(bytes(huge), 100, 70) is None


def test_takes_without_steps_still_have_a_page():
    page = render(
        *(
            Take(
                n,
                Path(f"out/{n}"),
                make_board([], title=n).model_copy(update={"clustering_id": "x"}),
            )
            for n in ("a", "b")
        )
    )
    assert "there is no usual order" in page
