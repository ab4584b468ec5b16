"""A model as a folder: learn a task's kinds of steps once, then find its steps in later takes.

model.json         what it was made from and how: cues, widths, settings
model.safetensors  the encoder's weights, and what finds every kind of step again
metrics.jsonl      one line per epoch
loss.png           the same as a curve, if matplotlib is installed

A decoder that needs no embedding leaves no encoder: its model has no weights and no epochs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stepreel.config import (
    MOST_CLUSTERS,
    Settings,
    check_cue_choices,
    pick_cues,
    without_retired,
)
from stepreel.errors import ModelError, SettingsError
from stepreel.learn import METHOD_VERSION
from stepreel.learn.sampling import learning_rate
from stepreel.system.contracts import explain_invalid
from stepreel.system.files import explain_write_errors, read_regular, write_bytes, write_text
from stepreel.types import Floats, Recording, clustering_id, cues_and_widths
from stepreel.version import __version__

FOLDER = "model"  # in the output folder of `run`
CARD, WEIGHTS, METRICS, CURVE = "model.json", "model.safetensors", "metrics.jsonl", "loss.png"
OTHER_FILES = (WEIGHTS, METRICS, CURVE)  # written before the card, which makes them a model
CENTRES = "centres"
KINDS = "kinds."  # prefix of all arrays of kinds but the centres, which models always had


class CueCard(BaseModel):
    """One cue that a model was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    width: int = Field(ge=1, le=10_000_000, description="Features per moment.")
    made_by: dict[str, Any] = Field(description="How the features were made.")


class ModelCard(BaseModel):
    """model.json: everything about a model except its weights."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["stepreel-model"] = "stepreel-model"
    version: Literal[1] = 1
    stepreel_version: str = __version__
    method: int = METHOD_VERSION
    cues: dict[str, CueCard] = Field(min_length=1, description="The first is the main cue.")
    settings: Annotated[Settings, BeforeValidator(without_retired)]
    decoder: str = Field("kmeans", description="The decoder that finds the kinds of steps.")
    how_found: str = Field("", description="How its kinds of steps were found, as a sentence.")
    found_structure: bool | None = Field(
        None, description="False if its steps were hardly more than equal parts; null: not known."
    )
    recordings: list[str] = Field(description="Names of the recordings it was made from.")
    epochs: int
    loss: float | None = Field(description="Loss of the last epoch; null without training.")
    n_clusters: int = Field(ge=1, le=MOST_CLUSTERS, description="Number of kinds of steps.")
    weights_hash: str = Field("", description="Hash of model.safetensors; set on writing.")


def is_finished(checkpoint: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether a checkpoint is the last one of its training."""
    return bool(json.loads(checkpoint["state"].tobytes()) == "finished")


@dataclass(frozen=True)
class TrainedWeights:
    """The encoder's weights after training, and the loss and duration of every epoch."""

    weights: dict[str, Floats]
    losses: list[float]
    seconds: list[float]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TrainedWeights:
        """Extract the weights from a finished checkpoint."""
        weights = {
            name.removeprefix("encoder."): array
            for name, array in arrays.items()
            if name.startswith("encoder.")
        }
        return cls(weights, arrays["losses"].tolist(), arrays["seconds"].tolist())


@dataclass(frozen=True)
class TaskModel:
    """An encoder's weights and the kinds of steps found with it.

    weights   of the encoder; none if its decoder needs no embedding
    kinds     what its decoder finds the kinds of steps with, such as cluster centres
    training  loss and duration of the training; None if there was none, and for a model that was
              read from a folder
    """

    card: ModelCard
    weights: dict[str, Floats]
    kinds: Mapping[str, Floats]
    training: TrainedWeights | None = None

    @property
    def settings(self) -> Settings:
        """The settings it was made with."""
        return self.card.settings

    @property
    def clustering_id(self) -> str:
        """The same as in the storyboards that were made with it."""
        return kinds_id(self.kinds)

    def __repr__(self) -> str:
        cues = cues_and_widths({cue: card.width for cue, card in self.card.cues.items()})
        return f"TaskModel({cues}; {self.card.n_clusters} kinds of steps)"


def kinds_id(kinds: Mapping[str, Floats]) -> str:
    """Return the `clustering_id` of kinds of steps; empty if nothing finds them again."""
    return clustering_id(*(kinds[name] for name in sorted(kinds))) if kinds else ""


def build_model(
    recordings: Sequence[Recording],
    settings: Settings,
    training: TrainedWeights | None,
    kinds: Mapping[str, Floats],
    *,
    n_clusters: int,
    decoder: str = "kmeans",
    how_found: str = "",
    found_structure: bool | None = None,
) -> TaskModel:
    """Build the model of what was found in `recordings`."""
    first = recordings[0]
    card = ModelCard(
        cues={
            cue: CueCard.model_validate(
                {"width": track.width, "made_by": first.track_settings.get(cue, {})}
            )
            for cue, track in first.tracks.items()
        },
        settings=settings,
        decoder=decoder,
        how_found=how_found,
        found_structure=found_structure,
        recordings=[recording.name for recording in recordings],
        epochs=0 if training is None else len(training.losses),
        loss=None if training is None else training.losses[-1],
        n_clusters=n_clusters,
    )
    return TaskModel(card, {} if training is None else training.weights, dict(kinds), training)


def write_model(folder: Path, model: TaskModel) -> None:
    """Write a model after training; model.json is written last and has the hash of the weights."""
    content = _weights_file(model.weights, model.kinds)
    card = model.card.model_copy(update={"weights_hash": _hash(content)})
    with explain_write_errors(folder):
        is_same_encoder = _has_encoder(folder, model.weights)
        write_bytes(folder / WEIGHTS, content)
        if model.training is not None:
            _write_metrics(folder, model.training, model.settings)
        elif not is_same_encoder:  # they would be those of an earlier training
            for name in (METRICS, CURVE):
                (folder / name).unlink(missing_ok=True)
        write_text(folder / CARD, card.model_dump_json(indent=2) + "\n")


def _has_encoder(folder: Path, weights: Mapping[str, Floats]) -> bool:
    """Return whether the model in a folder has the same encoder."""
    try:
        there = read_model(folder).weights
    except ModelError:
        return False
    return (
        bool(weights)
        and there.keys() == weights.keys()
        and all(np.array_equal(there[name], array) for name, array in weights.items())
    )


def _weights_file(weights: Mapping[str, Floats], kinds: Mapping[str, Floats]) -> bytes:
    from safetensors.numpy import save

    named = {
        name if name == CENTRES else f"{KINDS}{name}": np.ascontiguousarray(array, np.float32)
        for name, array in kinds.items()
    }
    content: bytes = save({**weights, **named})
    return content


def metrics_text(losses: Sequence[float], seconds: Sequence[float], settings: Settings) -> str:
    """Return one line of JSON per epoch."""
    lines = [
        {
            "epoch": epoch,
            "loss": loss,
            "learning_rate": learning_rate(epoch - 1, settings.train),
            "seconds": round(spent, 4),
        }
        for epoch, (loss, spent) in enumerate(zip(losses, seconds, strict=True), start=1)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _write_metrics(folder: Path, training: TrainedWeights, settings: Settings) -> None:
    from stepreel.learn.loss_curve import can_draw, loss_curve

    text = metrics_text(training.losses, training.seconds, settings)
    path, picture = folder / METRICS, folder / CURVE
    if picture.is_file() and path.is_file() and path.read_text(encoding="utf-8") == text:
        return  # unchanged, and drawing takes a second
    if can_draw():
        write_bytes(picture, loss_curve(training.losses))
    else:
        picture.unlink(missing_ok=True)  # it would show an earlier training
    write_text(path, text)


def read_model(path: Path | str) -> TaskModel:
    """Read a model from its folder, or from the output folder of a run that contains one."""
    folder = Path(path)
    if not (folder / CARD).exists() and (folder / FOLDER / CARD).exists():
        folder = folder / FOLDER
    try:
        text = read_regular(folder / CARD).decode("utf-8")
        card = ModelCard.model_validate_json(text)
        content = read_regular(folder / WEIGHTS)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(
            f"{path}: contains no model (model.json and model.safetensors); "
            "`stepreel train` and `stepreel run` write one into their output folder"
        ) from None
    except OSError as problem:
        raise ModelError(
            f"{problem.filename or folder}: cannot be read ({problem.strerror})"
        ) from problem
    except UnicodeDecodeError as problem:
        raise ModelError(f"{folder / CARD}: is not UTF-8 text") from problem
    except ValidationError as problem:
        raise ModelError(
            f"{folder / CARD}: not a model of version 1: "
            f"{explain_invalid(text, problem, ModelCard)}; copy it again, or make a new one"
        ) from problem
    if card.method != METHOD_VERSION:
        raise ModelError(
            f"{folder}: was trained with version {card.method} of the method, but this is version "
            f"{METHOD_VERSION}, which gives different embeddings; make a new one"
        )
    try:
        check_cue_choices(card.settings, list(card.cues))
    except SettingsError as problem:
        raise ModelError(f"{folder / CARD}: {problem}; copy it again, or make a new one") from None
    arrays = _load_weights(folder, card, content)
    kinds = {name: array for name, array in arrays.items() if _is_of_kinds(name)}
    return TaskModel(
        card,
        {name: array for name, array in arrays.items() if name not in kinds},
        {name.removeprefix(KINDS): array for name, array in kinds.items()},
    )


def _is_of_kinds(name: str) -> bool:
    return name == CENTRES or name.startswith(KINDS)


def _load_weights(folder: Path, card: ModelCard, content: bytes) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    advice = "copy the folder again, or make a new one"
    if _hash(content) != card.weights_hash:
        raise ModelError(f"{folder}: model.safetensors does not belong to model.json; {advice}")
    try:
        arrays: dict[str, NDArray[Any]] = load(content)
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise ModelError(f"{folder / WEIGHTS}: damaged ({problem}); {advice}") from None
    if wrong := [name for name, array in arrays.items() if array.dtype != np.float32]:
        raise ModelError(
            f"{folder / WEIGHTS}: {wrong[0]} contains {arrays[wrong[0]].dtype}; "
            f"expected float32; {advice}"
        )
    embed_cues = pick_cues(card.settings.embed.cues, list(card.cues), setting="embed.cues")
    expected = (card.n_clusters, card.settings.encoder.width * len(embed_cues))
    has_centres = CENTRES in arrays and arrays[CENTRES].shape == expected
    if card.decoder == "kmeans" and not has_centres:
        raise ModelError(f"{folder / WEIGHTS}: no {CENTRES} of shape {expected}; {advice}")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ModelError(f"{folder / WEIGHTS}: contains weights that are not finite; {advice}")
    return arrays


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def check_has_encoder(model: TaskModel) -> None:
    """Raise ModelError if nothing was trained for a model: then it cannot embed."""
    if not model.weights:
        raise ModelError(
            f"the model has no encoder: nothing was trained for it, because its decoder, "
            f"{model.card.decoder}, needs no embedding; `stepreel train` makes a model that has one"
        )


def check_extractors(model: TaskModel, extractors: Mapping[str, Mapping[str, object]]) -> None:
    """Raise ModelError unless cues extract features as for the model; cheap, so checked first."""
    for cue, current in extractors.items():
        trained = model.card.cues[cue].made_by if cue in model.card.cues else {}
        if differences := _differences({key: trained.get(key) for key in current}, current):
            raise ModelError(
                f"the model's {cue} features were made differently ({differences}); "
                "make a new model"
            )


def check_fits(model: TaskModel, recording: Recording) -> None:
    """Raise ModelError unless a recording has exactly the features the model was made from."""
    trained = model.card.cues
    expected = cues_and_widths({cue: card.width for cue, card in trained.items()})
    actual = cues_and_widths({cue: track.width for cue, track in recording.tracks.items()})
    if expected != actual:
        raise ModelError(
            f"{recording.name}: has the cues {actual}, but the model was made from {expected}; "
            "use the same cues, or make a new model"
        )
    for cue, card in trained.items():
        if differences := _differences(card.made_by, recording.track_settings.get(cue, {})):
            raise ModelError(
                f"{recording.name}: its {cue} features were made differently than the model's "
                f"({differences}); make a new model"
            )


def _differences(trained: object, current: object) -> str:
    """Describe the differences between two descriptions; empty if there are none."""
    current = json.loads(json.dumps(current, default=str))  # as `trained` was written and read
    if not isinstance(trained, dict) or not isinstance(current, dict):
        return "" if trained == current else f"{trained} in the model, {current} now"
    return "; ".join(
        f"{key}: {trained.get(key, 'unknown')} in the model, {current.get(key, 'unknown')} now"
        for key in sorted({*trained, *current})
        if trained.get(key) != current.get(key)
    )
