"""Run a decoder by name, and check what it returns; find the kinds of a model again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepreel.config import MOST_CLUSTERS
from stepreel.errors import ModelError, PluginError, SettingsError, StepreelError
from stepreel.learn.model import TaskModel, kinds_id
from stepreel.steps.decoders.auto import found_number
from stepreel.steps.decoders.base import Decision, Decoded, Decoder, Takes, with_id
from stepreel.steps.decoders.catalog import DECODERS
from stepreel.system.cores import one_thread


def decode(name: str, takes: Takes) -> Decoded:
    """Label all takes of a task with a decoder that `check_decoder` has accepted."""
    decoder, number = DECODERS[name], None
    if takes.is_number_open and not decoder.finds_number:
        with one_thread("blas"):
            number = found_number(takes)
        takes = takes.with_number(number.found)
    try:
        with one_thread("blas"):  # products are small; decoders use the cores for larger parts
            decoded = decoder.decode(_as_seen_by(decoder, takes))
    except Exception as problem:
        if name in DECODERS.own:
            raise
        raise PluginError(  # a plug-in can raise anything
            f"the decoder {name} failed ({type(problem).__name__}: {problem})"
        ) from problem
    _check(name, decoded, takes)
    natural = decoded.natural if number is None else number.natural
    decoded = with_id(decoded, kinds_id(decoded.kinds))
    return replace(decoded, used=decoded.used or name, natural=natural)


def find_kinds_again(model: TaskModel, takes: Takes) -> Decoded:
    """Label takes with the kinds of steps that a model knows."""
    name = model.card.decoder
    if name not in DECODERS:
        raise ModelError(
            f"the model needs the decoder {name!r}, which is not installed; known: "
            f"{', '.join(DECODERS)}"
        )
    find_again = DECODERS[name].find_again
    if DECODERS[name].needs_embedding and takes.embeddings is None:
        raise ModelError(
            f"the model has no encoder, which its decoder {name!r} needs; copy it again, or make a "
            "new one"
        )
    if find_again is None:
        raise ModelError(f"the decoder {name!r} cannot find its kinds of steps in later takes")
    try:
        with one_thread("blas"):
            decoded = find_again(_as_seen_by(DECODERS[name], takes), model.kinds)
    except KeyError as missing:
        raise ModelError(
            f"the model has no array {missing} for the decoder {name!r}; copy the model again, "
            "or make it again"
        ) from None
    except (StepreelError, SettingsError):
        raise
    except Exception as problem:
        if name not in DECODERS.own:
            raise PluginError(
                f"the decoder {name} failed ({type(problem).__name__}: {problem})"
            ) from problem
        if not isinstance(problem, ValueError | IndexError | TypeError | np.linalg.LinAlgError):
            raise
        raise ModelError(
            f"the model's arrays for the decoder {name!r} do not fit together ({problem}); copy "
            "the model again, or make it again"
        ) from None
    _check(name, decoded, takes)
    decision = decoded.decision or _decision_of(model)
    return replace(with_id(decoded, model.clustering_id), used=name, decision=decision)


def _as_seen_by(decoder: Decoder, takes: Takes) -> Takes:
    """Leave embeddings out for a decoder that does not look at them."""
    if decoder.needs_embedding or decoder.uses_embedding:
        return takes
    return replace(takes, embeddings=None)


def _decision_of(model: TaskModel) -> Decision | None:
    """Say how the kinds of steps were found in the first place, if the model knows.

    That they are more than equal parts was found out about other takes; of these it is not known.
    """
    card = model.card
    if not card.how_found:
        return None
    sentence = f"Kinds of steps of an earlier run were found again. In that run: {card.how_found}"
    return Decision(sentence, found_structure=False if card.found_structure is False else None)


def _check(name: str, decoded: object, takes: Takes) -> None:
    """Raise PluginError unless a decoder has labelled every moment."""
    if not isinstance(decoded, Decoded):
        raise PluginError(f"{name}: returned {type(decoded).__name__}; expected Decoded")
    if len(decoded.clusterings) != len(takes.recordings):
        raise PluginError(
            f"{name}: returned {len(decoded.clusterings)} clusterings; expected one for each of "
            f"{len(takes.recordings)} recordings"
        )
    if not all(np.isfinite(array).all() for array in decoded.kinds.values()):
        raise PluginError(f"{name}: the arrays of its kinds contain numbers that are not finite")
    for clustering, recording in zip(decoded.clusterings, takes.recordings, strict=True):
        labels = np.asarray(clustering.labels)
        if labels.shape != recording.times.shape or labels.dtype.kind not in "iu":
            raise PluginError(
                f"{name}: labels of {recording.name} are {labels.dtype} {labels.shape}; expected "
                f"whole numbers {recording.times.shape}"
            )
        if not 1 <= clustering.n_clusters <= MOST_CLUSTERS:
            raise PluginError(
                f"{name}: {clustering.n_clusters} kinds of steps; expected 1 to {MOST_CLUSTERS}"
            )
        if len(labels) and not 0 <= labels.min() <= labels.max() < clustering.n_clusters:
            raise PluginError(
                f"{name}: labels of {recording.name} are from {labels.min()} to {labels.max()}; "
                f"expected 0 to {clustering.n_clusters - 1}"
            )
