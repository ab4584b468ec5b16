from __future__ import annotations

import json

import numpy as np
import pytest

from stepreel.config import load_settings
from stepreel.errors import ModelError, OutputError
from stepreel.features.feature_files import read_features
from stepreel.learn.inference import embed_with_model
from stepreel.learn.model import check_extractors, check_fits, read_model, write_model
from stepreel.learn.task_settings import resolve_model_settings
from stepreel.pipeline import Task, learn_task
from stepreel.steps.clustering import assign_to_centres
from stepreel.system.store import Store

SETTINGS = load_settings(
    "quick",
    {
        "extract.cues": ["hands", "gaze"],
        "train.epochs": 3,
        "train.n_chunks": 16,
        "key_steps.n_clusters": 3,
        "key_steps.decoder": "kmeans",
        "train.drop_after_epochs": [2],
    },
)


def learn(takes, settings, store, *, model=None):
    return learn_task(Task(settings, dict(enumerate(takes)), {}), store, model=model)


def take(folder, name, *, seed=0, hands=5, n=60):
    """Write a recording of three steps as features; the steps are similar in every take."""
    rng, step_rng = np.random.default_rng(seed), np.random.default_rng(99)
    steps = np.arange(n) * 3 // n
    arrays = {
        cue: step_rng.normal(size=(3, width))[steps] + 0.1 * rng.normal(size=(n, width))
        for cue, width in (("hands", hands), ("gaze", 2))
    }
    np.savez(folder / f"{name}.npz", times=np.arange(n) / 4, **arrays)
    return read_features(folder / f"{name}.npz")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    takes = [take(folder, f"take{n}", seed=n) for n in range(2)]
    store = Store(folder / "cache")
    learned = learn(takes, SETTINGS, store)
    write_model(folder / "model", learned.model)
    return folder, takes, learned


def test_a_model_reproduces_the_embeddings_and_clusters_of_its_training_recordings(task):
    folder, takes, learned = task
    model = read_model(folder / "model")
    assert repr(model) == "TaskModel(hands (5), gaze (2); 3 kinds of steps)"
    embeddings = embed_with_model(model, takes)
    clusterings = learned.decoded.clusterings
    for track, expected, clustering in zip(
        embeddings, learned.embeddings, clusterings, strict=True
    ):
        np.testing.assert_array_equal(track.features, expected.features)
        assigned = assign_to_centres(track, model.kinds["centres"])
        np.testing.assert_array_equal(assigned.labels, clustering.labels)


@pytest.mark.parametrize("name", ["models/model-*", "recordings/*/embedding-*"])
def test_a_damaged_checkpoint_or_embedding_is_made_again(task, tmp_path, name, caplog):
    _, takes, learned = task
    store = Store(tmp_path)
    learn(takes, SETTINGS, store)
    file = sorted(tmp_path.glob(f"{name}.safetensors"))[0]
    content = bytearray(file.read_bytes())
    content[-40:] = bytes(40)
    file.write_bytes(content)
    again = learn(takes, SETTINGS, store)
    assert caplog.text.count("is damaged") == 1
    for track, expected in zip(again.embeddings, learned.embeddings, strict=True):
        np.testing.assert_array_equal(track.features, expected.features)


def test_embeddings_do_not_make_an_unfinished_training_a_finished_one(task, tmp_path):
    _, takes, learned = task
    store = Store(tmp_path)
    learn(takes, SETTINGS, store)
    (checkpoint,) = tmp_path.glob("models/model-*.safetensors")
    checkpoint.unlink()

    def interrupt(label, done, total):
        if done == 2:
            raise KeyboardInterrupt

    brief = SETTINGS.model_copy(
        update={"train": SETTINGS.train.model_copy(update={"checkpoint_seconds": 0})}
    )
    with pytest.raises(KeyboardInterrupt):
        learn_task(Task(brief, dict(enumerate(takes)), {}), store, progress=interrupt)
    assert checkpoint.exists()  # of an unfinished training, beside finished embeddings
    again = learn(takes, SETTINGS, store)
    assert len(again.model.training.losses) == len(learned.model.training.losses)


def test_a_new_take_gets_the_same_clusters(task, tmp_path):
    folder, _, learned = task
    new = take(tmp_path, "new", seed=7)
    model = read_model(folder)  # the parent folder works, too
    embedded = learn([new], SETTINGS, Store(tmp_path / "unused"), model=model)
    same = embedded.decoded.clusterings[0].labels == learned.decoded.clusterings[0].labels
    assert same.mean() > 0.9
    assert not (tmp_path / "unused").exists()


def test_cues_can_be_chosen_at_inference(task):
    folder, takes, _ = task
    model = read_model(folder / "model")
    (gaze,) = embed_with_model(model, takes[:1], cues=["gaze"])
    (both,) = embed_with_model(model, takes[:1], cues=["gaze", "hands"])
    assert (gaze.width, both.width) == (128, 256)
    np.testing.assert_allclose(np.linalg.norm(both.features, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(both.features[:, :128] * np.sqrt(2), gaze.features, atol=1e-6)
    with pytest.raises(ValueError, match="nose is not among the cues"):
        embed_with_model(model, takes[:1], cues=["nose"])


def test_other_cues_and_widths_are_rejected(task, tmp_path):
    folder, _, _ = task
    model = read_model(folder / "model")
    wide = take(tmp_path, "wide", hands=6)
    with pytest.raises(
        ModelError,
        match=r"wide: has the cues .*, but the model was made from hands \(5\), gaze \(2\)",
    ):
        check_fits(model, wide)
    swapped = read_features(tmp_path / "wide.npz", cues=["gaze"])
    with pytest.raises(ModelError, match=r"has the cues gaze \(2\), but"):
        check_fits(model, swapped)


def test_features_made_with_other_settings_are_rejected(task, tmp_path):
    folder, takes, _ = task
    model = read_model(folder / "model")

    class Extracted:
        name, tracks, fingerprint, start_seconds = "a.mp4", takes[0].tracks, "", 0.0
        track_settings = {"hands": {"rate": 4.0}, "gaze": {"from": "file"}}  # noqa: RUF012

    with pytest.raises(
        ModelError, match=r"hands features were made differently .*rate: unknown in the model"
    ):
        check_fits(model, Extracted())
    with pytest.raises(
        ModelError, match=r"gaze features were made differently .*None in the model, 4.0 now"
    ):
        check_extractors(model, {"gaze": {"rate": 4.0}})


def from_model(model, overrides):
    return resolve_model_settings(model, overrides, for_videos=False)


def test_only_key_step_settings_can_be_changed_with_a_model(task):
    folder, _, _ = task
    model = read_model(folder / "model")
    assert from_model(model, {"key_steps.top": 2}).key_steps.top == 2
    assert from_model(model, {"key_steps.n_clusters": "3"}).key_steps.n_clusters == 3
    with pytest.raises(ValueError, match="has 3 kinds of steps, not 5"):
        from_model(model, {"key_steps.n_clusters": 5})
    with pytest.raises(ValueError, match=r"train.epochs cannot be changed with a model"):
        from_model(model, {"train.epochs": 5})
    with pytest.raises(ValueError, match=r"unknown setting 'key_steps.tap'"):
        from_model(model, {"key_steps.tap": 5})


def test_metrics_are_written_for_every_epoch(task):
    folder, _, _ = task
    lines = [json.loads(line) for line in (folder / "model" / "metrics.jsonl").open()]
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert [line["learning_rate"] for line in lines] == pytest.approx([1e-3, 1e-3, 1e-4])
    assert all(line["loss"] > 0 and line["seconds"] > 0 for line in lines)
    assert (folder / "model" / "loss.png").read_bytes()[:4] == b"\x89PNG"


def test_without_matplotlib_metrics_are_written_and_an_old_picture_is_removed(
    task, tmp_path, monkeypatch
):
    _, _, learned = task
    monkeypatch.setattr("stepreel.learn.loss_curve.find_spec", lambda name: None)
    (tmp_path / "loss.png").write_bytes(b"an older one")
    write_model(tmp_path, learned.model)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3
    assert not (tmp_path / "loss.png").exists()
    assert read_model(tmp_path).card.epochs == 3


def damage_missing_card(folder):
    (folder / "model.json").unlink()


def damage_other_weights(folder):
    (folder / "model.safetensors").write_bytes(b"something else")


def damage_card(folder):
    (folder / "model.json").write_text('{"format": "stepreel-model"}')


def damage_text(folder):
    (folder / "model.json").write_bytes(b"\xff\xfe")


def damage_width(folder):
    card = json.loads((folder / "model.json").read_text())
    card["settings"]["encoder"]["width"] = 64
    (folder / "model.json").write_text(json.dumps(card))


def damage_method(folder):
    card = json.loads((folder / "model.json").read_text())
    card["method"] = 1
    (folder / "model.json").write_text(json.dumps(card))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_missing_card, "contains no model"),
        (damage_other_weights, "does not belong to model.json"),
        (damage_card, "not a model of version 1: field cues is missing; expected an object"),
        (damage_text, "is not UTF-8 text"),
        (damage_width, r"no centres of shape \(3, 128\)"),
        (damage_method, "trained with version 1 of the method"),
    ],
)
def test_a_damaged_model_is_rejected_with_the_reason(task, tmp_path, damage, message):
    folder, _, _ = task
    for file in (folder / "model").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    damage(tmp_path)
    with pytest.raises(ModelError, match=message):
        read_model(tmp_path)


def test_weights_that_do_not_fit_the_settings_are_rejected(task):
    folder, takes, _ = task
    model = read_model(folder / "model")
    del model.weights[next(iter(model.weights))]
    with pytest.raises(ModelError, match="do not fit its settings"):
        embed_with_model(model, takes)


def test_a_model_that_cannot_be_written_is_an_output_error(task, tmp_path):
    _, _, learned = task
    (tmp_path / "model").write_text("in the way")
    with pytest.raises(OutputError, match="in the way"):
        write_model(tmp_path / "model", learned.model)


def test_the_first_cue_is_the_main_one(task):
    folder, _, _ = task
    swapped = [read_features(folder / f"take{n}.npz", cues=["gaze", "hands"]) for n in range(2)]
    main = SETTINGS.model_copy(update={"embed": SETTINGS.embed.model_copy(update={"cues": "main"})})
    store = Store(folder / "cache")
    original = [read_features(folder / f"take{n}.npz", cues=["hands", "gaze"]) for n in range(2)]
    by_hands = learn(original, main, store).embeddings[0].features
    by_gaze = learn(swapped, main, store).embeddings[0].features
    assert not np.allclose(by_hands, by_gaze)
