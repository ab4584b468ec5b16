"""Fixtures: the output folder of a run with several takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from boards import pictures_of
from compared_takes import board_of

from stepreel.report import write_index, write_report
from stepreel.storyboard.editing import seal


@pytest.fixture
def write_takes(tmp_path: Path):
    """Return a function that writes storyboards of takes: name="ABC"."""

    def write(index: bool = True, **takes: str) -> Path:
        out = tmp_path / "out"
        boards = [(name, seal(board_of(order, title=name))) for name, order in takes.items()]
        for name, board in boards:
            write_report(board, out / name, pictures=pictures_of(board), strip=None)
        if index:
            write_index(out, boards, failed=[])
        return out

    return write
