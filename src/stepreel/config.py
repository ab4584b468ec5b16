"""Typed settings whose defaults are the paper's values; a preset lists only what differs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from stepreel.errors import SettingsError
from stepreel.setting_values import (
    CountRange,
    CueChoice,
    CueNames,
    Cues,
    CueWeights,
    Epochs,
    MomentPairs,
    Moments,
    NumberOfKinds,
    OptionalCount,
    OptionalNumber,
)
from stepreel.validation import first_problem, similar

MOST_CLUSTERS = 1000
USUAL_CLUSTERS = 7
MOST_FPS = 1e6
LEAST_FPS = 1e-6
LONGEST_SETTING = 1e6  # seconds, eleven days; no recording of a task is longer


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ExtractSettings(_Settings):
    """How tracks are extracted from a video."""

    cues: CueNames = Field(("appearance", "motion"), description="The first is the main cue.")
    moments_per_second: float = Field(4.0, gt=0, le=120)
    shard_seconds: float = Field(
        600.0,
        ge=1,
        le=LONGEST_SETTING,
        description="Length of the shards in which features are saved; "
        "at most this much is extracted again after an interruption.",
    )


Bootstrap = Literal["none", "sampled", "negatives", "union"]


class LossSettings(_Settings):
    """The BMC2 loss."""

    window_seconds: float = Field(
        10.0, gt=0, le=LONGEST_SETTING, description="σ: moments at most this far apart are similar."
    )
    window_frames: OptionalNumber = Field(
        None, gt=0, le=1e8, description="σ in moments of the track; overrides window_seconds."
    )
    bootstrap: Bootstrap = Field(
        "union", description="How similar-looking moments are used: see `windows.choose_pairs`."
    )
    bootstrap_on: Cues = Field(
        "all", description="Cues whose raw features are compared to find similar moments."
    )
    cue_weights: CueWeights = Field(
        "paper",
        description="λ: a name (paper: all-pairs for up to two cues, else main-cue), or rows.",
    )
    alignment_weight: float = Field(
        0.0, ge=0, le=1e6, description="Weight of the soft-DTW alignment between recordings."
    )
    alignment_smoothing: float = Field(
        0.1, gt=0, le=1e6, description="Smoothing of soft-DTW; near 0 it is plain DTW."
    )


class TrainSettings(_Settings):
    """How the encoder is trained."""

    n_chunks: int = Field(
        1024, ge=2, le=100_000, description="N: moments sampled from each recording."
    )
    chunks_of_mean_length: OptionalNumber = Field(
        None,
        gt=0,
        le=1000,
        description="N as a fraction of the recordings' mean length; overrides n_chunks.",
    )
    temporal_extent: float = Field(
        1.0, gt=0, le=1, description="β: fraction of a recording that one sample covers."
    )
    batch_size: int = Field(4, ge=1, le=1024)
    epochs: int = Field(300, ge=1, le=1_000_000, description="Maximum number of epochs.")
    learning_rate: float = Field(1e-3, gt=0, le=1e30)  # one that is too large is explained later
    drop_after_epochs: Epochs = Field(
        (), description="Divide the learning rate by 10 after each of these epochs."
    )
    standardise: Literal["none", "recording"] = Field(
        "none", description="recording: z-score every feature over its recording."
    )
    average_seconds: float = Field(
        0.0,
        ge=0,
        le=LONGEST_SETTING,
        description="Length of the moving average over a moment's features; 0: none.",
    )
    checkpoint_seconds: float = Field(
        5.0,
        ge=0,
        le=LONGEST_SETTING,
        description="Time between checkpoints; at most this much is lost in a crash.",
    )
    stop_when_settled: bool = Field(False, description="Stop once the loss stops falling.")
    seed: int = Field(0, ge=0, le=2**32 - 1)


class EncoderSettings(_Settings):
    """The per-cue temporal encoder."""

    kind: Literal["transformer", "lstm", "tcn"] = "transformer"
    positions: Literal["raw", "none", "after-mlp"] = Field(
        "raw", description="Where the time encoding is added; after-mlp is known to collapse."
    )
    width: int = Field(128, ge=2, le=16_384)
    n_layers: int = Field(2, ge=1, le=256, description="Layers of the transformer or LSTM.")
    n_heads: int = Field(2, ge=1, le=1024, description="Attention heads of the transformer.")

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.width % self.n_heads:
            raise ValueError(f"width {self.width} must be a multiple of n_heads {self.n_heads}")
        if self.kind == "lstm" and self.width % 2:
            raise ValueError(f"width {self.width} must be even: an LSTM has two directions")
        return self


class EmbedSettings(_Settings):
    """What is clustered."""

    cues: Cues = Field("main", description="The paper uses the main cue alone.")


class KeyStepSettings(_Settings):
    """How moments become steps, and which of these are shown."""

    decoder: str = Field(
        "kmeans",
        min_length=1,
        max_length=100,
        description="How moments are labelled (`stepreel info` lists all).",
    )
    n_clusters: NumberOfKinds = Field(
        None,
        ge=1,
        le=MOST_CLUSTERS,
        description="K: number of kinds of steps, for `changes` a limit. If left out, it is found.",
    )
    clusters_range: CountRange = Field(
        None, description="Least and greatest number of kinds, where their number is found: 5..12."
    )
    n_steps: CountRange = Field(
        None,
        description="How many steps one recording has, or a range: 3..8. If left out, it is found.",
    )
    background_ratio: float = Field(
        0.1, ge=0, lt=1, description="α: fraction of each cluster that `kmeans` trims."
    )
    split_gap_seconds: float = Field(
        2.0, gt=0, le=LONGEST_SETTING, description="γ: a longer gap starts a new step."
    )
    min_step_seconds: float = Field(
        1.0, ge=0, le=LONGEST_SETTING, description="Shorter segments are not shown."
    )
    top: OptionalCount = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Show at most this many steps; `sample` says which.",
    )
    budget_seconds: OptionalNumber = Field(
        None,
        gt=0,
        le=LONGEST_SETTING,
        description="Show steps that last at most so long together; `sample` says which.",
    )
    sample: str = Field(
        "algorithm-1",
        min_length=1,
        max_length=100,
        description="Which steps are shown if not all can be (`stepreel info` lists all ways).",
    )
    contains: Moments = Field((), description="Moments (seconds) that shown steps have to contain.")
    same: MomentPairs = Field((), description="Pairs of moments of one step: 12,80; 5,9.")
    different: MomentPairs = Field((), description="Pairs of moments that are different steps.")
    at_least: OptionalCount = Field(
        None, ge=1, le=1000, description="Cut steps until there are at least so many."
    )
    background_seconds: float = Field(
        2.0,
        ge=0,
        le=LONGEST_SETTING,
        description="Shortest run of moments that is called background.",
    )

    @property
    def number_of_clusters(self) -> int:
        """K, for whatever has to know it beforehand."""
        return self.n_clusters or USUAL_CLUSTERS

    @model_validator(mode="after")
    def _ranges_are_not_empty(self) -> Self:
        for name in ("n_steps", "clusters_range"):
            fewest, most = getattr(self, name) or (1, 1)
            if fewest > most:
                raise ValueError(
                    f"{name} {fewest}..{most} is empty: the first number is the smaller"
                )
        return self


class Settings(_Settings):
    """All settings that affect the result of a run."""

    extract: ExtractSettings = ExtractSettings()
    loss: LossSettings = LossSettings()
    encoder: EncoderSettings = EncoderSettings()
    train: TrainSettings = TrainSettings()
    embed: EmbedSettings = EmbedSettings()
    key_steps: KeyStepSettings = KeyStepSettings()


DEFAULT_PRESET = "quick"
RETIRED = {"key_steps": ("leave_out_pauses",)}  # settings that older models and storyboards have


class CueChoiceError(SettingsError):
    """A setting names an unknown cue, or has weights for a different number of cues."""


def known_presets() -> list[str]:
    """Return the names of the presets in the package."""
    folder = files("stepreel") / "presets"
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


def load_settings(
    preset: str = DEFAULT_PRESET, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Load a preset and apply overrides such as {"train.epochs": 20}."""
    if preset not in known_presets():
        raise SettingsError(
            f"unknown preset {preset!r}; known: {', '.join(known_presets())}"
            f"{similar(preset, known_presets())}"
        )
    text = (files("stepreel") / "presets" / f"{preset}.toml").read_text(encoding="utf-8")
    values = tomllib.loads(text)
    for name, value in (overrides or {}).items():
        put_setting(values, name, value)
    return validated(values)


def validated(values: Mapping[str, object]) -> Settings:
    """Build settings from plain values; SettingsError names the first invalid one."""
    try:
        return Settings.model_validate(values)
    except ValidationError as problem:
        raise SettingsError(_explain(problem)) from None


def without_retired(values: object) -> object:
    """Leave out settings that no longer have a meaning, as older files have them.

    >>> without_retired({"key_steps": {"leave_out_pauses": True, "n_clusters": 7}})
    {'key_steps': {'n_clusters': 7}}
    """
    if not isinstance(values, Mapping):
        return values
    return {
        part: {name: value for name, value in fields.items() if name not in RETIRED.get(part, ())}
        if isinstance(fields, Mapping)
        else fields
        for part, fields in values.items()
    }


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """Parse `--set` arguments.

    >>> parse_assignments(["train.epochs=20", "embed.cues=all"])
    {'train.epochs': '20', 'embed.cues': 'all'}
    """
    parsed: dict[str, object] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f"{assignment!r} is not of the form name=value (train.epochs=20)")
        parsed[name.strip()] = value.strip()
    return parsed


def check_rate(value: float | None, *, option: str) -> None:
    """Raise SettingsError unless a number of frames or moments per second can be right.

    >>> check_rate(25.0, option="--fps")
    """
    if value is not None and not LEAST_FPS <= value <= MOST_FPS:
        raise SettingsError(
            f"{option}: {value:g} is not a rate; expected {LEAST_FPS:g} to {MOST_FPS:g} per second"
        )


def pick_cues(chosen: CueChoice, cues: Sequence[str], *, setting: str) -> list[str]:
    """Return the cues that a setting names, in its order.

    >>> pick_cues("main", ["appearance", "motion"], setting="embed.cues")
    ['appearance']
    """
    if chosen == "all":
        return list(cues)
    if chosen == "main":
        return list(cues[:1])
    unknown = [cue for cue in chosen if cue not in cues]
    if unknown or not chosen:
        raise CueChoiceError(
            f"{setting}: {', '.join(unknown) or 'nothing'} is not among the cues; "
            f"known here: all, main, {', '.join(cues)}"
        )
    return list(dict.fromkeys(chosen))


def check_cue_choices(settings: Settings, cues: Sequence[str]) -> None:
    """Raise SettingsError if a setting names an unknown cue, or λ does not match their number."""
    pick_cues(settings.loss.bootstrap_on, cues, setting="loss.bootstrap_on")
    pick_cues(settings.embed.cues, cues, setting="embed.cues")
    weights = settings.loss.cue_weights
    if not isinstance(weights, str) and {len(cues)} != {len(weights), *map(len, weights)}:
        rows = "; ".join(",".join(f"{cell:g}" for cell in row) for row in weights)
        raise CueChoiceError(
            f"loss.cue_weights={rows}: expected one row and one column per cue, "
            f"{len(cues)} of each ({', '.join(cues)})"
        )
    if not isinstance(weights, str) and not any(cell for row in weights for cell in row):
        raise SettingsError("loss.cue_weights: all weights are 0; at least one must be positive")


def put_setting(values: dict[str, Any], name: str, value: object) -> None:
    """Set a setting by its name, such as train.epochs; SettingsError if there is no such group."""
    section, dot, field = name.partition(".")
    if section not in Settings.model_fields or not dot:
        known = ", ".join(f"{part}.…" for part in Settings.model_fields)
        raise SettingsError(
            f"unknown setting {name!r}; setting names start with: {known}"
            f"{similar(section, list(Settings.model_fields))}"
        )
    values.setdefault(section, {})[field] = value


def _explain(problem: ValidationError) -> str:
    """Describe the first invalid setting, and the names or values expected there."""
    return first_problem(problem, Settings, thing="setting", depth=2)
