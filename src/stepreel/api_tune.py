"""`stepreel.tune`: choose the steps of an output folder again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from stepreel.choose_again import tune_task
from stepreel.errors import OutputError
from stepreel.result import Result
from stepreel.setting_values import clusters_overrides
from stepreel.storyboard.titles import Titles, read_titles, titles_by_name
from stepreel.tuning.kept_takes import find_kept_takes
from stepreel.types import Progress, no_progress

log = logging.getLogger(__name__)

AnyPath = str | PathLike[str]
AnyTitles = AnyPath | Mapping[str | int, str]
"""Titles of kinds of steps and of single steps, or a CSV file of them."""


def tune(
    folder: AnyPath,
    output: AnyPath | None = None,
    *,
    clusters: int | str | None = None,
    top: int | None = None,
    titles: AnyTitles | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **settings: object,
) -> list[Result]:
    """Choose the steps of an output folder again: nothing is decoded, and nothing is learned.

    Return one result per storyboard that was written. OutputError for the first that could not be;
    the others are written all the same.

    folder    the output folder of a run, or of one of its recordings
    output    where to write instead
    clusters  number of kinds of steps: 9, "5..12" or "auto"
    top       show only so many steps, the clearest ones; with key_steps__top=None, all of them
    titles    as for `find_key_steps`; otherwise those of kinds stay as long as the kinds do
    force     also overwrite storyboards that were edited by hand
    progress  called as progress(what, done, total)
    settings  any other key_steps__… setting to change, such as key_steps__split_gap_seconds=4
    """
    tasks, problems = find_kept_takes(Path(folder))
    overrides = {name.replace("__", ".", 1): value for name, value in settings.items()}
    overrides |= clusters_overrides(clusters)
    if top is not None:
        overrides["key_steps.top"] = top
    n_recordings = sum(len(takes) for takes in tasks)
    results: list[Result] = []
    for takes in tasks:
        tuned = tune_task(
            takes,
            overrides=overrides,
            output=None if output is None else Path(output),
            titles=as_titles(titles, n_recordings),
            force=force,
            progress=progress or no_progress,
        )
        results += [tuned.results[position] for position in tuned.written.boards]
        problems += [*tuned.written.failures.values(), *tuned.written.unsaved]
    if problems:
        raise OutputError("\n".join(problems))
    return results


def as_titles(titles: AnyTitles | None, n_recordings: int) -> Titles | None:
    """Read titles however they are given."""
    if titles is None:
        return None
    if isinstance(titles, Mapping):
        return titles_by_name(titles, n_recordings=n_recordings)
    return read_titles(Path(titles), n_recordings=n_recordings)
