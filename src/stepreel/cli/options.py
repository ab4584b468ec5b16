"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.terminal import refuse

if TYPE_CHECKING:
    from stepreel.config import Settings
    from stepreel.learn.model import TaskModel
    from stepreel.system.machine import Device
    from stepreel.system.store import Store

Cache = Annotated[
    Path | None,
    typer.Option(help="Where features and models are kept (see `stepreel info`)."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
Clusters = Annotated[
    int | None, typer.Option("--clusters", "-k", help="Kinds of steps to look for (7).")
]
Preset = Annotated[str | None, typer.Option(help="Named settings to start from (quick).")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting: train.epochs=50."),
]
Seed = Annotated[int | None, typer.Option(help="Seed of everything random (0).")]
EmbedCues = Annotated[
    str | None,
    typer.Option(metavar="CUE,CUE", help="Cues to cluster by: names, main or all."),
]
DeviceName = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
Fps = Annotated[float | None, typer.Option(min=1e-6, help="Moments per second of feature files.")]
Times = Annotated[
    Path | None,
    typer.Option(help="Times in seconds: a file, or a folder of files named like the recordings."),
]


def named_overrides(
    assignments: list[str],
    *,
    clusters: int | None = None,
    top: int | None = None,
    seed: int | None = None,
    embed_cues: str | None = None,
) -> dict[str, object]:
    """Put options on top of `--set`."""
    from stepreel.config import parse_assignments

    named = {"key_steps.n_clusters": clusters, "key_steps.top": top, "train.seed": seed}
    options = {name: value for name, value in named.items() if value is not None}
    if embed_cues is not None:
        assignments = [*assignments, f"embed.cues={embed_cues}"]
    try:
        return {**parse_assignments(assignments), **options}
    except ValueError as problem:
        raise refuse(str(problem)) from None


def resolve_settings(
    preset: str | None, overrides: Mapping[str, object], cues: Sequence[str] | None = None
) -> Settings:
    """Put overrides on top of the preset, or explain what is wrong with them.

    `cues` are those of feature files; without them the settings name cues of videos.
    """
    from stepreel.config import DEFAULT_PRESET, check_cue_choices, load_settings
    from stepreel.cues import check_cue_names

    try:
        if cues is not None:
            if "extract.cues" in overrides:
                raise ValueError("extract.cues names cues of videos; --cues names those of files")
            overrides = {**overrides, "extract.cues": list(cues)}
        settings = load_settings(preset or DEFAULT_PRESET, overrides)
        if cues is None:
            check_cue_names(settings.extract.cues)
        check_cue_choices(settings, settings.extract.cues)
    except ValueError as problem:
        raise refuse(str(problem)) from None
    return settings


def settings_of_model(
    trained: TaskModel, preset: str | None, overrides: Mapping[str, object]
) -> Settings:
    """Return what a model fixes for videos, or explain why it cannot be used so."""
    from stepreel.cues import CUES
    from stepreel.features.feature_files import FROM_FILE
    from stepreel.learn.model import settings_for

    cards = trained.card.cues
    if not set(cards) <= set(CUES) or any(card.made_by == FROM_FILE for card in cards.values()):
        raise refuse(
            f"the model was trained on feature files with the cues {', '.join(cards)}, not on "
            "videos; give such files to `stepreel embed`"
        )
    if preset is not None:
        raise refuse("--preset cannot be changed with a trained model; leave it out")
    try:
        return settings_for(trained, overrides)
    except ValueError as problem:
        raise refuse(str(problem)) from None


def checked_device(name: str) -> Device:
    """Return a device that is there, or explain; torch is loaded only to look for a GPU."""
    from stepreel.system.machine import check_device, pick_device

    try:
        device = check_device(name)
        if device in ("cuda", "mps"):
            pick_device(device)
    except ValueError as problem:
        raise refuse(str(problem)) from None
    return device


def open_store(cache: Path | None) -> Store:
    """Open the cache folder that was asked for, or the usual one."""
    from stepreel.system.machine import cache_folder
    from stepreel.system.store import Store

    return Store(cache if cache is not None else cache_folder())


def named_once(paths: Sequence[Path]) -> list[Path]:
    """Drop files that were named before."""
    unique: dict[str, Path] = {}
    for path in paths:
        unique.setdefault(os.path.realpath(path), path)
    return list(unique.values())
