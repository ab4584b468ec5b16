"""Labels in .npz files: an array `labels` with one entry per moment, and `times` in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import BACKGROUND, location
from stepreel.evaluation.truth.common_moments import MOST_MOMENTS
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import RawMomentLabels
from stepreel.evaluation.truth.step_list import MAX_DIGITS
from stepreel.features.array_files import REAL_NUMBERS, ArrayHeader, read_arrays
from stepreel.features.feature_files import TIMES
from stepreel.types import Seconds

LABELS = "labels"


def read_npz_labels(file: SourceFile, fps: float | None = None) -> RawMomentLabels:
    """Read a file's labels; times are those of the file.

    fps  for files without times
    """

    def choose(headers: Mapping[str, ArrayHeader]) -> list[str]:
        check_number(file.path, LABELS, headers)
        return [LABELS, TIMES]

    return moments_of_arrays(file.path, read_arrays(file.path, choose), fps)


def check_number(path: Path, name: str, headers: Mapping[str, ArrayHeader]) -> None:
    """Raise DatasetError if an array has more labels than any recording has moments."""
    if name in headers and headers[name].n_values > MOST_MOMENTS:
        raise DatasetError(
            f"{location(path)}: contains {headers[name].n_values:,} {name}; at most "
            f"{MOST_MOMENTS:,} can be scored"
        )


def moments_of_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], fps: float | None
) -> RawMomentLabels:
    """Check the labels and times among the arrays of the file `path`."""
    if LABELS not in arrays:
        raise DatasetError(
            f"{location(path)}: a recording without labels; expected an array `{LABELS}`, one per "
            "moment"
        )
    labels = _label_texts(path, arrays[LABELS])
    times = arrays.get(TIMES)
    if times is None:
        if fps is None:
            raise DatasetError(f"{location(path)}: contains no `{TIMES}`; give --fps (fps=…)")
        times = np.arange(len(labels)) / fps
    return RawMomentLabels(labels, check_times(path, times, len(labels)))


def check_times(path: Path, times: NDArray[Any], n_labels: int) -> Seconds:
    """Return times as finite seconds that increase, one per label; DatasetError otherwise."""
    if times.dtype.kind not in "fiu":
        raise DatasetError(f"{location(path)}: {TIMES} must be numbers, in seconds")
    seconds: Seconds = times.astype(np.float64).ravel()
    if len(seconds) != n_labels:
        raise DatasetError(
            f"{location(path)}: {n_labels} {LABELS}, but {len(seconds)} {TIMES}; "
            "expected one per moment"
        )
    if n_labels == 0:
        raise DatasetError(f"{location(path)}: contains no moment")
    if not np.isfinite(seconds).all() or (np.diff(seconds) <= 0).any():
        raise DatasetError(f"{location(path)}: {TIMES} must be finite seconds that increase")
    return seconds


def _label_texts(path: Path, labels: NDArray[Any]) -> list[str]:
    """Return labels as text; numbers must be whole, and 0 or more."""
    if labels.ndim != 1:
        raise DatasetError(
            f"{location(path)}: {LABELS} have the shape {labels.shape}; "
            "expected (T,), one per moment"
        )
    if labels.dtype.kind in "US":
        try:
            return [_text(label) for label in labels.tolist()]
        except UnicodeError as problem:
            raise DatasetError(f"{location(path)}: {LABELS} are not UTF-8 text") from problem
    if labels.dtype.kind not in REAL_NUMBERS:
        raise DatasetError(f"{location(path)}: {LABELS} must be whole numbers or text")
    whole = np.isfinite(labels) & (np.floor(labels) == labels) & (labels >= BACKGROUND)
    whole &= labels < 10.0**MAX_DIGITS
    if not whole.all():
        moment = int(np.argmin(whole))
        raise DatasetError(
            f"{location(path)}: label {labels[moment]} of moment {moment + 1}; expected the number "
            f"of a step, whole and of at most {MAX_DIGITS} digits, or 0 for background"
        )
    return [str(number) for number in labels.astype(np.int64).tolist()]


def _text(label: str | bytes) -> str:
    """Return a label as text; UnicodeError if it is not valid, such as half of a character."""
    return label.decode() if isinstance(label, bytes) else label.encode().decode()
