"""Results of a task → files: the model, a storyboard per recording, and an index of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from stepreel.errors import OutputError, StoreError
from stepreel.learn.model import FOLDER, TaskModel, write_model
from stepreel.report import write_index
from stepreel.report.video import VideoChoice
from stepreel.result import Result
from stepreel.storyboard.editing import EditedError
from stepreel.storyboard.folders import name_folders
from stepreel.storyboard.schema import Storyboard
from stepreel.system.locks import lock_output
from stepreel.types import Progress, labelled, no_progress


@dataclass
class WrittenTask:
    """The storyboards that were written, their folders, and what could not be written.

    boards, folders, failures  by position among the sources; failures are of storyboards
    kept                       storyboards that were edited by hand and not overwritten, by
                               position; also among the failures
    unsaved                    why the model or the index could not be written
    """

    boards: dict[int, Storyboard] = field(default_factory=dict)
    folders: dict[int, Path] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    kept: dict[int, Storyboard] = field(default_factory=dict)
    index: Path | None = None
    unsaved: list[str] = field(default_factory=list)


def write_task(
    results: Mapping[int, Result],
    output: Path,
    *,
    model: TaskModel | None,
    names: Sequence[str],
    failures: Mapping[int, str],
    force: bool = False,
    video: VideoChoice = "link",
    progress: Progress = no_progress,
) -> WrittenTask:
    """Write below `output`; what cannot be written costs nothing else.

    While another process writes there, this one waits, so that the files of one run fit together.

    results, failures  by position among the sources
    model              what was learned; None with a model that was trained before
    names              of all sources; with more than one, there is an index
    force              also overwrite storyboards that were edited by hand
    video              what the pages play
    """
    with lock_output(output, progress):
        written = WrittenTask()
        if model is not None:
            _write_model(written, output, model)
        write = partial(Result.write, video=video, force=force)
        _write_boards(written, output, results, write, progress)
        if len(names) > 1 and written.boards:
            _write_index(written, output, names, {**failures, **written.failures})
    return written


def _write_model(written: WrittenTask, output: Path, model: TaskModel) -> None:
    try:
        write_model(output / FOLDER, model)
    except OutputError as problem:
        written.unsaved.append(str(problem))


def _write_boards(
    written: WrittenTask,
    output: Path,
    results: Mapping[int, Result],
    write: Callable[..., Storyboard],
    progress: Progress,
) -> None:
    recordings = {position: result.recording for position, result in results.items()}
    written.folders = name_folders(recordings, output)
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


def _write_index(
    written: WrittenTask, output: Path, names: Sequence[str], failures: Mapping[int, str]
) -> None:
    """Show everything that is in the folder now, edited or just written."""
    failed = [
        (names[position], reason)
        for position, reason in sorted(failures.items())
        if position not in written.kept
    ]
    shown = sorted({**written.boards, **written.kept}.items())
    boards = [(written.folders[position].name, board) for position, board in shown]
    try:
        written.index = write_index(output, boards, failed=failed)
    except OutputError as problem:
        written.unsaved.append(str(problem))
