"""Options shared by several commands, and their interpretation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.terminal import say

if TYPE_CHECKING:
    from stepreel.features.sources import FeatureReading
    from stepreel.system.store import Store

Cache = Annotated[
    Path | None,
    typer.Option(help="Cache folder for features and models (see `stepreel info`)."),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor keep anything: make all of it anew.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Clusters = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        "-k",
        metavar="N|N..N|auto",
        help="Number of kinds of steps: 7, or 5..12; in one recording, the most there may be. "
        "auto: it is found.",
    ),
]
LearnedClusters = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        "-k",
        min=1,
        max=1000,
        help="Number of kinds of steps; if left out, it is found.",
    ),
]
DecoderName = Annotated[
    str | None,
    typer.Option("--decoder", help="How moments are labelled; `stepreel info` lists all (auto)."),
]
Steps = Annotated[
    str | None,
    typer.Option(
        metavar="N|N..N|auto",
        help="How many steps one recording has: 7, or 3..8. auto: it is found.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1_000_000,
        help="Show at most this many steps (see --sample); default: all of 1 s or more.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=1e-3,
        max=1e6,
        help="Show steps that last at most so long together (see --sample).",
    ),
]
Sample = Annotated[
    str | None,
    typer.Option(
        metavar="algorithm-1|ils|nearest",
        help="Which steps --top and --budget leave: the clearest ones, those that represent all "
        "best, or those nearest to the centre of their kind (algorithm-1).",
    ),
]
Preset = Annotated[str | None, typer.Option(help="Named settings to start from (quick).")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting: loss.window_seconds=5."),
]
Seed = Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Random seed (0).")]
EmbedCues = Annotated[
    str | None,
    typer.Option(metavar="CUE,CUE", help="Cues to find steps by: names, main or all."),
]
DeviceName = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
Fps = Annotated[float | None, typer.Option(min=1e-6, help="Moments per second of feature files.")]
FeatureCues = Annotated[
    str | None,
    typer.Option(
        "--cues", metavar="CUE,CUE", help="Arrays of feature files to use; the main cue first."
    ),
]
Times = Annotated[
    Path | None,
    typer.Option(
        help="Times in seconds: a file, or a folder with a file per recording, named like it."
    ),
]


def named_overrides(
    assignments: list[str],
    *,
    clusters: int | str | None = None,
    decoder: str | None = None,
    steps: str | None = None,
    top: int | None = None,
    budget: float | None = None,
    sample: str | None = None,
    seed: int | None = None,
    embed_cues: str | None = None,
    background: float | None = None,
    gap: float | None = None,
    shortest: float | None = None,
    at_least: int | None = None,
    contains: str | None = None,
    same: str | None = None,
    different: str | None = None,
) -> dict[str, object]:
    """Combine `--set` assignments with options, which take precedence."""
    from stepreel.config import parse_assignments
    from stepreel.setting_values import clusters_overrides

    named = {
        "key_steps.decoder": decoder,
        "key_steps.n_steps": steps,
        "key_steps.top": top,
        "key_steps.background_ratio": background,
        "key_steps.split_gap_seconds": gap,
        "key_steps.min_step_seconds": shortest,
        "key_steps.at_least": at_least,
        "key_steps.contains": contains,
        "key_steps.same": same,
        "key_steps.different": different,
        "key_steps.budget_seconds": budget,
        "key_steps.sample": sample,
        "train.seed": seed,
    }
    options: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    options |= clusters_overrides(clusters)
    if embed_cues is not None:
        assignments = [*assignments, f"embed.cues={embed_cues}"]
    return {**parse_assignments(assignments), **options}


def open_store(cache: Path | None, *, no_cache: bool = False) -> AbstractContextManager[Store]:
    """Open the given cache folder, or the default one; with `no_cache`, one for this run only."""
    from stepreel.errors import SettingsError
    from stepreel.system.cache import open_cache

    if no_cache and cache is not None:
        raise SettingsError("--cache names a folder, but --no-cache uses none; leave one out")
    return open_cache(False if no_cache else check_cache(cache))


def check_cache(cache: Path | None) -> Path | None:
    """Return the cache folder that was named; SettingsError if it is a file."""
    from stepreel.errors import SettingsError

    if cache is not None and cache.exists() and not cache.is_dir():
        raise SettingsError(f"--cache {cache}: is a file; expected a folder, which may be new")
    return cache


def feature_reading(cues: str | None, fps: float | None, times: Path | None) -> FeatureReading:
    """Return how to read feature files."""
    from stepreel.features.sources import FeatureReading
    from stepreel.types import as_names

    return FeatureReading(as_names(cues), fps, times)


def recording_paths(named: Sequence[Path], *, times: Path | None = None) -> list[Path]:
    """Return the recordings a user names; say what was taken from folders, and what was not."""
    from stepreel.features.recording_files import expand_sources

    paths, folders = expand_sources(named, other_files=[] if times is None else [times])
    for contents in folders:
        say(str(contents))
    return unique_paths(paths)


def unique_paths(paths: Sequence[Path]) -> list[Path]:
    """Drop repeated files, also if they are named differently."""
    unique: dict[str, Path] = {}
    for path in paths:
        unique.setdefault(os.path.realpath(path), path)
    return list(unique.values())
