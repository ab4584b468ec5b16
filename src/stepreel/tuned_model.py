"""The model beside an output folder, when its steps are chosen again."""

from __future__ import annotations

from dataclasses import replace

from stepreel.errors import ModelError
from stepreel.learn.model import TaskModel, read_model
from stepreel.pipeline import model_of_kinds
from stepreel.steps.decoders.base import Decoded
from stepreel.steps.decoders.catalog import DECODERS
from stepreel.task import Task
from stepreel.tuning.kept_takes import KeptTake


def model_of(take: KeptTake) -> TaskModel | None:
    """Return the model beside a recording's folder, if it knows these kinds of steps."""
    try:
        model = read_model(take.folder.absolute().parent)
    except ModelError:
        return None
    return model if model.clustering_id == take.card.main.clustering_id else None


def tuned_model(
    take: KeptTake, task: Task, decoded: Decoded, has_embedding: bool
) -> TaskModel | None:
    """Return what finds the new kinds of steps again; the encoder is that of the earlier model.

    None if nothing can: kinds in an embedding are lost without the encoder.
    """
    earlier = model_of(take)
    decoder = DECODERS[decoded.used]
    needs_encoder = decoder.needs_embedding or (decoder.uses_embedding and has_embedding)
    has_encoder = earlier is not None and bool(earlier.weights)
    if needs_encoder and not has_encoder:
        return None
    model = model_of_kinds(task, decoded, None)
    if model is None or earlier is None or not earlier.weights:
        return model
    learned = {"epochs": earlier.card.epochs, "loss": earlier.card.loss}
    return replace(model, card=model.card.model_copy(update=learned), weights=earlier.weights)
