"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.terminal import refuse

if TYPE_CHECKING:
    from stepreel.features.sources import FeatureReading
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
FeatureCues = Annotated[
    str | None,
    typer.Option(
        "--cues", metavar="CUE,CUE", help="Arrays of feature files to use; main one first."
    ),
]
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
    return {**parse_assignments(assignments), **options}


def split_names(text: str | None) -> list[str]:
    """Split comma-separated names.

    >>> split_names("hands, gaze"), split_names(None)
    (['hands', 'gaze'], [])
    """
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def open_store(cache: Path | None) -> Store:
    """Open the cache folder that was asked for, or the usual one."""
    from stepreel.system.machine import cache_folder
    from stepreel.system.store import Store

    return Store(cache if cache is not None else cache_folder())


def feature_reading(
    cues: str | None, fps: float | None, times: Path | None, sources: Sequence[Path]
) -> FeatureReading:
    """Return how to read feature files; refuse such options for videos."""
    from stepreel.features.sources import FeatureReading, are_features

    if (cues or fps or times) and not are_features(sources):
        raise refuse(
            "--cues, --fps and --times are about feature files, and these are videos; "
            "--set extract.cues=… names cues of videos"
        )
    return FeatureReading(split_names(cues), fps, times)


def unique_paths(paths: Sequence[Path]) -> list[Path]:
    """Drop files that were named before."""
    unique: dict[str, Path] = {}
    for path in paths:
        unique.setdefault(os.path.realpath(path), path)
    return list(unique.values())
