"""Sources a user names → a task: its recordings with their tracks, and the settings for them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stepreel.config import Settings, check_rate
from stepreel.cues import make_cues
from stepreel.errors import SettingsError
from stepreel.features.sources import (
    FeatureReading,
    Source,
    are_features,
    extract_recordings,
    read_feature_sources,
)
from stepreel.learn.model import TaskModel, check_extractors, check_fits
from stepreel.learn.task_settings import resolve_model_settings, resolve_settings
from stepreel.steps.decoders.catalog import check_decoder, settings_without_effect
from stepreel.steps.samplers.catalog import check_sampler
from stepreel.system.files import check_writable
from stepreel.system.store import Store
from stepreel.types import Progress, Recording, no_progress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """Recordings of one task with their tracks, and the settings to work on them with.

    recordings  by position among the sources
    failures    why the other sources could not be loaded, by position
    """

    settings: Settings
    recordings: Mapping[int, Recording]
    failures: Mapping[int, str]


def load_task(
    sources: Sequence[Source],
    store: Store,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    model: TaskModel | None = None,
    reading: FeatureReading | None = None,
    output: Path | None = None,
    progress: Progress = no_progress,
) -> Task:
    """Resolve settings, then read features or extract them from videos.

    SettingsError says what is wrong with the settings. A source that cannot be loaded is a
    failure of its own, and the others are loaded.

    output  where results will be written, if they will; checked before any long work
    """
    reading = reading or FeatureReading()
    _check_sources(sources, reading)
    if are_features(sources):
        task = _load_features(sources, preset, overrides, model, reading)
        if output is not None and task.recordings:
            check_writable(output)
        return task
    if model is None:
        settings = resolve_settings(preset, overrides)
        _check_choices(settings, overrides)
    else:
        settings = resolve_model_settings(model, overrides, preset=preset)
        _check_sampler(settings, overrides)
        cues = make_cues(settings.extract.cues)
        check_extractors(model, {cue.name: cue.settings() for cue in cues})
    if output is not None:
        check_writable(output)
    loaded = extract_recordings(
        [source for source in sources if isinstance(source, Path)],
        settings.extract,
        store,
        check=None if model is None else partial(check_fits, model),
        progress=progress,
    )
    return Task(settings, loaded.recordings, loaded.failures)


def _check_choices(settings: Settings, overrides: Mapping[str, object] | None) -> None:
    """Refuse an unknown decoder or sampler; warn of settings that have no effect with them."""
    decoder = settings.key_steps.decoder
    check_decoder(decoder)
    _check_sampler(settings, overrides)
    if unused := settings_without_effect(overrides or (), decoder):
        log.warning(
            "%s: no effect with the decoder %s; --decoder kmeans (key_steps__decoder='kmeans') "
            "uses it",
            ", ".join(unused),
            decoder,
        )


def _check_sampler(settings: Settings, overrides: Mapping[str, object] | None) -> None:
    """Refuse an unknown sampler; warn if one was named, and there is no limit to choose for."""
    choice = settings.key_steps
    check_sampler(choice.sample)
    is_named = "key_steps.sample" in (overrides or {})
    if is_named and choice.top is None and choice.budget_seconds is None:
        log.warning(
            "key_steps.sample (--sample): no effect without a limit, such as --top 10 or "
            "--budget 60 (key_steps__budget_seconds=60): all steps are shown"
        )


def _check_sources(sources: Sequence[Source], reading: FeatureReading) -> None:
    """Refuse options that do not fit the sources, and a file that is named twice."""
    if not are_features(sources) and reading != FeatureReading():
        raise SettingsError(
            "--cues, --fps and --times (cues=…, fps=…, times=…) are for feature files, and these "
            "are videos; --set extract.cues=… (extract__cues=…) names cues of videos"
        )
    check_rate(reading.fps, option="--fps (fps=…)")
    files = [os.path.realpath(source) for source in sources if isinstance(source, Path)]
    if twice := [file for file in files if files.count(file) > 1]:
        raise SettingsError(f"{Path(twice[0]).name} is named twice; name every recording once")


def _load_features(
    sources: Sequence[Source],
    preset: str | None,
    overrides: Mapping[str, object] | None,
    model: TaskModel | None,
    reading: FeatureReading,
) -> Task:
    """Read features; the settings depend on their cues, or on those of the model."""
    if model is None:
        loaded = read_feature_sources(sources, reading)
        first = next(iter(loaded.recordings.values()), None)
        cues = [] if first is None else list(first.tracks)
        settings = resolve_settings(preset, overrides, feature_cues=cues)
        _check_choices(settings, overrides)
        return Task(settings, loaded.recordings, loaded.failures)
    model_cues = list(model.card.cues)
    if reading.cues and list(reading.cues) != model_cues:
        raise SettingsError(
            f"the model was made from the cues {', '.join(model_cues)}; leave out --cues (cues=…)"
        )
    settings = resolve_model_settings(model, overrides, preset=preset, for_videos=False)
    _check_sampler(settings, overrides)
    loaded = read_feature_sources(
        sources, replace(reading, cues=tuple(model_cues)), check=partial(check_fits, model)
    )
    return Task(settings, loaded.recordings, loaded.failures)
