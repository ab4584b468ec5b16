"""Run a method; what it predicted before is read back from the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepreel.config import MOST_CLUSTERS, Settings
from stepreel.errors import PluginError
from stepreel.evaluation.methods.base import (
    BlindRun,
    MethodRun,
    Prediction,
    RecordingTimes,
)
from stepreel.evaluation.methods.catalog import METHODS, describe_method
from stepreel.evaluation.truth.annotation import NO_STEP
from stepreel.learn import METHOD_VERSION
from stepreel.steps.decoders.catalog import describe_decoder
from stepreel.steps.samplers.catalog import describe_sampler
from stepreel.system.machine import Device
from stepreel.system.names import safe_name
from stepreel.system.store import Entry, Store
from stepreel.types import Progress, Recording, no_progress, track_hashes

EVALUATION_VERSION = 1  # raise it when the same recordings and settings would give other labels


def predict_blind(
    method: str, recordings: Sequence[RecordingTimes], n_clusters: int, seed: int
) -> Prediction:
    """Label recordings by their length only; this is fast, and not stored."""
    prediction = METHODS[method].predict(recordings, BlindRun(n_clusters, seed))
    return _checked(method, prediction, recordings, n_clusters)


@dataclass(frozen=True)
class MethodRunner:
    """Runs methods with one store, on one device."""

    store: Store
    device: Device = "auto"
    progress: Progress = no_progress

    def predict(
        self,
        method: str,
        recordings: Sequence[Recording],
        settings: Settings,
        *,
        train_on: Sequence[int] | None = None,
    ) -> Prediction:
        """Label recordings by what their tracks show, or read the labels from the store."""
        entry = self._entry(method, recordings, settings, train_on)
        stored = _load(entry, len(recordings))
        if stored is not None:
            return stored
        with entry.lock(f"{method}: is being run", self.progress):
            stored = _load(entry, len(recordings))
            if stored is not None:
                return stored
            prediction = METHODS[method].predict(recordings, self.run_of(settings, train_on))
            # If no number was asked for, a method may find as many kinds as there are.
            most_kinds = settings.key_steps.n_clusters or MOST_CLUSTERS
            prediction = _checked(method, prediction, recordings, most_kinds)
            _write(entry, prediction)
            return prediction

    def run_of(self, settings: Settings, train_on: Sequence[int] | None = None) -> MethodRun:
        """Return what a method with these settings is given."""
        return MethodRun(
            settings=settings,
            n_clusters=settings.key_steps.number_of_clusters,
            seed=settings.train.seed,
            store=self.store,
            device=self.device,
            progress=self.progress,
            train_on=train_on,
        )

    def _entry(
        self,
        method: str,
        recordings: Sequence[Recording],
        settings: Settings,
        train_on: Sequence[int] | None,
    ) -> Entry:
        """Name everything a prediction depends on. No label is part of it."""
        description: dict[str, object] = {
            "evaluation": EVALUATION_VERSION,
            "method": METHOD_VERSION,
            "recordings": [track_hashes(recording) for recording in recordings],
            "cues": list(recordings[0].tracks),
            "settings": settings.model_dump(mode="json"),
            "learn_from": None if train_on is None else list(train_on),
        }
        description |= describe_method(method)
        if plug_in := describe_decoder(settings.key_steps.decoder):
            description["decoder"] = plug_in
        if plug_in := describe_sampler(settings.key_steps.sample):
            description["sampler"] = plug_in
        return Entry(self.store.root / "predictions", safe_name(method), description)


def _write(entry: Entry, prediction: Prediction) -> None:
    entry.write(
        {
            f"{kind}/{number:05d}": labels
            for kind in ("together", "alone")
            for number, labels in enumerate(getattr(prediction, kind))
        }
    )


def _load(entry: Entry, n_recordings: int) -> Prediction | None:
    """Return a prediction from the store; None if it is missing or damaged."""
    arrays = entry.load()
    if arrays is None:
        return None
    together, alone = (
        [arrays[f"{kind}/{number:05d}"] for number in range(n_recordings)]
        for kind in ("together", "alone")
    )
    return Prediction(together, alone)


def _checked(
    method: str, prediction: Prediction, recordings: Sequence[Any], n_clusters: int
) -> Prediction:
    """Return a prediction as whole numbers, or raise PluginError if it cannot be scored."""
    lengths = [len(recording.times) for recording in recordings]
    checked: dict[str, list[Any]] = {}
    for kind in ("together", "alone"):
        arrays = [np.asarray(labels) for labels in getattr(prediction, kind)]
        if [len(labels) if labels.ndim == 1 else -1 for labels in arrays] != lengths:
            raise PluginError(
                f"{method}: predicted labels ({kind}) of shapes {[x.shape for x in arrays]}; "
                f"expected one label per moment: {lengths}"
            )
        for labels in arrays:
            is_whole = labels.dtype.kind in "iu"
            if not is_whole or labels.min() < NO_STEP or labels.max() >= n_clusters:
                span = f", from {labels.min()} to {labels.max()}" if is_whole else ""
                raise PluginError(
                    f"{method}: predicted labels ({kind}) of type {labels.dtype}{span}; "
                    f"expected whole numbers from 0 to {n_clusters - 1}, or {NO_STEP} for no step"
                )
        checked[kind] = [labels.astype(np.int64) for labels in arrays]
    return Prediction(**checked)
