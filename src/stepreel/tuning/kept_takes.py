"""Find what output folders keep of recordings, grouped by the task they were looked at in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import OutputError, StepreelError
from stepreel.storyboard.editing import STORYBOARD
from stepreel.storyboard.schema import read_storyboard
from stepreel.system.names import natural_order
from stepreel.tuning.card import CARD, FOLDER, KeptCard, read_card, run_again

MOST_NAMED = 3  # recordings in one message


@dataclass(frozen=True)
class KeptTake:
    """One recording as its output folder keeps it."""

    folder: Path
    card: KeptCard


def find_kept_takes(folder: Path) -> tuple[list[list[KeptTake]], list[str]]:
    """Return the recordings kept in an output folder, task by task, and why others are not.

    folder  of a run, or of one of its recordings

    OutputError if it is no output folder, or nothing in it can be tuned.
    """
    folder = folder.absolute() if folder.name in ("", "..") else folder
    tasks: dict[tuple[str, ...], list[KeptTake]] = {}
    problems = []
    for path in _recording_folders(folder):
        try:
            card = read_card(path)
            _check_same_recording(path, card)
        except OutputError as problem:
            problems.append(str(problem))
            continue
        tasks.setdefault(tuple(card.task), []).append(KeptTake(path, card))
    if not tasks:
        raise OutputError("\n".join(problems))
    if problems and any(len(takes[0].card.task) > len(takes) for takes in tasks.values()):
        problems.append(
            f"{folder}: recordings that were looked at together have to be run together again"
        )
    return list(tasks.values()), problems


def _check_same_recording(folder: Path, card: KeptCard) -> None:
    """Raise OutputError if what is kept is of another recording than the storyboard."""
    try:
        board = read_storyboard(folder / STORYBOARD)
    except StepreelError:  # there is none, or it was broken by an edit
        return
    if board.recording.fingerprint != card.fingerprint:
        raise OutputError(
            f"{folder}: {FOLDER}/ is of an earlier recording than the storyboard. "
            f"{run_again(folder)}"
        )


def some_of(names: Sequence[str]) -> str:
    """Name a few of many.

    >>> some_of(["a", "b"]), some_of(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 others')
    """
    if len(names) <= MOST_NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} others"


def _recording_folders(folder: Path) -> list[Path]:
    if folder.name == STORYBOARD and folder.is_file():
        folder = folder.parent

    def is_output(path: Path) -> bool:
        return (path / STORYBOARD).is_file() or (path / FOLDER / CARD).is_file()

    if is_output(folder):
        return [folder]
    try:
        inside = sorted(folder.iterdir(), key=lambda path: natural_order(path.name.casefold()))
    except FileNotFoundError:
        raise OutputError(f"{folder}: does not exist; check the name") from None
    except OSError as problem:
        raise OutputError(f"{folder}: cannot be read ({problem.strerror})") from problem
    found = [path for path in inside if is_output(path)]
    if not found:
        raise OutputError(
            f"{folder}: contains no storyboards; expected a folder that `stepreel run` wrote with "
            "-o, or the folder of one recording in it"
        )
    return found


def all_of_task(take: KeptTake) -> list[KeptTake]:
    """Return all recordings of a task, in their order; OutputError names those that are missing."""
    found = [take]
    for path in _recording_folders(take.folder.absolute().parent):
        try:
            card = read_card(path)
        except OutputError:
            continue
        other = KeptTake(take.folder.parent / path.name, card)
        if card.task == take.card.task and path.name != take.folder.name:
            found.append(other)
    ordered, missing = [], []
    for fingerprint, name in zip(take.card.task, take.card.task_names, strict=True):
        same = [other for other in found if other.card.fingerprint == fingerprint]
        if not same:
            missing.append(name)
            continue
        chosen = next((other for other in same if other.card.name == name), same[0])
        found.remove(chosen)  # the same file can be there twice
        ordered.append(chosen)
    if missing:
        raise OutputError(
            f"{take.folder.parent}: {take.card.name} was looked at together with "
            f"{some_of(missing)}, of which nothing is kept there any more. Other kinds of steps "
            f"need all of them: run `stepreel run` on all {len(take.card.task)} together again"
        )
    return ordered
