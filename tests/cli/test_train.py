"""`train`, `embed` and `run --model` as users type them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from videos import busy_task, steady, write_video

from cli.commands import FAST, TRAINED, stepreel

BRIEF = ["--set", "train.epochs=3", "--set", "train.n_chunks=16"]


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    write_video(folder / "take1.mp4", steady(180), busy_task(0))
    write_video(folder / "new.mp4", steady(180), busy_task(0))
    done = stepreel("run", folder / "take1.mp4", "-o", folder / "out", "-k", 3, *FAST, *TRAINED)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    for n in range(2):
        rng = np.random.default_rng(n)
        steps = np.arange(40) * 4 // 40
        hands = np.eye(4)[steps] + 0.1 * rng.normal(size=(40, 4))
        np.savez(
            folder / f"take{n}.npz", times=10 + np.arange(40) / 4, hands=hands, gaze=hands[:, :2]
        )
    done = stepreel("train", *sorted(folder.glob("*.npz")), "-o", folder / "task", "-k", 4, *BRIEF)
    assert done.returncode == 0, done.stderr
    assert "cues: hands (4), gaze (2)" in done.stdout
    assert "(4 kinds of step)" in done.stdout
    return folder


def assert_error(done, status, *words):
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def steps_of(folder):
    board = json.loads((folder / "storyboard.json").read_text())
    return [(s["start"], s["end"], s["cluster"]) for s in board["steps"]]


def test_the_model_written_by_run_finds_the_same_steps_in_a_new_take(videos, tmp_path):
    done = stepreel("run", videos / "new.mp4", "--model", videos / "out", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert steps_of(tmp_path / "new") == steps_of(videos / "out" / "take1")  # the same pictures
    assert not (tmp_path / "model").exists()


def test_only_key_step_settings_can_be_changed_with_a_model(videos, tmp_path):
    command = ["run", videos / "new.mp4", "--model", videos / "out" / "model", "-o", tmp_path]
    done = stepreel(*command, "--top", 1)
    assert done.returncode == 0, done.stderr
    assert len(steps_of(tmp_path / "new")) == 1
    assert_error(stepreel(*command, "-k", 5), 2, "the model has 3 kinds of steps, not 5")
    assert_error(stepreel(*command, *TRAINED), 2, "train.epochs cannot be changed with a model")
    assert_error(stepreel(*command, "--preset", "meccano"), 2, "a preset cannot be used")
    assert_error(stepreel(*command, "--embed-cues", "all"), 2, "embed.cues cannot be changed")


def test_a_model_of_features_cannot_be_used_with_videos_and_vice_versa(videos, features, tmp_path):
    done = stepreel("run", videos / "new.mp4", "--model", features / "task", "-o", tmp_path)
    assert_error(done, 2, "made from feature files with the cues hands, gaze, not from videos")
    done = stepreel("embed", features / "take0.npz", "--model", videos / "out", "-o", tmp_path)
    assert_error(done, 2, "take0.npz: no cue 'motion'; (T, D) arrays in it: hands, gaze")


def test_embeddings_have_the_times_of_the_feature_file(features, tmp_path):
    takes = sorted(features.glob("*.npz"))
    done = stepreel("embed", *takes, "--model", features / "task", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    arrays = np.load(tmp_path / "take1.embedding.npz", allow_pickle=False)
    assert arrays["times"][0] == 10.0
    assert arrays["embedding"].shape == (40, 256)
    assert arrays["cluster"].shape == arrays["distance"].shape == arrays["valid"].shape == (40,)
    np.testing.assert_allclose(np.linalg.norm(arrays["embedding"], axis=1), 1, rtol=1e-5)


def test_other_cues_can_be_embedded_but_have_no_clusters(features, tmp_path):
    command = ["embed", features / "take0.npz", "--model", features / "task", "-o", tmp_path]
    done = stepreel(*command, "--embed-cues", "gaze")
    assert done.returncode == 0, done.stderr
    assert "no clusters are written" in done.stdout
    assert sorted(np.load(tmp_path / "take0.embedding.npz")) == ["embedding", "times", "valid"]
    assert_error(
        stepreel(*command, "--embed-cues", "nose"), 2, "known here: all, main, hands, gaze"
    )


def test_a_video_can_be_trained_on_and_embedded(videos, tmp_path):
    done = stepreel("train", videos / "take1.mp4", "-o", tmp_path / "task", "-k", 3, *FAST, *BRIEF)
    assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "task" / "model.json").read_text())
    assert card["decoder"] == card["settings"]["key_steps"]["decoder"] == "kmeans"
    assert card["epochs"] == 3
    done = stepreel("embed", videos / "new.mp4", "--model", tmp_path / "task", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "new.embedding.npz")["embedding"].shape == (24, 128)
    command = ["embed", videos / "new.mp4", "--model", tmp_path / "task", "-o", tmp_path / "no"]
    assert_error(stepreel(*command, "--fps", 3), 2, "are for feature files")
    assert not (tmp_path / "no").exists()


def test_unusable_files_are_reported_and_training_uses_the_rest(features, tmp_path):
    np.savez(tmp_path / "narrow.npz", times=np.arange(9.0), hands=np.ones((9, 3)), gaze=np.eye(9))
    (tmp_path / "a.pkl").write_bytes(b"x")
    good = features / "take0.npz"
    bad = [tmp_path / "narrow.npz", tmp_path / "a.pkl", tmp_path / "absent.npz"]
    done = stepreel("train", good, *bad, "-o", tmp_path / "task", "-k", 2, *BRIEF)
    assert_error(
        done,
        1,
        "narrow: has the cues hands (3), gaze (9), but take0 has hands (4), gaze (2)",
        "a.pkl: expected a file with the suffix .npy",
        "absent.npz: does not exist",
    )
    assert json.loads((tmp_path / "task" / "model.json").read_text())["recordings"] == ["take0"]
    assert_error(stepreel("train", *bad[1:], "-o", tmp_path / "no"), 2, "never read")
    assert not (tmp_path / "no").exists()


def test_invalid_options_are_rejected_with_advice(videos, features, tmp_path):
    good, video = features / "take0.npz", videos / "take1.mp4"
    out = ["-o", tmp_path / "task"]
    assert_error(stepreel("train", good, video, *out), 2, "from videos or from features")
    assert_error(stepreel("train", video, "--cues", "motion", *out), 2, "--set extract.cues=")
    assert_error(stepreel("train", good, "--cues", "nose", *out), 2, "no cue 'nose'")
    assert_error(stepreel("train", good, "--device", "tpu", *out), 2, "known: auto, cpu, cuda, mps")
    assert_error(stepreel("train", good, "--set", "loss.bootstrap_on=nose", *out), 2, "hands, gaze")
    assert_error(stepreel("train", good, "--preset", "ikae", *out), 2, "known: ", "ikea")
    assert_error(stepreel("train", good, "--set", "extract.cues=gaze", *out), 2, "with --cues")
    assert_error(
        stepreel("train", good, "--set", "loss.cue_weights=1,x;0,1", *out), 2, "rows of numbers"
    )
    assert_error(
        stepreel("train", good, "--set", "loss.cue_weights=0,0;0,0", *out), 2, "all weights are 0"
    )
    assert_error(
        stepreel("embed", good, "--model", tmp_path / "none", *out), 2, "contains no model"
    )
    np.save(tmp_path / "a.npy", np.eye(9))
    assert_error(stepreel("train", tmp_path / "a.npy", *out), 2, "pass --times FILE")
    assert not (tmp_path / "task").exists()


def test_training_with_another_cache_gives_the_same_model(features, tmp_path):
    command = ["train", features / "take0.npz", *BRIEF, "-k", 2]
    for name in ("a", "b"):
        done = stepreel(*command, "-o", tmp_path / name, cache=tmp_path / f"cache-{name}")
        assert done.returncode == 0, done.stderr
    for file in ("model.safetensors", "model.json", "loss.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_embedding_into_the_features_folder_does_not_change_them(features, tmp_path):
    source = tmp_path / "take.npz"
    source.write_bytes((features / "take0.npz").read_bytes())
    done = stepreel("embed", source, "--model", features / "task", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert source.read_bytes() == (features / "take0.npz").read_bytes()


def test_cues_may_have_any_name_and_long_chunks_give_a_note(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"hands.left": rng.normal(size=(40, 3)), "items": rng.normal(size=(40, 2))}
    np.savez(tmp_path / "take.npz", times=60.0 * np.arange(40), **arrays)
    done = stepreel("train", tmp_path / "take.npz", "-o", tmp_path / "task", "-k", 2, *BRIEF)
    assert done.returncode == 0, done.stderr
    assert "cues: hands.left (3), items (2)" in done.stdout
    assert "up to 300.0 s apart were treated as similar, instead of 3 s" in done.stdout


def test_diverged_training_is_explained(features, tmp_path):
    command = [
        "train",
        features / "take0.npz",
        "-o",
        tmp_path / "task",
        "--set",
        "train.n_chunks=16",
    ]
    diverging = ["--set", "train.learning_rate=1e30", "--set", "train.epochs=1"]
    for _ in range(2):
        done = stepreel(*command, *diverging, cache=tmp_path / "cache")
        assert_error(done, 2, "training diverged; try a smaller train.learning_rate")
    done = stepreel(*command, *diverging[:2], cache=tmp_path / "cache")
    assert_error(done, 2, "training diverged in epoch 2", "try a smaller train.learning_rate")
    np.savez(tmp_path / "huge.npz", times=np.arange(30.0), x=np.full((30, 4), 1e30))
    done = stepreel("train", tmp_path / "huge.npz", "-o", tmp_path / "h", "--preset", "meccano")
    assert_error(done, 2, "the features may be too large; try train.standardise=recording")
