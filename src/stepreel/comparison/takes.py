"""Read the takes of a task: the storyboards in a folder, if they can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.comparison.schema import LeftOut
from stepreel.errors import StepreelError
from stepreel.report.index_contents import read_contents
from stepreel.storyboard.editing import make_consistent
from stepreel.storyboard.folders import all_storyboards
from stepreel.storyboard.schema import Storyboard, read_storyboard
from stepreel.types import readable

MOST_TAKES = 200  # every take is compared with every other, and has a column of pictures
_HOW = "`stepreel run take1.mp4 take2.mp4 -o out/` makes one"


@dataclass(frozen=True)
class Take:
    """A take and where it is; `folder` is the name of its folder, which names it everywhere.

    board     its storyboard, made consistent if a person edited it
    as_saved  the storyboard as it is in its file, if that differs
    """

    folder: str
    path: Path
    board: Storyboard
    as_saved: Storyboard | None = None

    @property
    def stored(self) -> Storyboard:
        """The storyboard as it is in its file."""
        return self.as_saved or self.board


@dataclass(frozen=True)
class Takes:
    """Takes of one run, and the storyboards that could not be read."""

    takes: list[Take]
    left_out: list[LeftOut] = field(default_factory=list)


def read_takes(folder: Path) -> Takes:
    """Read the storyboards below a folder; StepreelError if they cannot be compared.

    Those that cannot be read are left out, as long as two are left.
    """
    files = _find(folder)
    takes: list[Take] = []
    left_out: list[LeftOut] = []
    for file in files:
        name = readable(file.parent.name)
        try:
            stored = read_storyboard(file)
            board = make_consistent(stored, file)
        except StepreelError as problem:
            left_out.append(LeftOut(folder=name, reason=readable(str(problem))))
        else:
            takes.append(Take(name, file.parent, board, as_saved=stored))
    _check_number(folder, takes, left_out)
    _check_same_kinds(folder, takes)
    return Takes(takes, left_out)


def _find(folder: Path) -> list[Path]:
    """Return the storyboards below a folder, in the order of its index, if it has one."""
    if not folder.exists():
        raise StepreelError(f"{folder}: does not exist; expected the output folder of a run")
    if not folder.is_dir():
        raise StepreelError(
            f"{folder}: is a file; expected the output folder of a run with several takes"
        )
    if (folder / "storyboard.json").exists():
        raise StepreelError(
            f"{folder}: is the folder of one take; comparing needs at least two. Give the folder "
            f"above it, if that holds more takes; {_HOW}"
        )
    try:
        files = all_storyboards(folder)
    except OSError as problem:
        raise StepreelError(f"{folder}: cannot be read ({problem.strerror})") from problem
    if not files:
        raise StepreelError(
            f"{folder}: there is no storyboard.json in the folders in it; expected the output "
            f"folder of a run with several takes; {_HOW}"
        )
    listed: list[str] = []
    with suppress(StepreelError):  # an index that cannot be read only costs the order
        contents = read_contents(folder)
        listed = contents.folders if contents else []
    places = {name: place for place, name in enumerate(listed)}
    return sorted(files, key=lambda file: places.get(file.parent.name, len(places)))


def _check_number(folder: Path, takes: Sequence[Take], left_out: Sequence[LeftOut]) -> None:
    if len(takes) > MOST_TAKES:
        raise StepreelError(
            f"{folder}: holds {len(takes)} takes; at most {MOST_TAKES} can be compared. Move some "
            "of them to another folder"
        )
    if len(takes) >= 2:
        return
    reasons = "".join(f"; {problem.reason}" for problem in left_out)
    number = "holds one take" if takes else "holds no take"
    usable = " that can be read" if left_out else ""
    raise StepreelError(
        f"{folder}: {number}{usable}; comparing needs at least two{reasons or f'; {_HOW}'}"
    )


def _check_same_kinds(folder: Path, takes: Sequence[Take]) -> None:
    """Raise StepreelError if one letter may mean different steps in these takes."""
    by_id: dict[str, list[str]] = {}
    for take in takes:
        by_id.setdefault(take.board.clustering_id, []).append(take.folder)
    if len(by_id) > 1:
        runs = "; ".join(_some(names) for names in by_id.values())
        raise StepreelError(
            f"{folder}: these takes are of {len(by_id)} different runs, and the same letter is "
            f"another kind of step in each: {runs}. Run all takes in one command, or the later "
            "ones with --model, or move those of other runs to another folder"
        )
    if "" in by_id:
        raise StepreelError(
            f"{folder}: these storyboards do not say whether they are of one run, so the same "
            "letter may be another kind of step in each; run all takes in one command"
        )


def _some(names: Sequence[str]) -> str:
    """List at most three names.

    >>> _some(["a", "b"]), _some(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    listed = ", ".join(names[:3])
    return listed if len(names) <= 3 else f"{listed} and {len(names) - 3} more"
