"""Predictions somebody made before: storyboards, or a label per moment in a file of their own."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from stepreel.datasets.annotation import (
    Problems,
    Row,
    is_background,
    number_by_name,
    place,
    split_number,
)
from stepreel.datasets.formats import FORMATS, STORYBOARD, find_truth, guess_format, read_rows
from stepreel.errors import DatasetError, StepreelError
from stepreel.evaluation.localization import NO_STEP, labels_of_spans, labels_of_storyboard
from stepreel.feature_files import READERS
from stepreel.storyboard import read_storyboard
from stepreel.types import Labels, Seconds

LABEL_ARRAYS = ("cluster", "labels", "prediction")
USUAL_RATE = 10.0  # moments per second at which spans are scored


@dataclass(frozen=True)
class Given:
    """What was predicted for one recording.

    times       on the recording's own clock
    seconds     when, on that clock, the recording ends; None where spans of text do not tell
    n_clusters  how many kinds of steps were looked for, where the file says so
    is_board    a storyboard, whose end is the video's and not exactly that of any label
    """

    times: Seconds
    labels: Labels
    seconds: float | None
    n_clusters: int | None = None
    is_board: bool = False

    @property
    def moment_seconds(self) -> float:
        """How long a moment lasts, typically."""
        return float(np.median(np.diff(self.times))) if len(self.times) > 1 else 1 / USUAL_RATE

    def until(self, seconds: float) -> Given:
        """Return the same with more moments of no step, if the recording lasts longer."""
        step = self.moment_seconds
        n_more = int(np.ceil((seconds - float(self.times[-1])) / step - 1e-6)) - 1
        if n_more <= 0:
            return self
        more = np.round(self.times[-1] + step * np.arange(1, n_more + 1), 9)
        labels = np.concatenate([self.labels, np.full(n_more, NO_STEP, np.int64)])
        return replace(self, times=np.concatenate([self.times, more]), labels=labels)


def read_given(
    folder: Path, problems: Problems, *, fps: float | None = None, rate: float | None = None
) -> dict[str, Given]:
    """Read all predictions below a folder, by the name of their recording."""
    if folder.is_file():
        raise DatasetError(
            f"{folder}: is a file; expected a folder of storyboards, or of files with labels"
        )
    found: dict[str, Given] = {}
    texts: dict[str, tuple[Path, list[Row]]] = {}
    for stem, path in find_truth(folder, problems).items():
        try:
            if path.suffix.lower() == ".json":
                name, found_one = _read_board(path, rate or USUAL_RATE)
                _enter(found, name, found_one, path, problems)
            elif path.suffix.lower() == ".npz":
                _enter(found, stem.removesuffix(".embedding"), _read_npz(path), path, problems)
            else:
                texts[stem] = (path, read_rows(path, fps))
        except StepreelError as problem:
            problems.report(str(problem))
    for name, given in _of_texts(texts, fps, rate).items():
        _enter(found, name, given, texts[name][0], problems)
    if not found:
        raise DatasetError(
            f"{folder}: holds no predictions; expected NAME/{STORYBOARD}, NAME.npz with `times` "
            f"and one of {', '.join(LABEL_ARRAYS)}, or text: {', '.join(FORMATS)}"
        )
    return found


def _enter(
    found: dict[str, Given], name: str, given: Given, path: Path, problems: Problems
) -> None:
    if name in found:
        problems.report(f"{path}: a second prediction for {name}; expected one per recording")
    else:
        found[name] = given


def _read_board(path: Path, rate: float) -> tuple[str, Given]:
    board = read_storyboard(path)
    seconds = board.recording.duration_seconds
    times = np.arange(max(1, int(seconds * rate))) / rate
    asked = board.settings.get("key_steps", {}).get("n_clusters")
    k = asked if isinstance(asked, int) else None
    name = Path(board.recording.name).stem
    return name, Given(times, labels_of_storyboard(board, times), seconds, k, is_board=True)


def _read_npz(path: Path) -> Given:
    try:
        arrays = READERS[".npz"](path)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as problem:
        raise DatasetError(f"{place(path)}: cannot be read as .npz ({problem})") from problem
    named = [name for name in LABEL_ARRAYS if name in arrays]
    if not named or "times" not in arrays:
        raise DatasetError(
            f"{place(path)}: expected `times` and one of {', '.join(LABEL_ARRAYS)} in it"
        )
    if arrays["times"].dtype.kind not in "fiu":
        raise DatasetError(f"{place(path)}: `times` must be numbers, in seconds")
    labels, times = arrays[named[0]], np.asarray(arrays["times"], np.float64)
    if labels.dtype.kind not in "iu" or labels.shape != times.shape or labels.ndim != 1:
        raise DatasetError(
            f"{place(path)}: `{named[0]}` must hold one whole number per time; "
            f"it is {labels.dtype} {labels.shape}, times are {times.shape}"
        )
    if len(times) == 0 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise DatasetError(f"{place(path)}: `times` must be finite seconds that increase")
    steps = np.diff(times)
    if len(steps) and steps.max() > 1.5 * np.median(steps):
        at = int(steps.argmax())
        raise DatasetError(
            f"{place(path)}: there is no label between {times[at]:g} and {times[at + 1]:g} s; "
            "expected one for every moment"
        )
    given = Given(times, labels.astype(np.int64), None)
    return replace(given, seconds=float(times[-1]) + given.moment_seconds)


def _of_texts(
    texts: Mapping[str, tuple[Path, list[Row]]], fps: float | None, rate: float | None
) -> dict[str, Given]:
    """Label grids by rows of text; steps without numbers are numbered by name over all files."""
    number = _numbering([row.label for _, rows in texts.values() for row in rows])
    found = {}
    for name, (path, rows) in texts.items():
        per_frame = guess_format(path) == "frames" and fps is not None
        per_second = fps if per_frame and fps is not None else rate or USUAL_RATE
        end = max((row.end for row in rows), default=0.0)
        times: Seconds = np.arange(max(1, round(end * per_second))) / per_second
        spans = [(row.start, row.end, number(row.label)) for row in rows]
        labels = labels_of_spans(spans, times, NO_STEP)
        found[name] = Given(times, labels, end if per_frame else None)
    return found


def _numbering(labels: list[str]) -> Callable[[str], int]:
    """Take numbers of clusters for what they are, 0 among them; -1 and background are no step."""
    texts = {label.strip() for label in labels}
    if all(text == "-1" or split_number(text)[0] is not None for text in texts):

        def own(label: str) -> int:
            number, _ = split_number(label)
            return NO_STEP if number is None else number

        return own
    steps = number_by_name(text for text in texts if text != "-1")

    def by_name(label: str) -> int:
        if label.strip() == "-1" or is_background(label):
            return NO_STEP
        return steps.id_of(label.strip()) or 0

    return by_name


def as_clusters(
    found: Mapping[str, Given], n_clusters: int | None
) -> tuple[dict[str, Labels], int]:
    """Return labels with the clusters of all files numbered from 0, and how many there are.

    K is what was asked for, else what the files say, else as many as occur.
    """
    used = np.unique(np.concatenate([one.labels for one in found.values()]))
    used = used[used >= 0]
    said = [one.n_clusters for one in found.values() if one.n_clusters is not None]
    k = n_clusters or max([*said, len(used), 1])
    if len(used) > k:
        raise DatasetError(
            f"the predictions use {len(used)} clusters, more than the {k} of --clusters"
        )
    fits = len(used) == 0 or int(used.max()) < k

    def renamed(labels: Labels) -> Labels:
        numbers = labels if fits else np.searchsorted(used, labels)
        return np.where(labels < 0, NO_STEP, numbers).astype(np.int64)

    return {name: renamed(one.labels) for name, one in found.items()}, k
