"""Titles of steps: by kind and visit until a person names them, or from a file of titles."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.errors import SettingsError
from stepreel.storyboard.letters import letter
from stepreel.types import readable

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_MOST_BYTES = 1_000_000
_HEADS = frozenset({"kind", "step", "kind or step"})


def default_title(cluster: int, occurrence: int, *, is_repeat: bool) -> str:
    """Name a step by its kind; only a repeat that is certain enough is called one.

    >>> default_title(1, 1, is_repeat=False), default_title(1, 2, is_repeat=True)
    ('Step B', 'Step B · second time')
    >>> default_title(1, 2, is_repeat=False), default_title(0, 12, is_repeat=True)
    ('Step B · visit 2', 'Step A · 12th time')
    """
    name = f"Step {letter(cluster)}"
    if occurrence == 1:
        return name
    visit = f"{_ordinal(occurrence)} time" if is_repeat else f"visit {occurrence}"
    return f"{name} · {visit}"


def _ordinal(number: int) -> str:
    """Write an ordinal number in words up to nine.

    >>> [_ordinal(number) for number in (2, 10, 11, 21, 103, 112)]
    ['second', '10th', '11th', '21st', '103rd', '112th']
    """
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@dataclass(frozen=True)
class Titles:
    """Titles that a person gave: of kinds, by letter, and of single steps, by number.

    file          where they were read, for messages
    n_recordings  whose kinds they name; one of several need not have every kind
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[int, str] = field(default_factory=dict)
    file: str = ""
    n_recordings: int = 1

    def title_of(self, index: int, cluster: int) -> str | None:
        """Return the title of a step; the step's own counts more than its kind's."""
        return self.steps.get(index) or self.kinds.get(letter(cluster))

    def unused(self, n_steps: int, clusters: set[int]) -> list[str]:
        """Return the kinds and steps that are named but do not exist in a recording."""
        letters = {letter(cluster) for cluster in clusters}
        kinds = [f"kind {name}" for name in self.kinds if name not in letters]
        return kinds + [f"step {index}" for index in self.steps if index > n_steps]

    def unused_note(self, clusters: Iterable[int]) -> list[str]:
        """Return a note if titles name what does not exist; `clusters` has one item per step.

        None of several recordings has one, see `unused_by_all`.
        """
        if self.n_recordings > 1:
            return []
        clusters = list(clusters)
        unused = self.unused(len(clusters), set(clusters))
        if not unused:
            return []
        return [f"Not found in this recording, but named in {self.file}: {', '.join(unused)}."]

    def unused_by_all(self, recordings: Iterable[Iterable[int]]) -> str | None:
        """Return a warning if titles name kinds that none of several recordings has.

        recordings  the clusters of each one's steps

        >>> Titles({"B": "Fold", "Q": "Cut"}, {}, "t.csv", 2).unused_by_all([[0], [0, 1, 0]])
        't.csv: names kind Q, found in none of the recordings'
        """
        unused = self.unused(0, {cluster for clusters in recordings for cluster in clusters})
        if self.n_recordings < 2 or not unused:
            return None
        return f"{self.file}: names {', '.join(unused)}, found in none of the recordings"


def read_titles(path: Path, *, n_recordings: int = 1) -> Titles:
    """Read a CSV file of two columns: a kind's letter or a step's number, and its title."""
    rows: list[tuple[str, str, str]] = []
    text = _read(path)
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=_delimiter(text)), 1):
        cells = [cell.strip() for cell in row]
        where = f"{path}, line {number}"
        if not any(cells) or (not rows and cells[0].lower() in _HEADS):
            continue
        if len(cells) != 2:
            raise SettingsError(
                f"{where}: expected two columns, a kind or step and its title, such as "
                "`B,Fold the flap` or `3,Close the lid`; put titles with commas in quotes"
            )
        rows.append((cells[0], cells[1], where))
    return _titles(rows, str(path), n_recordings)


def _delimiter(text: str) -> str:
    """Return what separates columns; spreadsheets of many countries write semicolons.

    >>> _delimiter("B;Fold, then glue"), _delimiter('"B","Fold; glue"')
    (';', ',')
    """
    first = re.search(r"[,;\t]", text)
    return first[0] if first else ","


def titles_by_name(titles: Mapping[str | int, str], *, n_recordings: int = 1) -> Titles:
    """Return titles given as {"B": "Fold the flap", 3: "Close the lid"}."""
    rows = [(str(name), str(title), "titles") for name, title in titles.items()]
    return _titles(rows, "titles", n_recordings)


def _titles(rows: Sequence[tuple[str, str, str]], origin: str, n_recordings: int) -> Titles:
    """Check titles: (kind or step, title, where it was written)."""
    kinds: dict[str, str] = {}
    steps: dict[int, str] = {}
    for name, title, where in rows:
        if not title:
            raise SettingsError(f"{where}: {name} has an empty title")
        if name.isascii() and name.isdigit() and len(name) < 7 and int(name):
            is_new, steps[int(name)] = int(name) not in steps, title
        elif name.isascii() and name.isalpha() and len(name) < 4:
            is_new, kinds[name.upper()] = name.upper() not in kinds, title
        else:
            raise SettingsError(
                f"{where}: {name[:40]!r} is neither a kind (A, B, …) nor the number of a step"
            )
        if not is_new:
            raise SettingsError(f"{where}: {name} has a title already")
    if not rows:
        raise SettingsError(f"{origin}: contains no titles; expected such as `B,Fold the flap`")
    if steps and n_recordings > 1:
        raise SettingsError(
            f"{origin}: names step {min(steps)}, but there are {n_recordings} recordings, each "
            "with its own steps; name kinds (A, B, …), which they share"
        )
    return Titles(kinds, steps, readable(Path(origin).name), n_recordings)


def _read(path: Path) -> str:
    try:
        if not path.exists():
            raise SettingsError(f"{path}: does not exist; expected a CSV file of titles")
        if not path.is_file():
            raise SettingsError(f"{path}: is not a file; expected a CSV file of titles")
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{path}: is too large (over 1 MB); expected a CSV file of titles")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise SettingsError(f"{path}: cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise SettingsError(
            f"{path}: is not UTF-8 text; expected a CSV file of titles, saved as UTF-8"
        ) from problem
