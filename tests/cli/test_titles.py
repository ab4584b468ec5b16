"""Names given by a person, and storyboards edited by hand, in `stepreel run`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.commands import FAST, stepreel

FEATURES = [*FAST[:4], "--clusters", "3"]


@pytest.fixture
def takes(tmp_path):
    """Two takes of three steps; the first is done again at the end."""
    for name in ("one", "two"):
        rng = np.random.default_rng(len(name))
        hands = np.repeat(np.eye(4)[[0, 1, 2, 0]], 24, axis=0) + 0.05 * rng.normal(size=(96, 4))
        np.savez(tmp_path / f"{name}.npz", times=np.arange(96) / 4, hands=hands)
    return tmp_path


def run(takes, *arguments, names=("one",)):
    files = [takes / f"{name}.npz" for name in names]
    done = stepreel(
        "run", *files, "-o", takes / "out", *FEATURES, *arguments, cache=takes / "cache"
    )
    assert "Traceback" not in done.stderr
    return done


def board_of(takes, name="one"):
    return json.loads((takes / "out" / name / "storyboard.json").read_text())


def test_titles_are_everywhere(takes):
    (takes / "titles.csv").write_text("kind,title\nA,Open the box\nQ,Never\n")
    done = run(takes, "--titles", takes / "titles.csv", names=("one", "two"))
    assert done.returncode == 0, done.stderr
    for name in ("one", "two"):
        folder = takes / "out" / name
        for file in ("storyboard.html", "steps.csv", "steps.md", "chapters.vtt", "chapters.ffmeta"):
            assert "Open the box" in (folder / file).read_text(), file
        assert "kind Q" not in str(board_of(takes, name)["notes"])
    unused = "stepreel: titles.csv: names kind Q, found in none of the recordings"
    assert done.stderr.splitlines().count(unused) == 1
    assert "Open the box" in done.stdout


def test_the_storyboard_of_a_single_recording_names_unused_titles(takes):
    (takes / "titles.csv").write_text("A,Open the box\nQ,Never\n9,Nor this\n")
    done = run(takes, "--titles", takes / "titles.csv")
    note = "Not found in this recording, but named in titles.csv: kind Q, step 9."
    assert board_of(takes)["notes"][-1] == note
    assert f"  note: {note}\n" in done.stdout
    assert "found in none" not in done.stderr


def test_without_titles_steps_are_named_by_kind(takes):
    done = run(takes)
    assert done.returncode == 0, done.stderr
    titles = [step["title"] for step in board_of(takes)["steps"]]
    assert titles[:2] == ["Step A", "Step B"]
    assert "Step A" in (takes / "out" / "one" / "chapters-youtube.txt").read_text()


def test_wrong_titles_are_refused_before_anything_is_done(takes):
    (takes / "titles.csv").write_text("the first one,x\n")
    done = run(takes, "--titles", takes / "titles.csv")
    assert done.returncode == 2
    assert "neither a kind" in done.stderr
    assert not (takes / "out").exists()


def test_an_edited_storyboard_is_kept_and_the_others_are_written(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    path = takes / "out" / "one" / "storyboard.json"
    content = json.loads(path.read_text())
    content["steps"][0]["title"] = "Mine"
    path.write_text(json.dumps(content))
    (takes / "out" / "two" / "storyboard.html").unlink()

    done = run(takes, names=("one", "two"))
    assert done.returncode == 1
    assert "was edited by hand" in done.stderr
    assert "--force" in done.stderr
    assert done.stdout.endswith("\n1 done, 1 kept\n")
    assert json.loads(path.read_text()) == content
    assert (takes / "out" / "two" / "storyboard.html").exists()
    index = (takes / "out" / "index.html").read_text()
    assert "Key steps of 2 recordings" in index
    assert "could not be read" not in index

    assert run(takes, "--force", names=("one", "two")).returncode == 0
    assert board_of(takes)["steps"][0]["title"] == "Step A"


def test_a_run_that_could_only_keep_what_was_edited_says_so(takes):
    assert run(takes).returncode == 0
    path = takes / "out" / "one" / "storyboard.json"
    path.write_text(path.read_text().replace("Step A", "Mine"))
    (takes / "broken.npz").write_bytes(b"no archive")

    alone = run(takes)
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "was edited by hand and is kept as it is" in alone.stderr

    both = run(takes, names=("one", "broken"))
    assert both.returncode == 2
    assert both.stdout == "0 done, 1 kept, 1 failed\n"
    assert "was edited by hand and is kept as it is" in both.stderr
    assert "broken.npz" in both.stderr
