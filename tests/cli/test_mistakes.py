"""Slips on the command line: the message names what is wrong, what is expected and what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from stepreel.cli.app import app

LIBRARY_WORDS = ("Input should", "Value error", "unable to parse", "Traceback")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPREEL_CACHE", str(tmp_path / "cache"))
    np.savez(tmp_path / "a.npz", times=np.arange(60) / 4, gaze=np.eye(60)[:, :3])
    (tmp_path / "labels").mkdir()
    np.savez(tmp_path / "labels" / "a.npz", times=np.arange(60) / 4, labels=np.ones(60, int))
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "binary.csv").write_bytes(b"\x00\xff\xfe")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run a.npz -k 0", "n_clusters='0' is wrong; expected a whole number from 1 to 1000"),
        ("run a.npz -k abc", "'abc' is wrong; expected a whole number from 1 to 1000"),
        ("run a.npz -k 1e9", "'1e9' is wrong; expected a whole number from 1 to 1000"),
        (
            "run a.npz --clusters x",
            "n_clusters='x' is wrong; expected a whole number from 1 to 1000",
        ),
        ("run a.npz --clusters 12..5", "12..5 is empty: the first number is the smaller"),
        (
            "run a.npz --clusters 5..",
            "expected a number from 1 to 1000, a range such as 3..8, or auto",
        ),
        (
            "run a.npz --clusters 5..5000",
            "clusters_range='5000' is wrong; expected a number from 1",
        ),
        ("train a.npz -k -3", "'-3' is wrong; expected a whole number from 1 to 1000"),
        ("run a.npz --top 0", "'--top': '0' is wrong; expected a whole number from 1 to"),
        ("run a.npz --seed x", "'--seed': 'x' is wrong; expected a whole number from 0 to"),
        ("run a.npz --fps nan", "'--fps': 'nan' is wrong; expected a number of 1e-06 or more"),
        ("run a.npz --video foo", "'foo' is wrong; expected link, copy, proxy or embed"),
        ("evaluate npz . --seeds 0", "'0' is wrong; expected a whole number from 1 to 1000"),
        ("evaluate npz . --rate 0", "'0' is wrong; expected a number from 0.001 to 1000"),
        ("demo --seed -1", "'-1' is wrong; expected a whole number of 0 or more"),
        ("schema storybord", "'storybord' is wrong; expected storyboard, comparison or results"),
        ("run ''", "is empty; is a variable of the shell not set?"),
        ("run a.npz --cache file", "--cache file: is a file; expected a folder"),
        ("evaluate npz . --cache file", "--cache file: is a file; expected a folder"),
        ("cache --cache file --clear", "--cache file: is a file; expected a folder"),
        ("info --cache file", "--cache file: is a file; expected a folder"),
        ("run a.npz --titles no.csv", "no.csv: does not exist; expected a CSV file of titles"),
        ("run a.npz --titles binary.csv", "not UTF-8 text; expected a CSV file of titles"),
        ("render empty", "empty: there is no storyboard.json in it, nor in the folders in it"),
        ("render a.npz/x", "a.npz/x: does not exist; expected a storyboard"),
        ("score --truth empty --prediction labels", "no file of true steps; expected a file per"),
        ("rum a.npz", "No such command 'rum'. Did you mean 'run'?"),
    ],
)
def test_a_slip_is_explained(folder, line, words):
    arguments = ["" if part == "''" else part for part in line.split()]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"})
    assert done.exit_code == 2, done.output
    text = re.sub(r"[\s│]+", " ", done.output)
    assert words in text
    assert not any(word in text for word in LIBRARY_WORDS)
