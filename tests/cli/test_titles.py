"""Names given by a person, and storyboards edited by hand, in `stepreel run`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.commands import BRIEF, stepreel
from stepreel import load_model

FEATURES = ["--clusters", "3"]


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


def edit_title(takes, name="one"):
    path = takes / "out" / name / "storyboard.json"
    path.write_text(path.read_text().replace('"title": "Step A"', '"title": "Mine"'))


def test_storyboards_that_are_kept_keep_their_model_and_a_group_of_their_own(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    first = board_of(takes)["clustering_id"]
    assert first == board_of(takes, "two")["clustering_id"] != ""
    edit_title(takes)

    done = run(takes, "--set", "train.seed=5", "--clusters", "2", names=("one", "two"))
    assert (board_of(takes)["clustering_id"], done.returncode) == (first, 1)
    assert board_of(takes, "two")["clustering_id"] != first
    earlier = takes / "out" / f"model-{first[:8]}"
    assert f"kept the earlier model, which other storyboards here need: {earlier}\n" in done.stdout
    assert load_model(earlier).n_clusters == 3
    assert load_model(takes / "out").n_clusters == 2
    index = (takes / "out" / "index.html").read_text()
    assert "only within a group" in index
    assert index.count("edited by hand") == 1

    # The kept model gives the kept letters back.
    again = stepreel("run", takes / "one.npz", "-o", takes / "again", "--model", earlier)
    assert again.returncode == 0, again.stderr
    assert board_of(takes, "../again/one")["clustering_id"] == first


def test_one_kind_cannot_be_named_where_letters_mean_different_steps(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    edit_title(takes)
    assert run(takes, "--clusters", "2", names=("one", "two")).returncode == 1
    (takes / "titles.csv").write_text("A,Open the box\n")
    done = stepreel("render", takes / "out", "--titles", takes / "titles.csv")
    assert done.returncode == 2
    assert "are of different runs" in done.stderr
    assert "Open the box" not in (takes / "out" / "two" / "storyboard.json").read_text()
    alone = stepreel("render", takes / "out" / "two", "--titles", takes / "titles.csv")
    assert alone.returncode == 0, alone.stderr


def test_no_model_is_kept_that_no_storyboard_needs(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    assert run(takes, "--clusters", "2", names=("one", "two")).returncode == 0
    assert [path.name for path in (takes / "out").glob("model*")] == ["model"]


def test_a_storyboard_with_a_slip_in_it_keeps_its_model(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    first = board_of(takes)["clustering_id"]
    path = takes / "out" / "one" / "storyboard.json"
    path.write_text(path.read_text()[:-10])  # as an unfinished edit leaves it
    assert run(takes, "--clusters", "2", names=("two",)).returncode == 0
    assert load_model(takes / "out" / f"model-{first[:8]}").n_clusters == 3


def test_an_index_follows_when_one_of_its_recordings_is_run_again(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    done = run(takes, "--clusters", "2")
    assert done.returncode == 0, done.stderr
    assert f"all recordings: {takes / 'out' / 'index.html'}\n" in done.stdout
    index = (takes / "out" / "index.html").read_text()
    assert "Group 1: 1 recording<" in index
    assert "Group 2: 1 recording<" in index


def test_the_index_goes_on_listing_what_earlier_runs_left_in_the_folder(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    (takes / "other.npz").write_bytes((takes / "two.npz").read_bytes())
    assert run(takes, names=("other",)).returncode == 0
    index = (takes / "out" / "index.html").read_text()
    assert "Key steps of 3 recordings" in index
    assert "Group 1: 2 recordings<" in index
    assert "Group 2: 1 recording<" in index
    # Two of three, which form a group in the order of the index; then all, in another order.
    assert run(takes, "--clusters", "2", names=("other", "one")).returncode == 0
    index = (takes / "out" / "index.html").read_text()
    assert "Key steps of 3 recordings" in index
    assert index.index('href="./one/') < index.index('href="./other/') < index.index('href="./two/')
    assert run(takes, names=("two", "other", "one")).returncode == 0
    index = (takes / "out" / "index.html").read_text()
    assert index.index('href="./two/') < index.index('href="./other/') < index.index('href="./one/')
    assert "Group 2" not in index


def test_a_recording_that_can_be_read_at_last_is_no_longer_listed_as_failed(takes):
    good = (takes / "two.npz").read_bytes()
    (takes / "two.npz").write_bytes(b"")
    assert run(takes, names=("one", "two")).returncode == 1
    assert "1 could not be read" in (takes / "out" / "index.html").read_text()
    (takes / "two.npz").write_bytes(good)
    assert run(takes, names=("two",)).returncode == 0
    index = (takes / "out" / "index.html").read_text()
    assert "Key steps of 2 recordings" in index
    assert "could not be read" not in index


def test_an_index_of_an_earlier_version_stays_until_several_are_run(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    page = "<title>Key steps of 2 recordings</title>"
    (takes / "out" / "index.html").write_text(page)
    done = run(takes, names=("two",))
    assert "run all its recordings in one command to make it again" in done.stderr
    assert (takes / "out" / "index.html").read_text() == page
    assert run(takes, names=("one", "two")).returncode == 0
    assert 'href="./one/' in (takes / "out" / "index.html").read_text()


def test_a_run_that_writes_no_storyboard_leaves_the_model_alone(takes):
    assert run(takes).returncode == 0
    edit_title(takes)
    before = (takes / "out" / "model" / "model.json").read_bytes()
    assert run(takes, "--clusters", "2").returncode == 2
    assert (takes / "out" / "model" / "model.json").read_bytes() == before
    assert [path.name for path in (takes / "out").glob("model*")] == ["model"]


def test_training_into_the_folder_of_a_run_keeps_the_model_its_storyboards_need(takes):
    assert run(takes).returncode == 0
    first = board_of(takes)["clustering_id"]
    model = takes / "out" / "model"
    done = stepreel("train", takes / "one.npz", "-o", model, *BRIEF, "-k", "2")
    assert done.returncode == 0, done.stderr
    assert load_model(takes / "out" / f"model-{first[:8]}").n_clusters == 3
    assert load_model(model).n_clusters == 2
    assert "kept the earlier model" in done.stdout


def test_a_storyboard_of_its_own_in_the_folder_hides_no_others(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    first = board_of(takes)["clustering_id"]
    board = (takes / "out" / "one" / "storyboard.json").read_text()
    (takes / "out" / "storyboard.json").write_text(board.replace(first, "another"))
    assert run(takes, "--clusters", "2").returncode == 0
    assert load_model(takes / "out" / f"model-{first[:8]}").n_clusters == 3


def test_a_model_that_cannot_be_kept_is_not_overwritten(takes):
    assert run(takes, names=("one", "two")).returncode == 0
    first = board_of(takes)["clustering_id"]
    edit_title(takes)
    (takes / "out" / f"model-{first[:8]}").write_text("in the way")
    done = run(takes, "--clusters", "2", names=("one", "two"))
    assert done.returncode == 1
    assert "is in the way" in done.stderr
    assert load_model(takes / "out").n_clusters == 3
