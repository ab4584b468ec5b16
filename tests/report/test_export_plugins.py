"""Exports of other packages, found through entry points."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from boards import make_board, pictures_of

from stepreel.report import EXPORTS, Export, write, write_report
from stepreel.system.registry import Registry, must_be

SMALLEST = """
from stepreel.report import Export

def to_titles(board):
    return "".join(f"{step.time:.1f}\\t{step.title}\\n" for step in board.steps)

EXPORT = Export("titles.txt", to_titles, api_version=1)
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch):
    """Return a function that installs a package with one module and its exports."""

    def install_package(code: str, **points: str) -> None:
        site = tmp_path / "site"
        (site / "extras-1.0.dist-info").mkdir(parents=True)
        (site / "extras.py").write_text(code, encoding="utf-8")
        (site / "extras-1.0.dist-info" / "METADATA").write_text("Name: extras\nVersion: 1.0\n")
        lines = "".join(f"{name} = extras:{value}\n" for name, value in points.items())
        (site / "extras-1.0.dist-info" / "entry_points.txt").write_text(
            f"[stepreel.exports]\n{lines}"
        )
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "extras", raising=False)
        monkeypatch.setattr(
            write, "EXPORTS", Registry("stepreel.exports", EXPORTS.own, check=must_be(Export))
        )
        write._warn_once.cache_clear()

    return install_package


def written_files(folder: Path) -> set[str]:
    board = make_board()
    written = write_report(board, folder, pictures=pictures_of(board), strip=None)
    assert all(path.is_file() for path in written)
    return {path.relative_to(folder).as_posix() for path in written}


def test_the_smallest_export_is_written_beside_the_built_in_ones(install, tmp_path: Path):
    usual = written_files(tmp_path / "usual")
    install(SMALLEST, titles="EXPORT")
    assert written_files(tmp_path / "out") == {*usual, "titles.txt"}
    text = (tmp_path / "out" / "titles.txt").read_text(encoding="utf-8")
    assert text.splitlines()[:2] == ["2.0\tStep 1", "6.0\tStep 2"]


def test_an_export_may_be_bytes_in_a_folder_of_its_own(install, tmp_path: Path):
    install(
        SMALLEST + "RAW = Export('raw/a.bin', lambda board: b'\\xff\\x00', api_version=1)",
        raw="RAW",
    )
    assert "raw/a.bin" in written_files(tmp_path / "out")
    assert (tmp_path / "out" / "raw" / "a.bin").read_bytes() == b"\xff\x00"


@pytest.mark.parametrize(
    ("export", "reason"),
    [
        ("Export('a.txt', lambda board: 1 / 0, api_version=1)", "ZeroDivisionError: division by"),
        ("Export('a.txt', lambda board: None, api_version=1)", "NoneType instead of str or bytes"),
        ("Export('a.txt', lambda board: '\\ud800', api_version=1)", "UnicodeEncodeError"),
        ("Export('../a.txt', lambda board: 'x', api_version=1)", "outside of the storyboard's"),
        ("Export('/tmp/a.txt', lambda board: 'x', api_version=1)", "outside of the storyboard's"),
        ("Export('STEPS.csv', lambda board: 'x', api_version=1)", "'STEPS.csv' is already used"),
        ("Export('b/../storyboard.json', lambda b: 'x', api_version=1)", "is already used"),
        ("Export('pictures/step-01.jpg', lambda b: 'x', api_version=1)", "is already used"),
        ("Export('titles.txt', lambda board: 'x', api_version=1)", "'titles.txt' is already used"),
        ("Export('pictures', lambda board: 'x', api_version=1)", "Error"),
        ("Export(7, lambda board: 'x', api_version=1)", "TypeError"),
        ("type('Wrong', (), {'api_version': 1})", "expected Export"),
        ("Export('a.txt', lambda board: 'x')", "has no api_version"),
        ("Export('a.txt', lambda board: 'x', api_version=2)", "has api_version 2"),
    ],
)
def test_a_broken_export_is_named_and_disturbs_nothing_else(
    install, tmp_path: Path, caplog, export, reason
):
    usual = written_files(tmp_path / "usual")
    install(f"{SMALLEST}\nBROKEN = {export}\n", titles="EXPORT", broken="BROKEN")
    with caplog.at_level(logging.WARNING):
        assert written_files(tmp_path / "out") == {*usual, "titles.txt"}
    (message,) = caplog.messages
    assert "export broken" in message
    assert reason in message
    for name in usual:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "usual" / name).read_bytes()


def test_an_export_that_cannot_be_imported_is_named_once(install, tmp_path: Path, caplog):
    install(f"{SMALLEST}", titles="EXPORT", gone="NOWHERE")
    with caplog.at_level(logging.WARNING):
        assert "titles.txt" in written_files(tmp_path / "first")
        assert "titles.txt" in written_files(tmp_path / "second")
    (message,) = caplog.messages
    assert "export gone cannot be used" in message
    assert "NOWHERE" in message


def test_an_export_cannot_change_the_board(install, tmp_path: Path):
    install(
        f"{SMALLEST}\nGREEDY = Export('a.txt', lambda b: str(b.steps.clear()), api_version=1)\n",
        greedy="GREEDY",
    )
    board = make_board()
    write_report(board, tmp_path / "out", pictures={}, strip=None)
    assert len(board.steps) == 4
