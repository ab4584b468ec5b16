"""What is compared on a dataset, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepreel.config import (
    DEFAULT_PRESET,
    CueChoiceError,
    Settings,
    check_cue_choices,
    load_settings,
)
from stepreel.cues import check_cue_names
from stepreel.errors import DatasetError, SettingsError
from stepreel.evaluation.methods.base import NULL_KINDS
from stepreel.evaluation.methods.catalog import METHODS, method_kind
from stepreel.evaluation.methods.learned import LEARNED_METHODS
from stepreel.steps.decoders.catalog import DECODERS, settings_without_effect

PAPER_PRESET = "paper-small"
MOST_SEEDS = 1000
_SET_BY_OPTION = {"key_steps.n_clusters": "clusters", "train.seed": "seeds"}


@dataclass(frozen=True)
class Plan:
    """Methods, seeds and settings of one evaluation; the same for every task of a dataset.

    preset     of the method `paper`; all others start from the default preset
    overrides  settings changed for all methods but null baselines
    rate       moments per second to score at; None: as the recordings have them
    """

    methods: tuple[str, ...] = tuple(METHODS.own)
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
        if method_kind(method) in NULL_KINDS:
            return load_settings("paper", fixed)
        preset = self.preset if method == "paper" else DEFAULT_PRESET
        settings = load_settings(preset, {**self.overrides, **fixed})
        if cues is None:
            check_cue_names(settings.extract.cues)
        check_cue_choices(settings, settings.extract.cues)
        return settings

    def trains(self, method: str, cues: Sequence[str] | None = None) -> bool:
        """Return whether a learned method trains; stepreel does if its decoder needs that."""
        if method not in LEARNED_METHODS or method == "paper":
            return method_kind(method) == "learned"
        return DECODERS[self.settings_of(method, cues).key_steps.decoder].needs_embedding

    def embedding_methods(self, cues: Sequence[str] | None = None) -> list[str]:
        """Return those of the compared methods that learn an embedding."""
        learned = [method for method in LEARNED_METHODS if method in self.methods]
        return [method for method in learned if self.trains(method, cues)]

    def checked_settings(self, method: str, cues: Sequence[str] | None = None) -> Settings:
        """Resolve settings that may name cues which the recordings do not have."""
        try:
            return self.settings_of(method, cues)
        except ValueError as problem:
            raise DatasetError(str(problem)) from None


def make_plan(
    *,
    methods: Sequence[str] | None = None,
    baselines_only: bool = False,
    clusters: int = 7,
    seeds: int = 3,
    preset: str | None = None,
    window_seconds: float | None = None,
    rate: float | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Plan:
    """Return a checked plan; SettingsError says what is wrong with an option.

    Parameters are those of `stepreel.evaluate`; `overrides` are dotted: {"train.epochs": 20}.
    """
    if not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
        raise SettingsError(f"seeds: {seeds} is not a number from 1 to {MOST_SEEDS}")
    overrides = dict(overrides or {})
    for name, option in _SET_BY_OPTION.items():
        if name in overrides:
            raise SettingsError(f"{name} would be overridden; use --{option} ({option}=…)")
    if window_seconds is not None:
        overrides |= {"loss.window_seconds": window_seconds, "loss.window_frames": None}
    if rate is not None:
        overrides["extract.moments_per_second"] = rate
    plan = Plan(
        methods=choose_methods(methods, baselines_only=baselines_only),
        n_clusters=clusters,
        seeds=tuple(range(seeds)),
        preset=preset or PAPER_PRESET,
        overrides=overrides,
        rate=rate,
    )
    for method in LEARNED_METHODS:  # a wrong name is an error even where it has no effect
        try:
            plan.settings_of(method)
        except CueChoiceError:
            continue  # cues of features are checked once the features have been read
    return plan


def notes_on_settings(plan: Plan) -> list[str]:
    """Say which settings no method that is compared has a use for."""
    looking = [method for method in plan.methods if method_kind(method) not in NULL_KINDS]
    if looking != ["stepreel"]:
        return []
    decoder = load_settings(DEFAULT_PRESET, plan.overrides).key_steps.decoder
    unused = settings_without_effect(plan.overrides, decoder)
    if not unused:
        return []
    return [f"{', '.join(unused)}: no effect with the decoder {decoder}"]


def choose_methods(
    names: Sequence[str] | None = None, *, baselines_only: bool = False
) -> tuple[str, ...]:
    """Return the methods to compare in their usual order; None: all, plug-ins included."""
    known = ", ".join(METHODS)
    if names is not None:
        if not names:
            raise SettingsError(f"no method is named; known: {known}")
        if unknown := [name for name in names if name not in METHODS]:
            raise SettingsError(f"unknown method {unknown[0]!r}; known: {known}")
    chosen = [method for method in METHODS if names is None or method in names]
    if baselines_only:
        chosen = [method for method in chosen if method_kind(method) in NULL_KINDS]
        if not chosen:
            raise SettingsError("baselines only: leaves none of the methods that are named")
    return tuple(chosen)
