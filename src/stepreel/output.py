"""Results of a task → files: the model, a storyboard per recording, and an index of several."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from stepreel.errors import OutputError, StepreelError, StoreError
from stepreel.learn.earlier_models import keep_earlier_model
from stepreel.learn.model import CARD, FOLDER, TaskModel, write_model
from stepreel.report.index_update import update_index
from stepreel.report.video import VideoChoice
from stepreel.result import Result
from stepreel.storyboard.editing import EditedError
from stepreel.storyboard.folders import all_storyboards, name_folders
from stepreel.storyboard.schema import Storyboard, read_storyboard
from stepreel.system.files import explain_write_errors
from stepreel.system.locks import lock_output
from stepreel.types import Progress, labelled, no_progress

log = logging.getLogger(__name__)


@dataclass
class WrittenTask:
    """The storyboards that were written, their folders, and what could not be written.

    boards, folders, failures  by position among the sources; failures are of storyboards
    kept                       storyboards that were edited by hand and not overwritten, by
                               position; also among the failures
    index                      the page of all recordings, if there is one
    earlier_model              where the model of storyboards that stay was kept
    unsaved                    why the model or the index could not be written
    """

    boards: dict[int, Storyboard] = field(default_factory=dict)
    folders: dict[int, Path] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    kept: dict[int, Storyboard] = field(default_factory=dict)
    index: Path | None = None
    earlier_model: Path | None = None
    unsaved: list[str] = field(default_factory=list)


def write_task(
    results: Mapping[int, Result],
    output: Path,
    *,
    model: TaskModel | None,
    keep_model: bool = False,
    names: Sequence[str],
    failures: Mapping[int, str],
    folders: Mapping[int, Path] | None = None,
    force: bool = False,
    video: VideoChoice = "link",
    progress: Progress = no_progress,
) -> WrittenTask:
    """Write below `output`; what cannot be written costs nothing else.

    While another process writes there, this one waits, so that the files of one run fit together.

    results, failures  by position among the sources
    model              what was learned; None with a model that was trained before, and if nothing
                       finds these kinds of steps again
    keep_model         whether a model that is there stays, if there is no other: with `--model`
    names              of all sources; with more than one, there is an index. One that is there
                       already goes on listing what earlier runs left in the folder
    folders            below `output`, by position; if left out, they are named after the recordings
    force              also overwrite storyboards that were edited by hand
    video              what the pages play
    """
    with lock_output(output, progress):
        written = WrittenTask()
        recordings = {position: result.recording for position, result in results.items()}
        written.folders = dict(folders or name_folders(recordings, output))
        write = partial(Result.write, video=video, force=force)
        _write_boards(written, results, write, progress)
        if written.boards:
            if model is not None:
                _write_model(written, output, model)
            elif not keep_model:
                _retire_model(written, output)
            _update_index(written, output, names, {**failures, **written.failures})
    return written


def _write_model(written: WrittenTask, output: Path, model: TaskModel) -> None:
    """Write the model; storyboards that stay from an earlier run keep theirs beside it."""
    try:
        written.earlier_model = keep_needed_model(output, model)
        write_model(output / FOLDER, model)
    except OutputError as problem:
        written.unsaved.append(str(problem))


def _retire_model(written: WrittenTask, output: Path) -> None:
    """Remove the model of an earlier run: it does not find the kinds of steps of this one."""
    try:
        written.earlier_model = keep_needed_model(output, None)
        with explain_write_errors(output / FOLDER):
            (output / FOLDER / CARD).unlink(missing_ok=True)
    except OutputError as problem:
        written.unsaved.append(str(problem))


def keep_needed_model(output: Path, new: TaskModel | None) -> Path | None:
    """Copy the model of `output` if storyboards below it need it; return where to, None if not."""
    return keep_earlier_model(output, new, _clustering_ids(output))


def _clustering_ids(output: Path) -> list[str]:
    """Return the clusterings of the storyboards below `output`; empty where unknown."""
    try:
        paths = all_storyboards(output)
    except OSError:  # a folder may be writable, but not readable
        return [""]
    return [_clustering_id(path) for path in paths]


def _clustering_id(path: Path) -> str:
    try:
        return read_storyboard(path).clustering_id
    except StepreelError:  # a slip in an edit; once that is mended, its model is needed again
        return ""


def _write_boards(
    written: WrittenTask,
    results: Mapping[int, Result],
    write: Callable[..., Storyboard],
    progress: Progress,
) -> None:
    for number, (position, result) in enumerate(results.items(), start=1):
        which = f" {number} of {len(results)}: {result.recording.name}" if len(results) > 1 else ""
        try:
            written.boards[position] = write(
                result, written.folders[position], progress=labelled(progress, which)
            )
        except (OutputError, StoreError) as problem:
            written.failures[position] = str(problem)
            if isinstance(problem, EditedError):
                written.kept[position] = problem.board


def _update_index(
    written: WrittenTask, output: Path, names: Sequence[str], failures: Mapping[int, str]
) -> None:
    """List every recording of this run as it is in the folder now, edited or just written."""
    failed = [
        (names[position], reason)
        for position, reason in sorted(failures.items())
        if position not in written.kept
    ]
    shown = sorted({**written.boards, **written.kept})
    folders = [written.folders[position].name for position in shown]
    try:
        written.index = update_index(output, folders, names=names, failed=failed)
    except OutputError as problem:
        written.unsaved.append(str(problem))
    except StepreelError as problem:
        log.warning("%s", problem)
