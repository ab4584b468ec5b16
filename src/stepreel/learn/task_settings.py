"""Resolve the settings of one task: a preset plus overrides, or those of a trained model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepreel.config import DEFAULT_PRESET, Settings, check_cue_choices, load_settings, validated
from stepreel.cues import CUES, check_cue_names
from stepreel.errors import SettingsError
from stepreel.features.feature_files import FROM_FILE
from stepreel.learn.model import TaskModel


def resolve_settings(
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    feature_cues: Sequence[str] | None = None,
) -> Settings:
    """Apply overrides to a preset; SettingsError says which of them is invalid.

    feature_cues  cues of the feature files; None for videos, whose cues the settings name
    """
    overrides = dict(overrides or {})
    if feature_cues is not None:
        if "extract.cues" in overrides:
            raise SettingsError(
                "extract.cues is for videos; choose the cues of feature files with --cues"
            )
        overrides["extract.cues"] = list(feature_cues)
    settings = load_settings(preset or DEFAULT_PRESET, overrides)
    if feature_cues is None:
        check_cue_names(settings.extract.cues)
    if settings.extract.cues:  # empty if no feature file could be read, which is reported elsewhere
        check_cue_choices(settings, settings.extract.cues)
    return settings


def resolve_model_settings(
    model: TaskModel,
    overrides: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    for_videos: bool = True,
) -> Settings:
    """Return the model's settings with overrides, which can only change `key_steps`.

    SettingsError for other overrides, or if the model cannot be used with videos.
    """
    overrides = overrides or {}
    cards = model.card.cues
    from_files = any(card.made_by == FROM_FILE for card in cards.values())
    if for_videos and (from_files or not set(cards) <= set(CUES)):
        raise SettingsError(
            f"the model was made from feature files with the cues {', '.join(cards)}, not from "
            "videos; use it with feature files"
        )
    if preset is not None:
        raise SettingsError("a preset cannot be used with a model; leave it out")
    n_clusters = overrides.get("key_steps.n_clusters")
    if n_clusters is not None and str(n_clusters) != str(model.card.n_clusters):
        raise SettingsError(
            f"the model has {model.card.n_clusters} kinds of steps, not {n_clusters}; leave out "
            "the number of clusters, or make another model"
        )
    decoder = overrides.get("key_steps.decoder")
    if decoder is not None and decoder != model.card.decoder:
        raise SettingsError(
            f"the model's kinds of steps are found with the decoder {model.card.decoder}, not "
            f"{decoder}; leave out the decoder, or make another model"
        )
    fixed = [name for name in overrides if not name.startswith("key_steps.")]
    if fixed:
        raise SettingsError(
            f"{fixed[0]} cannot be changed with a model; only key_steps.… settings can"
        )
    values = model.settings.model_dump()
    values["key_steps"] |= {
        name.removeprefix("key_steps."): value for name, value in overrides.items()
    }
    return validated(values)
