"""Predictions somebody made before: storyboards, or a label per moment in a file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from stepreel.datasets.annotation import Problems, Row, is_background, place, split_number
from stepreel.datasets.formats import FORMATS, STORYBOARD, find_truth, guess_format, read_rows
from stepreel.errors import DatasetError, StepreelError
from stepreel.evaluation.localization import NO_STEP, labels_of_spans, labels_of_storyboard
from stepreel.storyboard import read_storyboard
from stepreel.types import Labels, Seconds, readable

LABEL_ARRAYS = ("cluster", "labels", "prediction")
USUAL_RATE = 10.0  # moments per second at which spans are scored


@dataclass(frozen=True)
class Given:
    """What was predicted for one recording.

    times       on the recording's own clock
    n_clusters  how many kinds of steps were looked for, where the file says so
    seconds     how long the recording lasts, where the file says so
    """

    times: Seconds
    labels: Labels
    n_clusters: int | None = None
    seconds: float | None = None


def read_given(
    folder: Path, problems: Problems, *, fps: float | None = None, rate: float | None = None
) -> dict[str, Given]:
    """Read all predictions below a folder, by the name of their recording."""
    if folder.is_file():
        raise DatasetError(
            f"{folder}: is a file; expected a folder of storyboards, or of files with labels"
        )
    found: dict[str, Given] = {}
    for stem, path in find_truth(folder, problems).items():
        try:
            name, given = _read(path, stem.removesuffix(".embedding"), fps, rate)
        except StepreelError as problem:
            problems.report(str(problem))
            continue
        if name in found:
            problems.report(f"{path}: a second prediction for {name}; expected one per recording")
            continue
        found[name] = given
    if not found:
        raise DatasetError(
            f"{folder}: holds no predictions; expected NAME/{STORYBOARD}, NAME.npz with `times` "
            f"and one of {', '.join(LABEL_ARRAYS)}, or text: {', '.join(FORMATS)}"
        )
    return found


def _read(path: Path, stem: str, fps: float | None, rate: float | None) -> tuple[str, Given]:
    if path.suffix.lower() == ".json":
        return _read_board(path, rate or USUAL_RATE)
    if path.suffix.lower() == ".npz":
        return stem, _read_npz(path)
    rows = read_rows(path, fps)
    kind = guess_format(path)
    step = 1 / (fps if kind == "frames" and fps is not None else rate or USUAL_RATE)
    return stem, _of_rows(rows, step)


def _read_board(path: Path, rate: float) -> tuple[str, Given]:
    board = read_storyboard(path)
    times = np.arange(max(1, int(board.recording.duration_seconds * rate))) / rate
    asked = board.settings.get("key_steps", {}).get("n_clusters")
    k = asked if isinstance(asked, int) else None
    name = Path(board.recording.name).stem
    seconds = board.recording.duration_seconds
    return name, Given(times, labels_of_storyboard(board, times), k, seconds)


def _read_npz(path: Path) -> Given:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name in ("times", *LABEL_ARRAYS)}
    except (OSError, ValueError, EOFError, BadZipFile) as problem:
        raise DatasetError(f"{place(path)}: cannot be read as .npz ({problem})") from problem
    named = [name for name in LABEL_ARRAYS if name in arrays]
    if not named or "times" not in arrays:
        raise DatasetError(
            f"{place(path)}: expected `times` and one of {', '.join(LABEL_ARRAYS)} in it"
        )
    labels, times = arrays[named[0]], np.asarray(arrays["times"], np.float64)
    if labels.dtype.kind not in "iu" or labels.shape != times.shape or labels.ndim != 1:
        raise DatasetError(
            f"{place(path)}: `{named[0]}` must hold one whole number per time; "
            f"it is {labels.dtype} {labels.shape}, times are {times.shape}"
        )
    if len(times) == 0 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise DatasetError(f"{place(path)}: `times` must be finite seconds that increase")
    last = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    return Given(times, labels.astype(np.int64), seconds=float(times[-1] - times[0]) + last)


def _of_rows(rows: list[Row], step: float) -> Given:
    """Label a regular grid by spans of text; names become numbers later, in `as_clusters`."""
    end = max((row.end for row in rows), default=0.0)
    times: Seconds = np.arange(max(1, round(end / step)), dtype=np.float64) * step
    spans = [(row.start, row.end, _number(row.label)) for row in rows]
    return Given(times, labels_of_spans(spans, times, NO_STEP))


def _number(label: str) -> int:
    """Return a label's number; -1 for no step."""
    if label.strip() == "-1":
        return NO_STEP
    number, _ = split_number(label.strip().lstrip("GgCc"))
    if number is not None:
        return number
    if is_background(label):
        return NO_STEP
    raise DatasetError(
        f"a prediction of {label!r}: expected the number of a cluster, or -1 for no step"
    )


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
    table = {int(c): int(c) if fits else place for place, c in enumerate(used)}
    labels = {
        readable(name): np.array([table.get(int(c), NO_STEP) for c in one.labels], np.int64)
        for name, one in found.items()
    }
    return labels, k
