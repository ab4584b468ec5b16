from __future__ import annotations

import pytest

from stepreel.config import (
    USUAL_CLUSTERS,
    Settings,
    check_cue_choices,
    known_presets,
    load_settings,
    parse_assignments,
    pick_cues,
)


def test_defaults_are_the_papers_values():
    settings = Settings()
    assert (settings.train.n_chunks, settings.train.batch_size) == (1024, 4)
    assert settings.loss.window_seconds == 10.0
    assert (settings.encoder.width, settings.encoder.n_layers, settings.encoder.n_heads) == (
        128,
        2,
        2,
    )
    assert (settings.key_steps.background_ratio, settings.key_steps.split_gap_seconds) == (0.1, 2.0)


def test_presets_of_the_paper_train_and_that_of_users_does_not():
    decoders = {preset: load_settings(preset).key_steps.decoder for preset in known_presets()}
    assert decoders.pop("quick") == "auto"
    assert set(decoders.values()) == {"kmeans"}


def test_overrides_take_precedence_over_the_preset():
    settings = load_settings("quick", parse_assignments(["train.epochs=20", "extract.cues=motion"]))
    assert settings.train.epochs == 20
    assert settings.extract.cues == ("motion",)
    assert settings.train.n_chunks == load_settings("quick").train.n_chunks


@pytest.mark.parametrize(
    ("preset", "assignment", "message"),
    [
        ("quik", "train.epochs=1", "unknown preset 'quik'; known: .*; did you mean quick\\?"),
        (
            "quick",
            "train.epoch=1",
            "unknown setting 'train.epoch'; known here: .*; did you mean epochs\\?",
        ),
        (
            "quick",
            "training.epochs=1",
            "unknown setting 'training.epochs'; .*start with: .*; did you mean train\\?",
        ),
        (
            "quick",
            "train.epochs=many",
            "train.epochs='many' is wrong; expected a whole number from 1 to",
        ),
        ("quick", "train.epochs=0", "train.epochs='0' is wrong; expected a whole number from 1 to"),
        ("quick", "train.epochs", "not of the form name=value"),
        ("quick", "key_steps.clusters_range=12..5", "clusters_range 12..5 is empty: the first"),
        ("quick", "key_steps.n_steps=8..3", "n_steps 8..3 is empty: the first"),
        (
            "quick",
            "key_steps.clusters_range=0..5",
            "clusters_range='0' is wrong; expected a number",
        ),
        ("quick", "loss.cue_weights=few", "loss.cue_weights"),
        ("quick", "encoder.width=129", "multiple of n_heads"),
        ("quick", "extract.shard_seconds=inf", "expected a number from 1 to 1000000"),
    ],
)
def test_an_invalid_name_or_value_is_explained(preset, assignment, message):
    with pytest.raises(ValueError, match=message):
        load_settings(preset, parse_assignments([assignment]))


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("embed.cues=gaze", "embed.cues: gaze is not among the cues; known here: all, main, a, b"),
        ("loss.bootstrap_on=a,x", "loss.bootstrap_on: x is not among the cues"),
        ("loss.cue_weights=1,1,1; 0,1,0; 0,0,1", "one row and one column per cue, 2 of each"),
    ],
)
def test_selected_cues_are_checked_against_the_available_ones(assignment, message):
    settings = load_settings("quick", parse_assignments([assignment]))
    with pytest.raises(ValueError, match=message):
        check_cue_choices(settings, ["a", "b"])


def test_cues_epochs_and_weights_can_be_set_as_lists():
    settings = load_settings(
        "quick",
        parse_assignments(
            [
                "embed.cues=b,a",
                "loss.cue_weights=1,0.5; 0,1",
                "train.drop_after_epochs=400,450",
                "loss.window_frames=4",
            ]
        ),
    )
    assert pick_cues(settings.embed.cues, ["a", "b"], setting="embed.cues") == ["b", "a"]
    assert settings.loss.cue_weights == ((1.0, 0.5), (0.0, 1.0))
    assert settings.train.drop_after_epochs == (400, 450)
    assert settings.loss.window_frames == 4
    check_cue_choices(settings, ["a", "b"])


@pytest.mark.parametrize("nothing", ["auto", "AUTO", "none", None])
def test_the_number_of_kinds_can_be_left_to_be_found(nothing):
    choice = load_settings(
        overrides={"key_steps.n_clusters": nothing, "key_steps.clusters_range": nothing}
    ).key_steps
    assert (choice.n_clusters, choice.clusters_range) == (None, None)
    assert choice.number_of_clusters == USUAL_CLUSTERS


def test_by_default_the_number_of_kinds_is_found_with_every_preset():
    for preset in known_presets():
        choice = load_settings(preset).key_steps
        assert (choice.n_clusters, choice.clusters_range) == (None, None)


@pytest.mark.parametrize(
    ("text", "limits"), [("5..12", (5, 12)), ("5..5", (5, 5)), ("7", (7, 7)), ([3, 8], (3, 8))]
)
def test_a_range_of_kinds_is_two_numbers(text, limits):
    choice = load_settings(overrides={"key_steps.clusters_range": text}).key_steps
    assert choice.clusters_range == limits


@pytest.mark.parametrize(
    ("preset", "batch", "epochs", "chunks"),
    [
        ("meccano", 4, 300, 1024),
        ("epic-tents", 4, 150, 1024),
        ("cmu-mmac", 4, 150, 1024),
        ("egtea", 4, 300, 1024),
        ("ikea", 4, 300, 1024),
        ("procel", 16, 100, 512),
        ("crosstask", 16, 100, 512),
        ("penn", 16, 400, 1024),
    ],
)
def test_the_papers_datasets_have_presets(preset, batch, epochs, chunks):
    settings = load_settings(preset)
    train = settings.train
    assert (train.batch_size, train.epochs, train.n_chunks) == (batch, epochs, chunks)
    assert settings.loss.window_seconds == 10
    assert settings.embed.cues == "main"
    assert not train.stop_when_settled
    assert (train.chunks_of_mean_length == 0.8) == (preset == "penn")


def test_every_number_has_a_largest_value():
    for section, part in Settings.model_fields.items():
        for name, field in part.annotation.model_fields.items():
            if field.annotation is bool or field.annotation not in (
                int,
                float,
                int | None,
                float | None,
            ):
                continue
            for value in ("1e308", "1" + "0" * 40, "inf", "nan"):
                with pytest.raises(ValueError, match=f"setting {section}.{name}="):
                    load_settings("quick", {f"{section}.{name}": value})


@pytest.mark.parametrize(
    "wrong",
    [
        "encoder.n_layers=1000000000",
        "encoder.width=1000000000",
        "train.n_chunks=1000000000",
        "extract.shard_seconds=1e308",
        "train.drop_after_epochs=1000000000000",
        "loss.cue_weights=1e300,1; 0,1",
    ],
)
def test_settings_that_no_machine_can_work_with_are_refused(wrong):
    with pytest.raises(ValueError, match=wrong.partition("=")[0]):
        load_settings("quick", parse_assignments([wrong]))
