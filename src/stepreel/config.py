"""Typed settings with the paper's values; a preset holds only what differs from them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from stepreel.errors import SettingsError


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class Expected:
    """What to write for a setting of several forms; the first form's complaint would mislead."""

    text: str


def _split(value: object) -> object:
    """Read comma-separated text as a list."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def parse_cues(text: str) -> CueChoice:
    """Read a choice of cues: main, all, or comma-separated names.

    >>> parse_cues("all"), parse_cues("hands, gaze")
    ('all', ('hands', 'gaze'))
    """
    match text.strip():
        case "main":
            return "main"
        case "all":
            return "all"
        case names:
            return tuple(part.strip() for part in names.split(",") if part.strip())


def _parse_cues(value: object) -> object:
    return parse_cues(value) if isinstance(value, str) else value


def _parse_rows(value: object) -> object:
    """Read rows of numbers, "1,1; 0,1"; names stay as they are."""
    if not isinstance(value, str) or not any(letter.isdigit() for letter in value):
        return value
    return [[cell.strip() for cell in row.split(",")] for row in value.split(";")]


def _parse_none(value: object) -> object:
    return None if isinstance(value, str) and value.lower() == "none" else value


CueNames = Annotated[tuple[str, ...], BeforeValidator(_split)]
CueChoice = Literal["main", "all"] | tuple[str, ...]
"""Some of the cues: the first, all of them, or these."""

Cues = Annotated[
    CueChoice, BeforeValidator(_parse_cues), Expected("main, all, or comma-separated names of cues")
]
Epochs = Annotated[tuple[int, ...], BeforeValidator(_split)]
CueWeights = Annotated[
    Literal["paper", "all-pairs", "main-cue"] | tuple[tuple[float, ...], ...],
    BeforeValidator(_parse_rows),
    Expected("paper, all-pairs, main-cue, or rows of numbers such as 1,1; 0,1"),
]
OptionalNumber = Annotated[float | None, BeforeValidator(_parse_none)]
OptionalCount = Annotated[int | None, BeforeValidator(_parse_none)]


class ExtractSettings(_Settings):
    """How a recording becomes tracks."""

    cues: CueNames = Field(("appearance", "motion"), description="The first is the main one.")
    moments_per_second: float = Field(4.0, gt=0, le=120)
    shard_seconds: float = Field(600.0, ge=1, description="How much an interruption can cost.")


Bootstrap = Literal["none", "sampled", "negatives", "union"]


class LossSettings(_Settings):
    """The BMC2 loss."""

    window_seconds: float = Field(10.0, gt=0, description="σ: moments this near are alike.")
    window_frames: OptionalNumber = Field(
        None, gt=0, description="σ in moments of the track, instead of seconds."
    )
    bootstrap: Bootstrap = Field(
        "union", description="What moments that look alike change: see `windows.choose_pairs`."
    )
    bootstrap_on: Cues = Field(
        "all", description="Cues whose raw features find alike moments far apart."
    )
    cue_weights: CueWeights = Field(
        "paper", description="λ: a name (paper: all-pairs for two cues, else main-cue), or rows."
    )
    alignment_weight: float = Field(
        0.0, ge=0, description="Weight of the soft-DTW alignment between recordings."
    )
    alignment_smoothing: float = Field(0.1, gt=0, description="How soft soft-DTW is.")


class TrainSettings(_Settings):
    """How the encoder learns."""

    n_chunks: int = Field(1024, ge=2, description="N: moments sampled from a recording.")
    chunks_of_mean_length: OptionalNumber = Field(
        None, gt=0, description="N as a share of the recordings' mean length, instead."
    )
    temporal_extent: float = Field(
        1.0, gt=0, le=1, description="β: share of a recording that one sampling covers."
    )
    batch_size: int = Field(4, ge=1, le=1024)
    epochs: int = Field(300, ge=1, description="The most epochs there will be.")
    learning_rate: float = Field(1e-3, gt=0)
    drop_after_epochs: Epochs = Field(
        (), description="The learning rate falls to a tenth after each of these."
    )
    standardise: Literal["none", "recording"] = Field(
        "none", description="recording: z-score every feature over its recording first."
    )
    average_seconds: float = Field(
        0.0, ge=0, description="Describe a moment by its features' mean over so long; 0: as it is."
    )
    checkpoint_seconds: float = Field(5.0, ge=0, description="How much a crash can cost.")
    stop_when_settled: bool = Field(False, description="Stop once the loss no longer falls.")
    seed: int = Field(0, ge=0, le=2**32 - 1)


class EncoderSettings(_Settings):
    """The per-cue temporal encoder."""

    kind: Literal["transformer", "lstm", "tcn"] = "transformer"
    positions: Literal["raw", "none", "after-mlp"] = Field(
        "raw", description="Where the encoding of time is added; after-mlp is known to collapse."
    )
    width: int = Field(128, ge=2)
    n_layers: int = Field(2, ge=1, description="Of the transformer or LSTM.")
    n_heads: int = Field(2, ge=1, description="Of the transformer.")

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
    """Algorithm 1, and what of its result is shown."""

    n_clusters: int = Field(7, ge=1, le=1000, description="K: kinds of steps to look for.")
    background_ratio: float = Field(0.1, ge=0, lt=1, description="α: share trimmed per cluster.")
    leave_out_pauses: bool = Field(
        False, description="Set aside moments that all borders between steps have in common."
    )
    split_gap_seconds: float = Field(2.0, gt=0, description="γ: a longer gap starts a new step.")
    min_step_seconds: float = Field(1.0, ge=0, description="Shorter segments are left out.")
    top: OptionalCount = Field(
        None, ge=1, description="Show so many, the nearest to their centres."
    )
    background_seconds: float = Field(2.0, ge=0, description="Shortest run called background.")


class Settings(_Settings):
    """Everything that decides what a run finds."""

    extract: ExtractSettings = ExtractSettings()
    loss: LossSettings = LossSettings()
    encoder: EncoderSettings = EncoderSettings()
    train: TrainSettings = TrainSettings()
    embed: EmbedSettings = EmbedSettings()
    key_steps: KeyStepSettings = KeyStepSettings()


DEFAULT_PRESET = "quick"


class CueChoiceError(SettingsError):
    """A setting names a cue that is not there, or weights for another number of cues."""


def known_presets() -> list[str]:
    """Name the presets that come with the package."""
    folder = files("stepreel") / "presets"
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


def load_settings(
    preset: str = DEFAULT_PRESET, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Resolve a preset and dotted overrides such as {"train.epochs": 20} on top of it."""
    if preset not in known_presets():
        raise SettingsError(f"unknown preset {preset!r}; known: {', '.join(known_presets())}")
    text = (files("stepreel") / "presets" / f"{preset}.toml").read_text(encoding="utf-8")
    values = tomllib.loads(text)
    for name, value in (overrides or {}).items():
        _put(values, name, value)
    return validated(values)


def validated(values: Mapping[str, object]) -> Settings:
    """Return settings from plain values, or raise SettingsError naming the first that is wrong."""
    try:
        return Settings.model_validate(values)
    except ValidationError as problem:
        raise SettingsError(_explain(problem)) from None


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """Read `--set` arguments.

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


def pick_cues(chosen: CueChoice, cues: Sequence[str], *, setting: str) -> list[str]:
    """Return the cues that a setting names, in the order in which it names them.

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
    """Raise SettingsError if a setting names a cue that is not there, or λ has another size."""
    pick_cues(settings.loss.bootstrap_on, cues, setting="loss.bootstrap_on")
    pick_cues(settings.embed.cues, cues, setting="embed.cues")
    weights = settings.loss.cue_weights
    if not isinstance(weights, str) and {len(cues)} != {len(weights), *map(len, weights)}:
        rows = "; ".join(",".join(f"{cell:g}" for cell in row) for row in weights)
        raise CueChoiceError(
            f"loss.cue_weights={rows}: one row and one column per cue are needed, "
            f"here {len(cues)} ({', '.join(cues)})"
        )
    if not isinstance(weights, str) and not any(cell for row in weights for cell in row):
        raise SettingsError("loss.cue_weights: all are 0; at least one cue must be learned from")


def _put(values: dict[str, Any], name: str, value: object) -> None:
    section, dot, field = name.partition(".")
    if section not in Settings.model_fields or not dot:
        known = ", ".join(f"{part}.…" for part in Settings.model_fields)
        raise SettingsError(f"unknown setting {name!r}; settings begin with: {known}")
    values.setdefault(section, {})[field] = value


def _explain(problem: ValidationError) -> str:
    """Say what is wrong with the first setting that is, and what is known or expected there."""
    error = problem.errors()[0]
    name = ".".join(str(part) for part in error["loc"][:2])
    section = Settings.model_fields.get(str(error["loc"][0]))
    fields = getattr(section.annotation if section else Settings, "model_fields", {})
    if error["type"] == "extra_forbidden":
        return f"unknown setting {name!r}; known here: {', '.join(sorted(fields))}"
    field = fields.get(str(error["loc"][1])) if len(error["loc"]) > 1 else None
    for extra in field.metadata if field else ():
        if isinstance(extra, Expected):
            return f"setting {name}: {error['input']!r} is not understood; expected {extra.text}"
    return f"setting {name}={error['input']!r}: {error['msg']}"
