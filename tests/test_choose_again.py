"""Steps chosen again from an output folder: as a new run would find them, and nothing is lost."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from steps.decoders.tasks import recurring
from videos import busy_task, steady, write_video

from stepreel import choose_again, pipeline
from stepreel.choose_again import tune_task
from stepreel.errors import OutputError, SettingsError, StepreelError
from stepreel.learn.model import read_model
from stepreel.storyboard.schema import read_storyboard
from stepreel.system.store import Store
from stepreel.tuning.card import read_card
from stepreel.tuning.kept_takes import find_kept_takes

OVERRIDES = {"extract.cues": ["motion"], "key_steps.min_step_seconds": 0.5}
WINDOW = {"loss.window_seconds": 1.0}


@pytest.fixture(scope="module")
def video_run(tmp_path_factory):
    """One video, run, and its cache thrown away."""
    folder = tmp_path_factory.mktemp("video")
    path = write_video(folder / "take.mp4", steady(200), busy_task(0))
    pipeline.run([path], Store(folder / "cache"), overrides=OVERRIDES, output=folder / "out")
    shutil.rmtree(folder / "cache")
    return folder


@pytest.fixture(scope="module")
def features_run(tmp_path_factory):
    """Nine takes of a task whose steps recur."""
    folder = tmp_path_factory.mktemp("features")
    recordings, _ = recurring(9)
    for recording in recordings:
        arrays = {cue: track.features for cue, track in recording.tracks.items()}
        np.savez(folder / f"{recording.name}.npz", times=recording.times, **arrays)
    run(sorted(folder.glob("*.npz")), folder / "out", {"key_steps.n_clusters": 4})
    return folder


def run(files, output, overrides, **options):
    return pipeline.run(
        files, Store(output / "cache"), overrides={**WINDOW, **overrides}, output=output, **options
    )


@pytest.fixture
def copied(video_run, tmp_path):
    shutil.copytree(video_run, tmp_path / "copy")
    return tmp_path / "copy" / "out"


@pytest.fixture
def copied_takes(features_run, tmp_path):
    shutil.copytree(features_run, tmp_path / "copy")
    return tmp_path / "copy" / "out"


def kept(output):
    (takes,), problems = find_kept_takes(output)
    assert problems == []
    return takes


def board_of(folder):
    return read_storyboard(folder / "storyboard.json")


def without_hash(board):
    return board.model_copy(update={"content_hash": ""})


@pytest.mark.parametrize(
    "changes",
    [
        {"key_steps.top": 2},
        {"key_steps.split_gap_seconds": 0.3},
        {"key_steps.min_step_seconds": 2.0},
        {"key_steps.n_clusters": 2},
        {"key_steps.n_steps": "2..4"},
        {"key_steps.decoder": "clock", "key_steps.n_clusters": 3},
    ],
)
def test_tuning_finds_what_a_new_run_with_these_settings_finds(video_run, tmp_path, changes):
    tuned = tune_task(kept(video_run / "out"), overrides=changes, output=tmp_path / "tuned")
    anew = pipeline.run(
        [video_run / "take.mp4"],
        Store(tmp_path / "cache"),
        overrides={**OVERRIDES, **changes},
        output=tmp_path / "anew",
    )
    assert without_hash(tuned.written.boards[0]) == without_hash(anew.written.boards[0])
    for path in sorted((tmp_path / "anew" / "take").rglob("*")):
        if path.is_file() and "tuning" not in path.parts:
            same = tmp_path / "tuned" / "take" / path.relative_to(tmp_path / "anew" / "take")
            assert same.read_bytes() == path.read_bytes(), path.name


def test_takes_are_decoded_together_again(features_run, tmp_path):
    changes = {"key_steps.n_clusters": 3}
    tuned = tune_task(kept(features_run / "out"), overrides=changes, output=tmp_path / "tuned")
    anew = run(sorted(features_run.glob("*.npz")), tmp_path / "anew", changes)
    assert tuned.decoded
    assert [without_hash(board) for board in tuned.written.boards.values()] == [
        without_hash(board) for board in anew.written.boards.values()
    ]
    model, other = read_model(tmp_path / "tuned"), read_model(tmp_path / "anew")
    assert model.clustering_id == other.clustering_id
    assert (tmp_path / "tuned" / "index.html").exists()


def test_nothing_is_decoded_for_what_is_chosen_after_decoding(copied, monkeypatch):
    def fail(*arguments):
        raise AssertionError("decoded again")

    monkeypatch.setattr(choose_again, "decode", fail)
    before = board_of(copied / "take")
    tuned = tune_task(kept(copied), overrides={"key_steps.top": 1})
    assert not tuned.decoded
    assert len(board_of(copied / "take").steps) == 1
    tune_task(kept(copied), overrides={"key_steps.top": None})
    assert board_of(copied / "take") == before


def test_what_was_changed_before_stays_changed(copied):
    tune_task(kept(copied), overrides={"key_steps.n_steps": "3"})
    tune_task(kept(copied), overrides={"key_steps.top": 2})
    board = board_of(copied / "take")
    assert board.settings["key_steps"]["n_steps"] == [3, 3]
    assert len(board.steps) == 2


def test_the_recording_itself_is_not_needed(copied):
    (copied.parent / "take.mp4").unlink()
    tune_task(kept(copied), overrides={"key_steps.n_steps": "3"})
    board = board_of(copied / "take")
    assert len(board.steps) == 3
    assert all((copied / "take" / step.picture).is_file() for step in board.steps)
    assert board.recording.playable.kind == "original"


def test_one_of_several_takes_is_tuned_alone_while_kinds_stay(copied_takes):
    before = {path.name: board_of(path) for path in copied_takes.glob("take*")}
    tuned = tune_task(kept(copied_takes / "take3"), overrides={"key_steps.top": 1})
    assert tuned.names == ["take3"]
    after = {path.name: board_of(path) for path in copied_takes.glob("take*")}
    assert [name for name in sorted(before) if before[name] != after[name]] == ["take3"]
    assert read_model(copied_takes).clustering_id == before["take3"].clustering_id


def test_other_kinds_are_those_of_all_takes(copied_takes):
    tuned = tune_task(kept(copied_takes / "take3"), overrides={"key_steps.n_clusters": 3})
    assert len(tuned.names) == 9
    ids = {board_of(path).clustering_id for path in copied_takes.glob("take*")}
    assert ids == {read_model(copied_takes).clustering_id}


def test_other_kinds_need_all_takes_and_the_message_names_those_that_are_gone(copied_takes):
    shutil.rmtree(copied_takes / "take5")
    tune_task(kept(copied_takes), overrides={"key_steps.top": 1})
    with pytest.raises(OutputError, match="together with take5, of which nothing is kept"):
        tune_task(kept(copied_takes), overrides={"key_steps.n_clusters": 3})


def test_what_is_chosen_in_one_take_stays_there_when_all_are_decoded_again(copied_takes):
    def counts():
        return {path.name: len(board_of(path).steps) for path in copied_takes.glob("take*")}

    tune_task(kept(copied_takes / "take3"), overrides={"key_steps.top": 2})
    tune_task(kept(copied_takes / "take4"), overrides={"key_steps.contains": "5"})
    tuned = tune_task(kept(copied_takes), overrides={"key_steps.n_clusters": 3})
    assert tuned.decoded
    assert counts()["take3"] == 2
    assert min(n for name, n in counts().items() if name != "take3") > 2
    assert board_of(copied_takes / "take4").settings["key_steps"]["contains"] == [5.0]
    assert board_of(copied_takes / "take5").settings["key_steps"]["contains"] == []


def test_moments_of_all_takes_at_once_are_refused(copied_takes):
    with pytest.raises(SettingsError, match="name the folder of one"):
        tune_task(kept(copied_takes), overrides={"key_steps.contains": "5"})


def test_elsewhere_the_storyboard_of_another_recording_stays(copied, video_run, tmp_path):
    other = tmp_path / "take.mp4"
    write_video(other, steady(150), busy_task(3))
    pipeline.run([other], Store(tmp_path / "c"), overrides=OVERRIDES, output=tmp_path / "theirs")
    before = (tmp_path / "theirs" / "take" / "storyboard.json").read_bytes()
    tuned = tune_task(kept(copied), overrides={"key_steps.top": 1}, output=tmp_path / "theirs")
    assert tuned.written.folders[0].name == "take-2"
    assert (tmp_path / "theirs" / "take" / "storyboard.json").read_bytes() == before


def test_what_is_kept_of_an_earlier_recording_is_not_used(copied):
    path = copied / "take" / "storyboard.json"
    board = json.loads(path.read_text())
    board["recording"]["fingerprint"] = "another"
    path.write_text(json.dumps(board))
    with pytest.raises(OutputError, match="of an earlier recording"):
        find_kept_takes(copied)


def test_numbers_that_cannot_meet_a_demand_come_back_when_it_is_dropped(copied):
    tune_task(kept(copied), overrides={"key_steps.n_steps": "auto"})
    before = [other.label for other in board_of(copied / "take").alternatives]
    tune_task(kept(copied), overrides={"key_steps.at_least": 9})
    shown = [other.label for other in board_of(copied / "take").alternatives]
    tune_task(kept(copied), overrides={"key_steps.at_least": None})
    assert [other.label for other in board_of(copied / "take").alternatives] == before
    assert set(shown) <= set(before)


def test_an_unknown_sampler_is_refused(copied):
    with pytest.raises(SettingsError, match="unknown sampler"):
        tune_task(kept(copied), overrides={"key_steps.sample": "foo"})


def test_the_share_that_k_means_trims_can_change_without_decoding(features_run, tmp_path):
    files = sorted(features_run.glob("*.npz"))[:2]
    fast = {"train.epochs": 2, "train.n_chunks": 64, "key_steps.decoder": "kmeans"}
    run(files, tmp_path / "first", {**fast, "key_steps.n_clusters": 3})
    model = read_model(tmp_path / "first")
    store = Store(tmp_path / "cache")
    pipeline.run(files, store, model=model, output=tmp_path / "out")
    more = {"key_steps.background_ratio": 0.6}
    tuned = tune_task(kept(tmp_path / "out"), overrides=more)
    anew = pipeline.run(files, store, model=model, overrides=more, output=tmp_path / "anew")
    assert not tuned.decoded
    assert tuned.results[0].steps == anew.results[0].steps


def test_what_an_embedding_was_learned_with_cannot_change(features_run, tmp_path):
    files = sorted(features_run.glob("*.npz"))[:2]
    fast = {"train.epochs": 2, "train.n_chunks": 64, "key_steps.decoder": "kmeans"}
    run(files, tmp_path, {**fast, "key_steps.n_clusters": 3})
    with pytest.raises(SettingsError, match="looks at what was learned here"):
        tune_task(kept(tmp_path), overrides={"train.seed": 3})
    tune_task(kept(tmp_path), overrides={"train.seed": 3, "key_steps.decoder": "hmm"})


def test_the_same_file_twice_is_two_takes(features_run, tmp_path):
    first = sorted(features_run.glob("*.npz"))[0]
    twin = tmp_path / "twin.npz"
    twin.write_bytes(first.read_bytes())
    run([first, twin], tmp_path / "out", {"key_steps.n_clusters": 4})
    tuned = tune_task(kept(tmp_path / "out"), overrides={"key_steps.n_clusters": 3})
    assert sorted(path.name for path in tuned.written.folders.values()) == ["take0", "twin"]


def test_titles_of_kinds_stay_as_long_as_the_kinds_do(features_run, tmp_path):
    from stepreel.storyboard.titles import Titles

    titles = Titles(kinds={"A": "Reach"}, n_recordings=9)
    run(sorted(features_run.glob("*.npz")), tmp_path, {"key_steps.n_clusters": 4}, titles=titles)
    tune_task(kept(tmp_path), overrides={"key_steps.split_gap_seconds": 1.0})
    assert "Reach" in {step.title for step in board_of(tmp_path / "take0").steps}
    tune_task(kept(tmp_path), overrides={"key_steps.n_clusters": 3})
    assert "Reach" not in {step.title for step in board_of(tmp_path / "take0").steps}


def test_kinds_of_a_model_stay_when_only_their_choice_changes(features_run, tmp_path):
    model = read_model(features_run / "out")
    files = sorted(features_run.glob("*.npz"))[:1]
    pipeline.run(files, Store(tmp_path / "cache"), model=model, output=tmp_path)
    tuned = tune_task(kept(tmp_path), overrides={"key_steps.min_step_seconds": 2.0})
    assert not tuned.decoded
    assert board_of(tmp_path / "take0").clustering_id == model.clustering_id


def test_an_edited_storyboard_is_kept_unless_forced(copied):
    path = copied / "take" / "storyboard.json"
    board = json.loads(path.read_text())
    board["steps"][0]["title"] = "Mine"
    path.write_text(json.dumps(board))
    tuned = tune_task(kept(copied), overrides={"key_steps.top": 1})
    assert "edited by hand" in tuned.written.failures[0]
    assert json.loads(path.read_text()) == board
    tune_task(kept(copied), overrides={"key_steps.top": 1}, force=True)
    assert len(board_of(copied / "take").steps) == 1


@pytest.mark.parametrize("name", ["train.epochs", "extract.cues", "encoder.width"])
def test_what_would_have_to_be_learned_again_is_refused(copied, name):
    with pytest.raises(SettingsError, match="use `stepreel run`"):
        tune_task(kept(copied), overrides={name: 4})


def test_a_decoder_that_needs_an_embedding_names_the_command_that_learns_one(copied):
    with pytest.raises(StepreelError, match=r"--decoder kmeans -o .* does\.") as caught:
        tune_task(kept(copied), overrides={"key_steps.decoder": "kmeans"})
    assert "hmm" in str(caught.value)


def test_a_decoder_that_learns_from_several_takes_is_refused(copied_takes):
    with pytest.raises(StepreelError, match="refined learns from the takes, which tuning does not"):
        tune_task(kept(copied_takes), overrides={"key_steps.decoder": "refined"})


def test_a_learned_embedding_is_kept_and_clustered_again(features_run, tmp_path):
    files = sorted(features_run.glob("*.npz"))[:2]
    fast = {"train.epochs": 2, "train.n_chunks": 64, "key_steps.decoder": "kmeans"}
    run(files, tmp_path, {**fast, "key_steps.n_clusters": 3})
    shutil.rmtree(tmp_path / "cache")
    metrics = (tmp_path / "model" / "metrics.jsonl").read_bytes()
    tuned = tune_task(kept(tmp_path), overrides={"key_steps.n_clusters": 5})
    anew = run(files, tmp_path / "anew", {**fast, "key_steps.n_clusters": 5})
    assert tuned.results[0].steps == anew.results[0].steps
    model, other = read_model(tmp_path), read_model(tmp_path / "anew")
    assert model.clustering_id == other.clustering_id
    assert model.weights.keys() == other.weights.keys() != set()
    assert (tmp_path / "model" / "metrics.jsonl").read_bytes() == metrics


@pytest.mark.parametrize("stem", ["track-1", "pictures", "decoded"])
def test_a_missing_or_damaged_file_says_what_to_run_again(copied, stem):
    card = read_card(copied / "take")
    name = card.main.file if stem == "decoded" else next(f for f in card.files if stem in f)
    path = copied / "take" / "tuning" / name
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    for damage in (content, content[: len(content) // 2], b""):
        path.write_bytes(bytes(damage))
        if stem == "pictures" and damage is content:
            continue  # a picture is read, and checked, when it is needed
        with pytest.raises(OutputError, match=r"is damaged .* Run `stepreel run`"):
            tune_task(kept(copied), overrides={"key_steps.top": 1})
    path.unlink()
    with pytest.raises(OutputError, match=r"is missing\. Run `stepreel run`"):
        tune_task(kept(copied), overrides={"key_steps.top": 1})


def test_what_is_not_an_output_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path, reason in (
        (tmp_path, "contains no storyboards"),
        (tmp_path / "none", "does not exist"),
        (tmp_path / "file", "cannot be read"),
    ):
        with pytest.raises(OutputError, match=reason):
            find_kept_takes(path)


def test_an_emptied_store_says_so_and_other_recordings_can_be_tuned(copied_takes):
    shutil.rmtree(copied_takes / "take2" / "tuning")
    (takes,), problems = find_kept_takes(copied_takes)
    assert len(takes) == 8
    problem, advice = problems
    assert "take2: there is no tuning/" in problem
    assert "Run `stepreel run`" in problem
    assert "have to be run together again" in advice


def test_files_of_an_earlier_run_are_removed(copied):
    folder = copied / "take" / "tuning"
    tune_task(kept(copied), overrides={"key_steps.n_steps": "3"})
    listed = {*read_card(copied / "take").files, "recording.json"}
    assert {path.name for path in folder.iterdir()} == listed


def test_a_card_cannot_name_files_elsewhere(copied):
    path = copied / "take" / "tuning" / "recording.json"
    card = json.loads(path.read_text())
    card["decodings"][0]["file"] = "../../secret"
    path.write_text(json.dumps(card))
    with pytest.raises(OutputError, match="names a file elsewhere"):
        tune_task(kept(copied), overrides={"key_steps.top": 1})
