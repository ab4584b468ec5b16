from __future__ import annotations

import pytest

from stepreel.config import Settings, load_settings, parse_assignments


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


def test_overrides_go_on_top_of_the_preset():
    settings = load_settings("quick", parse_assignments(["train.epochs=20", "extract.cues=motion"]))
    assert settings.train.epochs == 20
    assert settings.extract.cues == ("motion",)
    assert settings.train.n_chunks == load_settings("quick").train.n_chunks


@pytest.mark.parametrize(
    ("preset", "assignment", "message"),
    [
        ("quik", "train.epochs=1", "unknown preset 'quik'; known: .*quick"),
        ("quick", "train.epoch=1", "unknown setting 'train.epoch'; known here: .*epochs"),
        ("quick", "training.epochs=1", "unknown setting .*begin with: .*train"),
        ("quick", "train.epochs=many", "train.epochs='many'.*integer"),
        ("quick", "train.epochs=0", "train.epochs='0'.*greater"),
        ("quick", "train.epochs", "not of the form name=value"),
        ("quick", "embed.cues=some", "embed.cues='some'"),
        ("quick", "encoder.width=129", "multiple of n_heads"),
        ("quick", "extract.shard_seconds=inf", "finite"),
    ],
)
def test_a_wrong_name_or_value_is_explained(preset, assignment, message):
    with pytest.raises(ValueError, match=message):
        load_settings(preset, parse_assignments([assignment]))
