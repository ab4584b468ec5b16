"""Fixtures that open pages of storyboards in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from boards import jpeg, pictures_of
from browsing import Opened

from stepreel.report import write_report

STRIP = jpeg(120, width=320, height=36)


@pytest.fixture
def open_board(browser, tmp_path: Path):
    """Return a function that writes a board's report and opens its page."""
    opened: list[Opened] = []

    def open_it(board, **options) -> Opened:
        folder = tmp_path / "report"
        strip = STRIP if board.strip else None
        write_report(board, folder, pictures=pictures_of(board), strip=strip)
        opened.append(Opened(browser, folder / "storyboard.html", **options))
        return opened[-1]

    yield open_it
    for page in opened:
        page.context.close()


@pytest.fixture
def with_video(open_board, place_video):
    """Return a function that opens a board beside its video and waits until it can be played."""

    def open_it(board, **options) -> Opened:
        place_video(board.recording.file.removeprefix("../"))
        opened = open_board(board, **options)
        opened.wait_for("document.getElementById('video').readyState >= 1")
        return opened

    return open_it
