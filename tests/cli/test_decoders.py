"""`run --decoder`: every decoder from features to storyboard, and again with its model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from steps.decoders.tasks import recurring

from cli.commands import stepreel

CLUSTERERS = ("finch", "tw-finch", "ward", "procut")
UNTRAINED = ("hmm", "clock", "changes", "auto", "refined", *CLUSTERERS)


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    """Ten takes of a task whose steps recur, as feature files."""
    folder = tmp_path_factory.mktemp("takes")
    recordings, _ = recurring(10)
    for recording in recordings:
        arrays = {cue: track.features for cue, track in recording.tracks.items()}
        np.savez(folder / f"{recording.name}.npz", times=recording.times, **arrays)
    return folder


def board_of(folder):
    return json.loads((folder / "storyboard.json").read_text())


def run(takes, output, *more, cache):
    return stepreel("run", *takes, "-o", output, "-k", 4, *more, cache=cache)


@pytest.mark.parametrize("decoder", UNTRAINED)
def test_a_decoder_without_training_finds_steps_and_finds_them_again(takes, tmp_path, decoder):
    files = sorted(takes.iterdir())
    cache = tmp_path / "cache"
    options = ("--decoder", decoder, "--set", "loss.window_seconds=1")
    done = run(files[:9], tmp_path / "out", *options, cache=cache)
    assert done.returncode == 0, done.stderr
    assert "learning" not in done.stderr
    board = board_of(tmp_path / "out" / "take0")
    assert board["settings"]["key_steps"]["decoder"] == decoder
    assert len({step["cluster"] for step in board["steps"]}) > 1
    model = json.loads((tmp_path / "out" / "model" / "model.json").read_text())
    assert (model["epochs"], model["loss"]) == (0, None)
    assert model["decoder"] in ("hmm", "clock", "changes", *CLUSTERERS)
    later = stepreel(
        "run", files[9], "--model", tmp_path / "out", "-o", tmp_path / "new", cache=cache
    )
    assert later.returncode == 0, later.stderr
    assert board_of(tmp_path / "new" / "take9")["clustering_id"] == board["clustering_id"] != ""


def test_what_auto_found_out_is_printed_once_and_kept_in_the_storyboard(takes, tmp_path):
    files = sorted(takes.iterdir())
    options = ("--decoder", "auto", "--set", "loss.window_seconds=1")
    done = run(files, tmp_path / "out", *options, cache=tmp_path)
    sentence = "Steps recur: moments were grouped by what they show."
    assert done.stdout.count(f"how steps were found: {sentence}") == 1
    decision = board_of(tmp_path / "out" / "take0")["decision"]
    assert decision["sentence"] == sentence
    assert decision["figures"]["order_bits"] > 0
    page = (tmp_path / "out" / "take0" / "storyboard.html").read_text()
    assert f"<dd>{sentence}</dd>" in page


def test_an_unknown_decoder_is_refused_before_any_work_with_the_nearest_name(takes, tmp_path):
    done = run(sorted(takes.iterdir()), tmp_path / "out", "--decoder", "hm", cache=tmp_path)
    assert done.returncode == 2
    assert "unknown decoder 'hm'" in done.stderr
    assert "hmm" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_model_keeps_its_decoder(takes, tmp_path):
    files = sorted(takes.iterdir())
    run(files[:3], tmp_path / "out", "--decoder", "clock", cache=tmp_path)
    done = stepreel(
        *("run", files[3], "--model", tmp_path / "out", "-o", tmp_path / "new"),
        *("--decoder", "hmm"),
        cache=tmp_path,
    )
    assert done.returncode == 2
    assert "found with the decoder clock, not hmm" in done.stderr


def test_a_model_whose_arrays_do_not_fit_together_is_refused(takes, tmp_path):
    from hashlib import blake2b

    from safetensors.numpy import load, save

    files = sorted(takes.iterdir())
    run(files[:3], tmp_path / "out", "--decoder", "hmm", cache=tmp_path)
    folder = tmp_path / "out" / "model"
    arrays = load((folder / "model.safetensors").read_bytes())
    card = json.loads((folder / "model.json").read_text())
    for damaged in (
        {name: array for name, array in arrays.items() if name != "kinds.means"},
        arrays | {"kinds.means": arrays["kinds.means"][:, :-1].copy()},
    ):
        content = save(damaged)
        card["weights_hash"] = blake2b(content, digest_size=16).hexdigest()
        (folder / "model.safetensors").write_bytes(content)
        (folder / "model.json").write_text(json.dumps(card))
        done = stepreel(
            "run", files[3], "--model", tmp_path / "out", "-o", tmp_path / "new", cache=tmp_path
        )
        assert done.returncode == 2, done.stderr
        assert "copy the model again" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_model_without_an_encoder_cannot_embed(takes, tmp_path):
    files = sorted(takes.iterdir())
    run(files[:3], tmp_path / "out", "--decoder", "clock", cache=tmp_path)
    done = stepreel(
        "embed", files[3], "--model", tmp_path / "out", "-o", tmp_path / "e", cache=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.startswith("stepreel: the model has no encoder: nothing was trained for it")
    assert done.stdout == ""  # said before any work


@pytest.mark.parametrize(("steps", "counts"), [("5", {5}), ("3..6", {3, 4, 5, 6})])
def test_a_number_of_steps_can_be_asked_for(takes, tmp_path, steps, counts):
    file = next(iter(sorted(takes.iterdir())))
    done = run([file], tmp_path / "out", "--decoder", "changes", "--steps", steps, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(board_of(tmp_path / "out" / "take0")["steps"]) in counts


@pytest.mark.parametrize(
    ("wanted", "numbers"), [("5..12", range(5, 13)), ("2..3", range(2, 4)), ("auto", range(2, 21))]
)
def test_the_number_of_kinds_is_found_within_what_was_asked_for(takes, tmp_path, wanted, numbers):
    files = sorted(takes.iterdir())
    done = stepreel(
        *("run", *files, "-o", tmp_path / "out", "--clusters", wanted),
        *("--set", "loss.window_seconds=1"),
        cache=tmp_path / "cache",
    )
    assert done.returncode == 0, done.stderr
    boards = [board_of(tmp_path / "out" / file.stem) for file in files]
    assert {board["settings"]["key_steps"]["n_clusters"] for board in boards} <= set(numbers)
    model = json.loads((tmp_path / "out" / "model" / "model.json").read_text())
    assert model["n_clusters"] in numbers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--decoder", "hmm", "--steps", "5"], "does not go with the decoder hmm"),
        (["--decoder", "auto", "--steps", "5"], "is for one recording"),
        (["--decoder", "changes", "--steps", "8..3"], "8..3 is empty"),
        (["--decoder", "changes", "--steps", "some"], "a range such as 3..8"),
    ],
)
def test_a_number_of_steps_that_cannot_be_is_refused(takes, tmp_path, options, words):
    done = run(sorted(takes.iterdir())[:2], tmp_path / "out", *options, cache=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_number_of_steps_is_refused_with_a_model_that_cannot_choose_it(takes, tmp_path):
    files = sorted(takes.iterdir())
    run(files[:3], tmp_path / "out", "--decoder", "clock", cache=tmp_path)
    again = ("run", files[3], "--model", tmp_path / "out", "-o", tmp_path / "new", "--steps", 3)
    done = stepreel(*again, cache=tmp_path)
    assert done.returncode == 2
    assert "does not go with this model, whose decoder is clock" in done.stderr


def test_training_for_a_decoder_that_needs_none_is_refused(takes, tmp_path):
    files = sorted(takes.iterdir())
    options = ("--set", "key_steps.decoder=hmm")
    done = stepreel("train", *files[:2], "-o", tmp_path / "task", *options, cache=tmp_path)
    assert done.returncode == 2
    assert "the decoder hmm needs no training" in done.stderr
    assert not (tmp_path / "task").exists()


def test_a_run_whose_kinds_nothing_finds_again_leaves_no_earlier_model(takes, tmp_path):
    files = sorted(takes.iterdir())
    run(files[:2], tmp_path / "out", "--decoder", "clock", cache=tmp_path)
    assert (tmp_path / "out" / "model" / "model.json").exists()
    times = np.arange(80) / 4
    still = tmp_path / "still.npz"
    np.savez(still, times=times, hands=np.ones((80, 3)), tools=np.ones((80, 3)))
    done = run([still], tmp_path / "out", "--decoder", "changes", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "out" / "model" / "model.json").exists()
    kept = list((tmp_path / "out").glob("model-*/model.json"))
    assert len(kept) == 1  # the storyboards of the first run still have theirs
