"""What is to be compared on a dataset, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepreel.config import DEFAULT_PRESET, Settings, check_cue_choices, load_settings
from stepreel.cues import check_cue_names
from stepreel.errors import DatasetError
from stepreel.evaluation.methods.catalog import METHODS, NULL_METHODS

PAPER_PRESET = "paper-small"


@dataclass(frozen=True)
class Plan:
    """Methods, seeds and settings of one evaluation; the same for every task of a dataset.

    preset     of the method `paper`; `stepreel` always starts from the default preset
    overrides  settings changed for both learned methods
    rate       moments per second to score at; None: as the recordings have them
    """

    methods: tuple[str, ...] = METHODS
    n_clusters: int = 7
    seeds: tuple[int, ...] = (0, 1, 2)
    preset: str = PAPER_PRESET
    overrides: Mapping[str, object] = field(default_factory=dict)
    rate: float | None = None

    def settings_of(
        self, method: str, cues: Sequence[str] | None = None, *, seed: int = 0
    ) -> Settings:
        """Resolve a method's settings; `cues` are those of feature files."""
        fixed: dict[str, object] = {"key_steps.n_clusters": self.n_clusters, "train.seed": seed}
        if cues is not None:
            fixed["extract.cues"] = list(cues)
        if method in NULL_METHODS:
            return load_settings("paper", fixed)
        preset = self.preset if method == "paper" else DEFAULT_PRESET
        settings = load_settings(preset, {**self.overrides, **fixed})
        if cues is None:
            check_cue_names(settings.extract.cues)
        check_cue_choices(settings, settings.extract.cues)
        return settings

    def checked_settings(self, method: str, cues: Sequence[str] | None = None) -> Settings:
        """Resolve settings that may name cues which the recordings do not have."""
        try:
            return self.settings_of(method, cues)
        except ValueError as problem:
            raise DatasetError(str(problem)) from None


def check_methods(names: Sequence[str]) -> tuple[str, ...]:
    """Return methods in their usual order, or raise ValueError naming the known ones."""
    if unknown := [name for name in names if name not in METHODS]:
        raise ValueError(f"unknown method {unknown[0]!r}; known: {', '.join(METHODS)}")
    return tuple(method for method in METHODS if method in names)
