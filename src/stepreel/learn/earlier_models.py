"""Keep the model of storyboards that stay, when another one takes its place.

A run writes its model to model/. If storyboards of an earlier run stay in the output folder,
because they were edited by hand or are of other recordings, only the earlier model finds their
kinds of steps again. It is therefore copied to model-ID/ first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from stepreel.errors import ModelError
from stepreel.learn.model import CARD, FOLDER, OTHER_FILES, TaskModel, read_model
from stepreel.system.files import explain_write_errors, read_regular, write_bytes


def keep_earlier_model(
    output: Path, new: TaskModel | None, ids_in_use: Iterable[str]
) -> Path | None:
    """Copy the model of `output` if storyboards in it need it; return where to, None if not.

    new         the model that takes its place; None if none does
    ids_in_use  clustering_id of the storyboards in `output`; empty if unknown
    """
    folder = output / FOLDER
    if not (folder / CARD).exists():
        return None
    try:
        earlier = read_model(folder)
    except ModelError:
        return None  # it cannot be used anyway
    if new is not None and earlier.clustering_id == new.clustering_id:
        return None
    if not {"", earlier.clustering_id} & set(ids_in_use):
        return None
    copy = output / earlier_folder(earlier)
    if not _is_whole(copy):
        _copy_model(folder, copy)
    return copy


def earlier_folder(model: TaskModel) -> str:
    """Return the name of the folder in which an earlier model is kept."""
    return f"{FOLDER}-{model.clustering_id[:8]}"


def _is_whole(folder: Path) -> bool:
    with contextlib.suppress(ModelError):
        read_model(folder)
        return True
    return False


def _copy_model(folder: Path, copy: Path) -> None:
    """Copy all files; model.json, which makes them a model, is the last one."""
    with explain_write_errors(copy):
        for name in (*OTHER_FILES, CARD):
            if (folder / name).is_file():
                write_bytes(copy / name, read_regular(folder / name))
